"""Fetches Hadoop jars that are not part of PySpark, once, with Maven."""

import contextlib
import fcntl
import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from dovemq.pipeline.errors import SparkMissing

FETCH_SECONDS_MAX: Final = 900
AWS_SDK: Final = "2.35.4"
"""The version that hadoop-aws 3.5.0 needs. Its bundle of all services has 686 MB; the parts for
S3 have 15 MB without what Spark has."""
JUNIT: Final = "5.11.4"
"""A dependency of Hadoop's mini cluster that it does not include."""
_TEXT_SHOWN_MAX: Final = 500
_VERSION: Final = re.compile(r"hadoop-client-api-(.+)\.jar\Z")

Dependency = tuple[str, str, str, tuple[str, ...]]
"""Group, artifact, version, and the groups (or group:artifact) to leave out."""


class JarsMissing(RuntimeError):
    """The jars cannot be fetched; the text names what is missing."""


def hdfs_jars(cache: Path) -> list[Path]:
    """Returns the jars of `LocalHdfs` (57 MB)."""
    version = hadoop_version()
    mini: Dependency = ("org.apache.hadoop", "hadoop-client-minicluster", version, ("*",))
    junit: Dependency = ("org.junit.jupiter", "junit-jupiter-api", JUNIT, ())
    return _jars(cache / f"hdfs-{version}", [mini, junit])


def s3a_jars(cache: Path) -> list[Path]:
    """Returns the jars for `s3a://` in Spark (15 MB), without those that Spark has."""
    version = hadoop_version()
    spark_has = ("io.netty", "org.slf4j", "commons-codec", "commons-logging")
    hadoop: Dependency = (
        *("org.apache.hadoop", "hadoop-aws", version),
        ("software.amazon.awssdk:bundle",),
    )
    parts = ("s3-transfer-manager", "sts")
    sdk: list[Dependency] = [("software.amazon.awssdk", part, AWS_SDK, spark_has) for part in parts]
    return _jars(cache / f"s3a-{version}", [hadoop, *sdk])


def spark_jars() -> Path:
    """Returns the directory of PySpark's own jars."""
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise SparkMissing("pyspark")
    return Path(found.origin).parent / "jars"


def hadoop_version() -> str:
    for jar in spark_jars().iterdir():
        if found := _VERSION.search(jar.name):
            return found[1]
    raise JarsMissing(f"{spark_jars()} holds no hadoop-client-api")


def _jars(folder: Path, dependencies: Sequence[Dependency]) -> list[Path]:
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.with_name(f"{folder.name}.lock")):
        if not folder.exists():
            _fetch(folder, dependencies)
    return sorted(folder.glob("*.jar"))


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Waits for another process that fetches the same jars."""
    with path.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fetch(folder: Path, dependencies: Sequence[Dependency]) -> None:
    program = shutil.which("mvn")
    if program is None:
        raise JarsMissing("mvn is not installed: apt-get install maven")
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    pom = partial / "pom.xml"
    pom.write_text(_pom(dependencies), encoding="utf-8")
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime"]
    command = [program, "-q", "-B", "-f", str(pom), *goal, f"-DoutputDirectory={partial}"]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        raise JarsMissing(f"mvn was not ready after {FETCH_SECONDS_MAX} seconds") from None
    if ran.returncode:
        raise JarsMissing(f"mvn failed: {ran.stdout.strip()[:_TEXT_SHOWN_MAX]}")
    partial.rename(folder)


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
