"""The source of each contestant's program, and the check that it is installed.

Packages of Debian go where Debian puts them; everything else goes into the cache directory, which
git ignores. Versions that a registry would change under us are pinned here.
"""

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.peers.processes import Command
from bench.peers.starting import POSTGRES_PROGRAMS, RABBITMQ_PROGRAM

FAUXQS: Final = "1.9.2"
MINISTACK: Final = "1.5.33"
POM: Final = Path(__file__).with_name("elasticmq.pom.xml")
INSTALL_SECONDS_MAX: Final = 600
_NUMBER: Final = re.compile(r"\d+\.\d+[\w.]*")


class NotInstalled(RuntimeError):
    pass


class Recipe(Struct, frozen=True):
    version: Callable[[], str]
    programs: tuple[str | Path, ...] = ()
    debian: tuple[str, ...] = ()
    """Packages that hold the programs."""
    modules: tuple[str, ...] = ()
    """Packages of this Python environment; the extra `test` brings them."""
    fetched: str = ""
    """A file of the cache that is there once it was fetched."""
    fetch: Callable[[Path], Sequence[Command]] = lambda cache: ()


def missing(recipe: Recipe, cache: Path) -> str | None:
    """The missing program, as a reason to leave the contestant out."""
    for program in recipe.programs:
        if shutil.which(program) is None:
            return f"{Path(program).name} is not installed"
    for module in recipe.modules:
        if importlib.util.find_spec(module) is None:
            return f"{module} is not installed in this environment"
    if recipe.fetched and not (cache / recipe.fetched).exists():
        return "it was not fetched"
    return None


def install(recipe: Recipe, cache: Path) -> None:
    if any(shutil.which(program) is None for program in recipe.programs):
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            raise NotInstalled(f"needs the Debian packages {' '.join(recipe.debian)}")
        _run(["apt-get", "install", "-y", "--no-install-recommends", *recipe.debian])
    if recipe.fetched and not (cache / recipe.fetched).exists():
        for command in recipe.fetch(cache):
            _run(command)
    if reason := missing(recipe, cache):
        raise NotInstalled(reason)


def _run(command: Command) -> None:
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS_MAX,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalled(str(error)) from None
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise NotInstalled(f"{Path(command[0]).name} failed: {' '.join(last)}")


def _elasticmq(cache: Path) -> Sequence[Command]:
    copy = ["dependency:copy-dependencies", "-DincludeScope=runtime"]
    return [["mvn", "-q", "-B", "-f", POM, *copy, f"-DoutputDirectory={cache}/elasticmq/jars"]]


def _ministack(cache: Path) -> Sequence[Command]:
    folder = cache / "ministack"
    return [
        [sys.executable, "-m", "venv", folder],
        [folder / "bin" / "pip", "install", "--quiet", f"ministack=={MINISTACK}"],
    ]


def _fauxqs(cache: Path) -> Sequence[Command]:
    quiet = ["--no-package-lock", "--no-audit", "--no-fund"]
    return [["npm", "install", *quiet, "--prefix", cache / "fauxqs", f"fauxqs@{FAUXQS}"]]


def _elasticmq_version() -> str:
    found = re.search(r"elasticmq-server_[\d.]+</artifactId>\s*<version>(.+?)<", POM.read_text())
    return found[1] if found else "unknown"


def _told_by(program: str | Path) -> Callable[[], str]:
    def ask() -> str:
        told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
        found = _NUMBER.search(told.stdout + told.stderr)
        return found[0] if found else "unknown"

    return ask


def _rabbitmq_version() -> str:
    found = _NUMBER.search(RABBITMQ_PROGRAM.resolve().parents[1].name)
    return found[0] if found else "unknown"


def _ours() -> str:
    return importlib.metadata.version("dovemq")


_ELASTICMQ: Final = Recipe(
    _elasticmq_version,
    ("java", "mvn"),
    ("default-jre-headless", "maven"),
    fetched="elasticmq/jars",
    fetch=_elasticmq,
)
RECIPES: Final[Mapping[str, Recipe]] = {
    "dovemq": Recipe(_ours),
    "elasticmq": _ELASTICMQ,
    "elasticmq-h2": _ELASTICMQ,
    "moto": Recipe(lambda: importlib.metadata.version("moto"), modules=("moto", "flask")),
    "ministack": Recipe(lambda: MINISTACK, fetched="ministack/bin/ministack", fetch=_ministack),
    "fauxqs": Recipe(
        lambda: FAUXQS,
        ("node", "npm"),
        ("nodejs", "npm"),
        fetched="fauxqs/node_modules/fauxqs",
        fetch=_fauxqs,
    ),
    "nats": Recipe(_told_by("nats-server"), ("nats-server",), ("nats-server",)),
    "redis": Recipe(_told_by("redis-server"), ("redis-server",), ("redis-server",)),
    "rabbitmq": Recipe(_rabbitmq_version, (RABBITMQ_PROGRAM, "epmd"), ("rabbitmq-server",)),
    "postgresql": Recipe(
        _told_by(POSTGRES_PROGRAMS / "postgres"),
        (POSTGRES_PROGRAMS / "postgres", POSTGRES_PROGRAMS / "initdb"),
        ("postgresql-15",),
    ),
}
