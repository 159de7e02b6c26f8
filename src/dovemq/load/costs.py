"""CPU time of a process and everything that it started, as the kernel counts it (Linux only)."""

import os
import time
from pathlib import Path
from typing import Final

from dovemq.core.errors import DoveError

_CPU_CLOCK: Final = 2
"""Of a whole process, all its threads, ended ones included."""
_CHILDREN_USER: Final = 13
_CHILDREN_SYSTEM: Final = 14


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
