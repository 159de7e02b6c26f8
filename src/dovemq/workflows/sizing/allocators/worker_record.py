"""The record of worker processes on this machine: who keeps them, and which ones there are.

One manager at a time holds a record. It outlives a manager that is killed: the next one finds the
workers in it, and the workers see in it whether somebody still keeps them.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from dovemq.core.errors import DoveError
from dovemq.system.process_ids import ProcessId, process_id

RECORD_BYTES_MAX: Final = 1 << 20
UNKEPT_SECONDS: Final = 60.0
"""A worker that nobody has kept for so long ends."""
LOOK_SECONDS: Final = 2.0


class RecordInUse(DoveError):
    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path}: another manager keeps its workers there; end it, or name another file"
        )


class RecordedWorker(Struct, frozen=True):
    topic: str
    process: ProcessId
    place: int = 0


class RecordedWorkers(Struct, frozen=True):
    keeper: ProcessId | None = None
    workers: tuple[RecordedWorker, ...] = ()

    def keeps(self, process: ProcessId) -> bool:
        """Whether the manager runs and knows of this worker."""
        known = any(each.process == process for each in self.workers)
        return known and self.keeper is not None and self.keeper.running


class WorkerRecord:
    """The record in the hand of a manager, from construction until `release` or its end."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._lock = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.release()
            raise RecordInUse(self.path) from None
        self._keeper = process_id(os.getpid())

    def write(self, workers: Sequence[RecordedWorker]) -> None:
        fresh = self.path.with_suffix(".new")
        fresh.write_bytes(msgspec.json.encode(RecordedWorkers(self._keeper, tuple(workers))))
        fresh.replace(self.path)

    def release(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


class KeeperWatch:
    """The view of a worker: whether the manager that started it, or a later one, keeps it."""

    def __init__(
        self,
        path: Path,
        process: ProcessId,
        seconds_max: float = UNKEPT_SECONDS,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path, self._process, self._seconds_max = path, process, seconds_max
        self._seconds = seconds
        self._kept = seconds()

    def abandoned(self) -> bool:
        """Looks into the record; true once nobody has kept the worker for `seconds_max`."""
        now = self._seconds()
        if read_record(self._path).keeps(self._process):
            self._kept = now
        return now - self._kept >= self._seconds_max


def read_record(path: Path) -> RecordedWorkers:
    """Reads a record; a file that is missing or damaged has no workers."""
    with contextlib.suppress(OSError, msgspec.DecodeError), path.open("rb") as stream:
        return msgspec.json.decode(stream.read(RECORD_BYTES_MAX), type=RecordedWorkers)
    return RecordedWorkers()
