"""Spark commands that get signals end, and say how to continue."""

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow.parquet as pq
import pytest

from tests.pipeline.sweeping import TEXT
from tests.pipeline.traces import made, write

LOOKS_MAX = 30_000
LOOK_SECONDS = 0.02
END_SECONDS_MAX = 300
ENDLESS = TEXT.replace("min = 8\nmax = 40", "min = 100000\nmax = 100000")
SPARK = ("--master", "local[2]", "--memory", "1g")
GO_ON = re.compile(
    r"dovemq: interrupted; run the same command again with --out (\S+) to go on; "
    r"(\d+) of ([\d,]+) replications are kept\n"
)
AGAIN = "run the same command again to start over\n"

pytestmark = [pytest.mark.timeout(1_500), pytest.mark.usefixtures("java")]

Reached = Callable[[int], bool]


def children(pid: int) -> Iterator[tuple[int, str]]:
    """Yields all processes below that one, with their commands."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            command = (stat.parent / "cmdline").read_text()
        except OSError:
            continue
        if parent == pid:
            yield int(stat.parent.name), command
            yield from children(int(stat.parent.name))


def java_is_there(pid: int) -> bool:
    return any("pyspark-shell" in command for _, command in children(pid))


def task_is_there(pid: int) -> bool:
    return any("pyspark.daemon" in command for _, command in children(pid))


class Command:
    """`dovemq pipeline …` with its own folder for temporary files."""

    def __init__(self, folder: Path, *args: object) -> None:
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self._log = folder / "stderr"
        command = [sys.executable, "-m", "dovemq", "pipeline", *map(str, args), *SPARK]
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                command,
                stdout=subprocess.DEVNULL,
                stderr=log,
                env={**os.environ, "TMPDIR": str(self.temporary)},
                start_new_session=True,
            )

    def signalled(self, number: signal.Signals, reached: Reached) -> str:
        """Sends the signal once a state is reached, waits for the end, and returns standard
        error."""
        try:
            self._await(reached)
            with contextlib.ExitStack() as stack:
                started = [stack.enter_context(each) for each in _watched(self._process.pid)]
                self._process.send_signal(number)
                assert self._process.wait(END_SECONDS_MAX) == 128 + number
                for process in started:
                    assert select.select([process], [], [], END_SECONDS_MAX)[0]
        finally:
            self._process.kill()
            self._process.wait()
        return self._log.read_text()

    def _await(self, reached: Reached) -> None:
        for _ in range(LOOKS_MAX):
            if reached(self._process.pid):
                return
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(LOOK_SECONDS)
                break
        raise AssertionError(f"it did not come to that:\n{self._log.read_text()}")


def _watched(pid: int) -> Iterator[BinaryIO]:
    """Yields a file for each process below that one that is readable once it has ended."""
    for child, _ in children(pid):
        with contextlib.suppress(ProcessLookupError):
            yield os.fdopen(os.pidfd_open(child), "rb", buffering=0)


def swept(folder: Path, *args: object) -> Command:
    (folder / "spec.toml").write_text(ENDLESS)
    return Command(folder, "sweep", folder / "spec.toml", "--out", folder / "out", *args)


@pytest.mark.parametrize(
    ("number", "reached"),
    [
        (signal.SIGINT, java_is_there),
        (signal.SIGTERM, task_is_there),
    ],
)
def test_sweep_ends_while_spark_starts_and_while_a_job_runs(
    tmp_path: Path, number: signal.Signals, reached: Reached
) -> None:
    command = swept(tmp_path)
    said = GO_ON.search(command.signalled(number, reached))
    assert said
    assert (said[1], said[3]) == (str(tmp_path / "out"), "800,000")
    assert not list(command.temporary.iterdir())


def test_sweep_of_many_short_jobs_ends_and_says_how_much_is_kept(tmp_path: Path) -> None:
    parts = tmp_path / "out" / "parts"
    command = swept(tmp_path, "--keep-seconds", "0.01")

    def some_are_kept(_: int) -> bool:
        return len(list(parts.glob("*.parquet"))) >= 3

    said = GO_ON.search(command.signalled(signal.SIGINT, some_are_kept))
    assert said
    kept = sum(pq.read_metadata(part).num_rows for part in parts.glob("*.parquet"))
    assert int(said[2]) == kept > 0


@pytest.mark.parametrize("name", ["metrics", "calibrate"])
def test_figures_of_traces_end_while_spark_starts(tmp_path: Path, name: str) -> None:
    trace = write(made(1), tmp_path / "trace.parquet")
    command = Command(tmp_path, name, trace, "--engine", "spark")
    assert command.signalled(signal.SIGTERM, java_is_there).endswith(
        "dovemq: interrupted; " + AGAIN
    )
    assert not list(command.temporary.iterdir())


def test_capacity_without_a_folder_says_that_nothing_is_kept(tmp_path: Path) -> None:
    asked: Sequence[object] = ("--arrival-rate", 300, "--service-rate", 10, "--target", 0.2)
    grid = ("--partitions", "1:4", "--consumers", "32:64:4", "--method", "kernel")
    command = Command(tmp_path, "capacity", *asked, *grid)
    said = command.signalled(signal.SIGTERM, java_is_there)
    assert said.count("; nothing is kept without --out DIR; " + AGAIN) == 1
    assert not list(command.temporary.iterdir())
