"""Starts a Spark session on this machine, or on a cluster that gets this package sent.

Checks the version of Java first. Executors that have not installed this package unpack it from an
archive, because data files and compiled kernels need real files; their Python needs the libraries
of the extra.
"""

import contextlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dovemq.pipeline.errors import JavaUnfit, PythonUnset, SparkMissing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VERSIONS: Final = (17, 21)
ASK_SECONDS_MAX: Final = 60
_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')


def check_java(environment: Mapping[str, str] = os.environ) -> Path:
    """Returns the Java program that Spark will start: that of JAVA_HOME, or the first of the
    path."""
    program = _program(environment)
    version = java_version(program)
    if version not in VERSIONS:
        raise JavaUnfit(f"{program} is Java {version}", VERSIONS)
    return program


def java_version(program: Path) -> int:
    """Asks a Java program for its version."""
    try:
        asked = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=ASK_SECONDS_MAX
        )
    except OSError as error:
        raise JavaUnfit(f"{program} cannot be run ({error.strerror})", VERSIONS) from None
    except subprocess.TimeoutExpired:
        raise JavaUnfit(f"{program} does not answer", VERSIONS) from None
    version = _VERSION.search(asked.stderr + asked.stdout)
    if version is None:
        raise JavaUnfit(f"{program} does not tell its version", VERSIONS)
    return int(version[1])


def _program(environment: Mapping[str, str]) -> Path:
    home = environment.get("JAVA_HOME")
    if home:
        return Path(home) / "bin" / "java"
    found = shutil.which("java", path=environment.get("PATH"))
    if found is None:
        raise JavaUnfit("no java is found", VERSIONS)
    return Path(found)


PACKAGE: Final = "dovemq"
UNPACKED: Final = "dovemq-sent"
"""The folder in the working directory of an executor."""
_MADE_BY_INTERPRETER: Final = "__pycache__"


def pack(folder: Path) -> Path:
    """Works for an installed package, for sources, and for a package inside an archive."""
    archive = folder / "dovemq.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for name, file in _files(resources.files(PACKAGE), PACKAGE):
            packed.writestr(name, file.read_bytes())
    return archive


def _files(folder: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        path = f"{name}/{entry.name}"
        if entry.is_file():
            yield path, entry
        elif entry.name != _MADE_BY_INTERPRETER:
            yield from _files(entry, path)


LOCAL: Final = "local[*]"
_LOG_SETTINGS: Final = "log4j2.properties"
_THIS_MACHINE: Final = "127.0.0.1"
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_PYTHON: Final = "PYSPARK_PYTHON"
_PYTHON_PATH: Final = "spark.executorEnv.PYTHONPATH"


@dataclass(frozen=True, slots=True)
class SparkPlan:
    """The master and settings of a session.

    `master` is a Spark master, or the URL of a Spark Connect server (`sc://host:port`), which has
    its own memory and settings. `memory` is that of the driver on a local master, else of each
    executor. `more` are Spark settings by name; Java options and the Python path are appended.
    """

    master: str = LOCAL
    memory: str = "2g"
    name: str = "dovemq"
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def local(self) -> bool:
        return self.master.startswith("local")

    @property
    def remote(self) -> bool:
        return self.master.startswith("sc://")


@contextlib.contextmanager
def spark_session(plan: SparkPlan) -> Iterator["SparkSession"]:
    """Starts a session, one at a time in a process, and stops it with its temporary files."""
    if not plan.remote:
        check_java()
    if importlib.util.find_spec("pyspark") is None:
        raise SparkMissing("pyspark")
    with tempfile.TemporaryDirectory(prefix="dovemq-spark-") as folder:
        session = _started(plan, Path(folder))
        try:
            yield session
        finally:
            session.stop()


def _started(plan: SparkPlan, folder: Path) -> "SparkSession":
    """Sends this package to the executors, unless they are on this machine."""
    from pyspark.sql import SparkSession

    if plan.remote:
        remote = SparkSession.builder.remote(plan.master).getOrCreate()
        for name, value in plan.more.items():
            remote.conf.set(name, value)
        remote.addArtifacts(str(pack(folder)), pyfile=True)
        return remote
    _prepare_environment()
    builder = SparkSession.builder.master(plan.master).appName(plan.name)
    for name, value in _settings(plan, folder).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    if not plan.local:
        session.sparkContext.addArchive(f"{pack(folder)}#{UNPACKED}")
    return session


def use_this_python(session: "SparkSession") -> None:
    """Makes Python processes of the session run this interpreter, unless PYSPARK_PYTHON is set.

    Spark's default is the first `python3` of the path, which may lack this package. On a cluster
    this interpreter may not exist, so the caller must choose. A Spark Connect server uses the
    PYSPARK_PYTHON of its own environment.
    """
    context = getattr(session, "sparkContext", None)
    if context is None or _PYTHON in os.environ:
        return
    if context.master.startswith("local"):
        context.pythonExec = sys.executable
    elif Path(shutil.which(context.pythonExec) or "").parent != Path(sys.executable).parent:
        raise PythonUnset(context.pythonExec, sys.executable)


def _prepare_environment() -> None:
    """Makes Spark use this interpreter and the loopback address."""
    os.environ[_PYTHON] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", _THIS_MACHINE)


def _settings(plan: SparkPlan, folder: Path) -> dict[str, str]:
    # Java cannot read a file inside the archive that this package may be in.
    log_settings = folder / _LOG_SETTINGS
    log_settings.write_bytes(resources.files(__package__).joinpath(_LOG_SETTINGS).read_bytes())
    memory = "spark.driver.memory" if plan.local else "spark.executor.memory"
    settings = {
        memory: plan.memory,
        _JAVA_OPTIONS: f"-Dlog4j2.configurationFile={log_settings.as_uri()}",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if plan.local or _THIS_MACHINE in plan.master:
        settings["spark.driver.host"] = _THIS_MACHINE
        settings["spark.driver.bindAddress"] = _THIS_MACHINE
    own = settings[_JAVA_OPTIONS]
    settings.update(plan.more)
    if _JAVA_OPTIONS in plan.more:
        settings[_JAVA_OPTIONS] = f"{own} {plan.more[_JAVA_OPTIONS]}"
    if not plan.local:
        # A relative path: each executor has its own working directory, which its Python shares.
        paths = (UNPACKED, plan.more.get(_PYTHON_PATH))
        settings[_PYTHON_PATH] = os.pathsep.join(filter(None, paths))
    return settings
