"""Processors for what is measured: they do not sleep, the service does not share its own, and what
slows them down is known."""

import contextlib
import mmap
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Final, TypeAlias

_SPIN: Final = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
print(flush=True)
while os.getppid() == int(sys.argv[2]):
    for _ in range(20_000):
        pass
"""
_WATCH: Final = """
import mmap, os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
except PermissionError:
    sys.exit()
told = memoryview(mmap.mmap(int(sys.argv[3]), 0)).cast("d")
print(flush=True)
while os.getppid() == int(sys.argv[2]):
    due = time.monotonic() + 0.005
    time.sleep(0.005)
    told[0] += time.monotonic() - due > float(sys.argv[4])
    for _ in range(200):
        pass
    began = time.perf_counter()
    for _ in range(1_000):
        pass
    told[2] += time.perf_counter() - began
    told[1] += 1
"""
"""Some turns go before those whose time is taken, for what is not in a cache any more. Each number
is told by itself, at once."""
_TOLD: Final = struct.Struct("ddd")
PAUSE_SECONDS: Final = 0.01


@dataclass(frozen=True, slots=True)
class Watched:
    """`pauses` in which a processor was away for PAUSE_SECONDS, and the time of equal turns."""

    pauses: float
    turns: float
    seconds: float

    def since(self, before: "Watched") -> "Watched":
        return Watched(
            self.pauses - before.pauses, self.turns - before.turns, self.seconds - before.seconds
        )

    @property
    def speed(self) -> float:
        """Turns in a second."""
        return self.turns / self.seconds if self.seconds else 0.0


Look: TypeAlias = Callable[[], Watched]


@contextlib.contextmanager
def awake() -> Iterator[Mapping[int, Look]]:
    """A process for each processor, which yields to every other one.

    A hypervisor seems to give an idle processor back only milliseconds after a thread was woken on
    it, which would be measured as time of the service. Beside it one that comes before every other:
    a processor may be away for 100 ms, or slower because its core is shared with another machine's,
    and the kernel counts little of it. Who may not come first tells nothing.
    """
    with contextlib.ExitStack() as ending:
        yield {each: _watched(each, ending) for each in os.sched_getaffinity(0)}


def _watched(processor: int, ending: contextlib.ExitStack) -> Look:
    told = os.memfd_create("told")
    ending.callback(os.close, told)
    os.truncate(told, _TOLD.size)
    for code in (_SPIN, _WATCH):
        numbers = map(str, (processor, os.getpid(), told, PAUSE_SECONDS))
        arguments = [sys.executable, "-c", code, *numbers]
        begun = subprocess.Popen(arguments, stdout=subprocess.PIPE, pass_fds=[told])
        ending.enter_context(begun)
        ending.callback(begun.kill)
        assert begun.stdout is not None
        begun.stdout.readline()
    seen = ending.enter_context(mmap.mmap(told, _TOLD.size))
    return lambda: Watched(*_TOLD.unpack_from(seen))


@contextlib.contextmanager
def on(processors: Set[int]) -> Iterator[None]:
    """This thread, and what it starts, on these alone."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def divided() -> tuple[Set[int], Set[int]]:
    """One for a service and the rest for its clients; the same for both if there is only one.

    A thread that is woken where another one runs waits for the end of that one's slice, some
    milliseconds: clients beside a service would be measured as its time.
    """
    *others, last = sorted(os.sched_getaffinity(0))
    return {last}, set(others) or {last}
