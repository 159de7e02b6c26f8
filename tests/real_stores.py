"""Real stores for tests: where they are kept, who starts them, and who ends them.

All files of a run are in one directory that its first process makes, so that this process can end
every store at the end, also those of a worker that has died. Cassandra takes the memory and the
processor of three servers, so the workers share one: the first that needs it starts it.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from dovemq.system.locked import locked
from dovemq.testing.cluster_record import ClusterRecord, end_cluster, read_record
from dovemq.testing.local_cassandra import LocalCassandra
from dovemq.testing.local_cluster import LocalCluster, ServerMissing
from dovemq.testing.maven_jars import JarsMissing
from tests.acceptance.programs import missing
from tools.jars import JARS

__all__ = [
    "JARS",
    "begin_run",
    "checked",
    "end_run",
    "is_worker",
    "new_directory",
    "running",
    "shared_cassandra",
]
VARIABLE = "DOVETEST_STORES"
Cluster = TypeVar("Cluster", bound=LocalCluster)


def is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def begin_run() -> None:
    """Makes the directory of the run; workers inherit its name."""
    os.environ[VARIABLE] = tempfile.mkdtemp(prefix="dovetest-stores-")


def end_run() -> None:
    """Ends all stores of the run that still run."""
    for directory in filter(Path.is_dir, _run_directory().iterdir()):
        end_cluster(directory)
    shutil.rmtree(_run_directory(), ignore_errors=True)


def new_directory(name: str) -> Path:
    """Returns a new directory of the run for one store."""
    return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=_run_directory()))


def checked(cluster: Cluster) -> Cluster:
    """Skips the test if a program for the store is not installed, or fails it under CI=true."""
    try:
        cluster.check()
    except (JarsMissing, ServerMissing) as error:
        missing(str(error))
    return cluster


@contextlib.contextmanager
def running(cluster: Cluster) -> Iterator[Cluster]:
    with checked(cluster) as started:
        yield started


def shared_cassandra() -> LocalCassandra:
    """Starts the nodes, unless another worker has done so; they run until the run ends."""
    directory = _run_directory() / "cassandra-shared"
    checked(LocalCassandra(directory, jars=JARS))
    with locked(directory.with_suffix(".lock")):
        if not _is_ready(read_record(directory)):
            places = ["--data", str(directory), "--jars", str(JARS)]
            command = [sys.executable, "-m", "dovemq", "dev", "cassandra", "up", "--detach"]
            ran = subprocess.run([*command, *places], capture_output=True, text=True)
            assert _is_ready(read_record(directory)), ran.stderr
    return LocalCassandra(directory, jars=JARS)


def _is_ready(record: ClusterRecord | None) -> bool:
    return record is not None and record.ready and record.running


def _run_directory() -> Path:
    return Path(os.environ[VARIABLE])
