"""Fetches jars and all that they need from Maven's repository, once for each folder."""

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from dovemq.core.errors import DoveError
from dovemq.system.locked import locked

FETCH_SECONDS_MAX: Final = 900
REPORT_SECONDS: Final = 5.0
_PLUGIN: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
"""Named in full, so that no default of the installed Maven decides."""
_TEXT_SHOWN_MAX: Final = 500
_FETCHED: Final = "Downloaded from "
"""Stands in Maven's log once for each file."""

Dependency = tuple[str, str, str, tuple[str, ...]]
"""Group, artifact, version, and the groups (or group:artifact) to leave out."""


class JarsMissing(DoveError):
    """The jars cannot be fetched; the text names what is missing."""


def jar_cache(environment: Mapping[str, str] = os.environ) -> Path:
    """`$XDG_CACHE_HOME/dovemq/jars`, which is in `~/.cache` unless the variable is set."""
    shared = Path(environment.get("XDG_CACHE_HOME", ""))
    return (shared if shared.is_absolute() else Path.home() / ".cache") / "dovemq" / "jars"


Report = Callable[[str], None]
"""Is called with a line about the progress."""


def maven_jars(
    folder: Path, dependencies: Sequence[Dependency], report: Report = lambda _: None
) -> list[Path]:
    """Returns the jars of the dependencies in a folder of their own, and fetches them once."""
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_name(f"{folder.name}.lock")):
        if not folder.exists():
            _fetch(folder, dependencies, report)
    return sorted(folder.glob("*.jar"))


def _fetch(folder: Path, dependencies: Sequence[Dependency], report: Report) -> None:
    program = shutil.which("mvn")
    if program is None:
        raise JarsMissing("mvn is not installed: apt-get install maven")
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    pom = partial / "pom.xml"
    pom.write_text(_pom(dependencies), encoding="utf-8")
    goal = [f"{_PLUGIN}:copy-dependencies", "-DincludeScope=runtime"]
    command = [program, "-B", "-f", str(pom), *goal, f"-DoutputDirectory={partial}"]
    log = partial / "maven.log"
    report(f"{folder.name}: Maven fetches jars into {folder.parent}")
    with log.open("wb") as file:
        maven = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
    if _await_end(maven, log, report):
        raise JarsMissing(f"mvn failed: {_errors(log.read_text(errors='replace'))}")
    partial.rename(folder)


def _await_end(maven: subprocess.Popen[bytes], log: Path, report: Report) -> int:
    """Returns the exit code, and reports how many files have come."""
    until = time.monotonic() + FETCH_SECONDS_MAX
    try:
        while time.monotonic() < until:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return maven.wait(REPORT_SECONDS)
            report(f"{log.read_text(errors='replace').count(_FETCHED)} files fetched")
        raise JarsMissing(f"mvn was not ready after {FETCH_SECONDS_MAX} seconds")
    finally:
        maven.kill()
        maven.wait()


def _errors(text: str) -> str:
    lines = text.strip().splitlines()
    errors = [line for line in lines if line.startswith("[ERROR]")] or lines
    return "\n".join(errors)[:_TEXT_SHOWN_MAX]


def _pom(dependencies: Sequence[Dependency]) -> str:
    listed = "".join(map(_dependency, dependencies))
    own = "<groupId>dovemq.testing</groupId><artifactId>jars</artifactId><version>1</version>"
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        f"{own}<packaging>pom</packaging><dependencies>{listed}</dependencies></project>"
    )


def _dependency(dependency: Dependency) -> str:
    group, artifact, version, excluded = dependency
    exclusions = "".join(
        f"<exclusion><groupId>{name.partition(':')[0]}</groupId>"
        f"<artifactId>{name.partition(':')[2] or '*'}</artifactId></exclusion>"
        for name in excluded
    )
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version><exclusions>{exclusions}</exclusions></dependency>"
    )
