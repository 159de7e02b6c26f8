"""Looks at processes at regular times: resident memory and open descriptors (Linux only)."""

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping
from typing import Final

from bench.measured import resident_bytes
from bench.soak.trends import Sample

LOOK_SECONDS: Final = 1.0

Pids = Mapping[str, Callable[[], int | None]]
"""How to find each process; None while it is down."""


class ProcessWatch:
    """`run` looks for a time; `samples` has what was seen, `loads` the load of the machine."""

    def __init__(self, pids: Pids, now_s: Callable[[], float]) -> None:
        self._pids = pids
        self._now_s = now_s
        self.samples: list[Sample] = []
        self.loads: list[float] = []

    async def run(self, seconds: float) -> None:
        while self._now_s() < seconds:
            self.look()
            await asyncio.sleep(LOOK_SECONDS)

    def look(self) -> None:
        self.loads.append(os.getloadavg()[0])
        for process, pid_of in self._pids.items():
            pid = pid_of()
            # A process may end between two of these looks.
            with contextlib.suppress(OSError):
                if pid is not None:
                    seen = resident_bytes(pid), len(os.listdir(f"/proc/{pid}/fd"))
                    self.samples.append(Sample(self._now_s(), process, pid, *seen))

    def lived(self) -> list[str]:
        """The processes that were one and the same in all looks."""
        return [process for process in self._pids if self.is_steady(process)]

    def is_steady(self, process: str) -> bool:
        return len({each.pid for each in self.samples if each.process == process}) == 1
