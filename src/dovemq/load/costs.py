"""CPU time of a process and its children, and CPU time stolen by other virtual machines.

Works on Linux only.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from dovemq.core.errors import DoveError

_CPU_CLOCK: Final = 2
"""The clock of a whole process, with all its threads, also those that have ended."""
_CHILDREN_USER: Final = 13
_CHILDREN_SYSTEM: Final = 14


STOLEN_SHARE_MAX: Final = 0.01
"""The largest share of stolen CPU time at which a measurement of some seconds is still valid."""
ATTEMPTS_MAX: Final = 5

_STOLEN: Final = 7
_COUNTED: Final = 8
"""The number of fields to add up: the fields after them are included in the first ones."""


class ProcessorTime(Struct, frozen=True):
    """CPU time of all processors since the machine started, in ticks."""

    stolen: int
    total: int

    @classmethod
    def now(cls) -> "ProcessorTime":
        with open("/proc/stat") as file:
            ticks = [int(text) for text in file.readline().split()[1 : 1 + _COUNTED]]
        return cls(ticks[_STOLEN], sum(ticks))

    def stolen_since(self, before: "ProcessorTime") -> float:
        """Returns the stolen share of the time since `before`."""
        return (self.stolen - before.stolen) / max(1, self.total - before.total)


class Undisturbed:
    """Iterates over attempts at a measurement until one was undisturbed, or all are used up."""

    def __init__(self, stolen_share_max: float = STOLEN_SHARE_MAX) -> None:
        self.reached = False
        """Tells whether the last attempt was undisturbed."""
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
        """Marks this attempt as disturbed for a reason that the kernel does not count."""
        self._spoiled = True


class ProcessUnknown(DoveError):
    def __init__(self, pid: int) -> None:
        super().__init__(f"there is no process {pid} on this machine whose CPU time can be read")


def tree_cpu_seconds(root: int) -> float:
    """Returns the CPU time of a process and its children. Ended children count with their
    parent."""
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
    """Returns the CPU time of children that have ended and were waited for."""
    # The command name in parentheses may contain anything; the fields after it are fixed.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[_CHILDREN_USER]) + int(fields[_CHILDREN_SYSTEM])
    return ticks / os.sysconf("SC_CLK_TCK")
