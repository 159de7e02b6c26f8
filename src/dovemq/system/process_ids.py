"""Processes that another program started and wrote down, told apart from later ones.

The system gives the number of a process that has ended to a new one. A process is therefore
recorded with the time of its start, and a signal is sent only while both are the same.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

LOOK_SECONDS: Final = 0.05
REPEAT_SECONDS: Final = 2.0
_PROC: Final = Path("/proc")
_BOOT: Final = _PROC / "sys" / "kernel" / "random" / "boot_id"
_STATE: Final = 0
_STARTED: Final = 19
"""Fields of /proc/N/stat after the name of the program."""
_ENDED: Final = "Z"


class ProcessId(Struct, frozen=True):
    """A process and the processes of its group; `birth` says when it was started."""

    pid: int
    birth: str

    @property
    def running(self) -> bool:
        return birth_of(self.pid) == self.birth

    def signal(self, number: int) -> None:
        """Sends the signal to the process, if it is still the recorded one."""
        if self.running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kills the process and its group, if it is still the recorded one."""
        if self.running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)


def process_id(pid: int) -> ProcessId:
    return ProcessId(pid, birth_of(pid) or "")


def birth_of(pid: int) -> str | None:
    """Returns a text that no other process with this number has, or None if there is none."""
    if not _BOOT.exists():
        return _birth_by_ps(pid)
    try:
        fields = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[_STATE] == _ENDED else f"{_BOOT.read_text().strip()}/{fields[_STARTED]}"


def _birth_by_ps(pid: int) -> str | None:
    """Asks `ps`, where the system has no /proc."""
    command = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    state, _, started = subprocess.run(command, capture_output=True, text=True).stdout.partition(
        " "
    )
    return started.strip() if state and not state.startswith(_ENDED) else None


def end_all(processes: Sequence[ProcessId], number: int, seconds_max: float) -> None:
    """Asks all to end by the signal, also paused ones, and kills those that do not in time.

    The signal is repeated: Redis refuses and forgets it while it writes its first file.
    """
    until = time.monotonic() + seconds_max
    while (left := [each for each in processes if each.running]) and time.monotonic() < until:
        for process in left:
            process.signal(number)
            process.signal(signal.SIGCONT)
        _await_end(left, min(until, time.monotonic() + REPEAT_SECONDS))
    for process in processes:
        process.kill()


def _await_end(processes: Sequence[ProcessId], until: float) -> None:
    while any(process.running for process in processes) and time.monotonic() < until:
        time.sleep(LOOK_SECONDS)
