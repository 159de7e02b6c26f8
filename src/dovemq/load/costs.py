"""CPU time as the kernel counts it: of a process and all that it started, and what others took.

Linux alone.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from dovemq.core.errors import DoveError

_CPU_CLOCK: Final = 2
"""Of a whole process, all its threads, ended ones included."""
_CHILDREN_USER: Final = 13
_CHILDREN_SYSTEM: Final = 14


STOLEN_SHARE_MAX: Final = 0.01
"""Of processor time that other machines on the same hardware took: more of it and a measurement
of some seconds tells of them."""
ATTEMPTS_MAX: Final = 5

_STOLEN: Final = 7
_COUNTED: Final = 8
"""Of the times of all processors: what follows is counted among the first ones already."""


class ProcessorTime(Struct, frozen=True):
    """Of all processors since the machine has started, in ticks. `stolen` by other machines."""

    stolen: int
    total: int

    @classmethod
    def now(cls) -> "ProcessorTime":
        with open("/proc/stat") as file:
            ticks = [int(text) for text in file.readline().split()[1 : 1 + _COUNTED]]
        return cls(ticks[_STOLEN], sum(ticks))

    def stolen_since(self, before: "ProcessorTime") -> float:
        """As a share of the time in between."""
        return (self.stolen - before.stolen) / max(1, self.total - before.total)


class Undisturbed:
    """Numbers of attempts, from 0 on: one, and a few at most until the machine was ours in one."""

    def __init__(self, stolen_share_max: float = STOLEN_SHARE_MAX) -> None:
        self.reached = False
        """Whether it was ours in the last one."""
        self._stolen_share_max = stolen_share_max
        self._spoiled = False

    def __iter__(self) -> Iterator[int]:
        for attempt in range(ATTEMPTS_MAX):
            self._spoiled = False
            before = ProcessorTime.now()
            yield attempt
            stolen = ProcessorTime.now().stolen_since(before)
            self.reached = stolen <= self._stolen_share_max and not self._spoiled
            if self.reached:
                return

    def spoil(self) -> None:
        """This attempt was disturbed in a way that the kernel does not count."""
        self._spoiled = True


class ProcessUnknown(DoveError):
    def __init__(self, pid: int) -> None:
        super().__init__(f"there is no process {pid} here whose CPU could be told")


def tree_cpu_seconds(root: int) -> float:
    """A child that ends meanwhile counts with its parent's."""
    total, pids = 0.0, [root]
    for pid in pids:
        try:
            total += time.clock_gettime((~pid << 3) | _CPU_CLOCK) + _ended_seconds(pid)
            for path in Path(f"/proc/{pid}/task").glob("*/children"):
                pids.extend(map(int, path.read_text().split()))
        except (OSError, OverflowError):
            if pid == root:
                raise ProcessUnknown(root) from None
    return total


def _ended_seconds(pid: int) -> float:
    """Of children that have ended and were waited for."""
    # The name in parentheses may hold anything; what follows it is fixed.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[_CHILDREN_USER]) + int(fields[_CHILDREN_SYSTEM])
    return ticks / os.sysconf("SC_CLK_TCK")
