"""CPU time of a process and everything that it started, as the kernel counts it (Linux only)."""

import os
import time
from pathlib import Path
from typing import Final

from dovemq.core.errors import DoveError

_CPU_CLOCK: Final = 2
"""The clock of a whole process, with all its threads, also those that have ended."""
_CHILDREN_USER: Final = 13
_CHILDREN_SYSTEM: Final = 14


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
