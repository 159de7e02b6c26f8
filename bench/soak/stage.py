"""The stage of a soak: the servers of a store, and the faults that are brought about for them.

Faults of the network and of clients belong to the loads, and those of workers to their service.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from bench.soak.jobs import JobServer
from bench.soak.turns import Schedule
from bench.soak.watch import Pids
from dovemq.load.faults.fault_log import FaultLog


class Stopwatch:
    """The time since the faults began; 0 before that."""

    def __init__(self) -> None:
        self._began: float | None = None

    def begin(self) -> None:
        self._began = time.monotonic()

    def now_s(self) -> float:
        return 0.0 if self._began is None else time.monotonic() - self._began


class SoakService(Struct, frozen=True):
    """One service: its servers, and the log of its faults. `name` goes into names of queues."""

    name: str
    servers: Sequence[JobServer]
    log: FaultLog


class SoakStage(Protocol):
    """The running servers."""

    @property
    def store(self) -> str: ...

    @property
    def services(self) -> Sequence[SoakService]: ...

    def pids(self) -> Pids:
        """The processes to watch."""
        ...

    async def trouble(self) -> None:
        """Brings about the faults of the schedule, and returns after the last one."""
        ...

    def late_ends_s(self) -> Sequence[float]:
        """When the faults of each turn were over; empty if they do not last longer than turns."""
        ...

    def fired(self) -> Mapping[str, int]:
        """The faults that the stage has brought about, beside those in the logs of services."""
        ...

    async def findings(self) -> list[str]:
        """Checks the servers at the end, which may restart them, and returns what is wrong."""
        ...


class StageOptions(Struct, frozen=True):
    place: Path
    schedule: Schedule
    stopwatch: Stopwatch
    seed: int
