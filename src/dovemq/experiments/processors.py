"""Processors for what is measured: they do not sleep, and the service does not share its own."""

import contextlib
import mmap
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import IO, Final, TypeAlias

from dovemq.load.costs import tree_cpu_seconds

_SPIN: Final = """
import mmap, os, struct, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
turns = 0
with mmap.mmap(int(sys.argv[3]), 8) as told:
    print(flush=True)
    while os.getppid() == int(sys.argv[2]):
        for _ in range(20_000):
            pass
        turns += 1
        struct.pack_into("<q", told, 0, turns)
"""
_TURNS: Final = struct.Struct("<q")


@dataclass(frozen=True, slots=True)
class Spun:
    """Equal turns that a process has made, and its seconds of a processor."""

    turns: int
    seconds: float

    def speed_since(self, before: "Spun") -> float:
        """Turns in a second."""
        return (self.turns - before.turns) / max(self.seconds - before.seconds, 1e-9)


Look: TypeAlias = Callable[[], Spun]


@contextlib.contextmanager
def awake() -> Iterator[Mapping[int, Look]]:
    """A process for each processor, which yields to every other one and tells what it has made.

    A hypervisor seems to give an idle processor back only milliseconds after a thread was woken on
    it, which would be measured as time of the service. And a processor whose core is shared with
    another machine's is slower, of which the kernel knows nothing.
    """
    with contextlib.ExitStack() as ending:
        looks = {}
        for processor in os.sched_getaffinity(0):
            told = ending.enter_context(tempfile.TemporaryFile())
            told.write(bytes(_TURNS.size))
            told.flush()
            looks[processor] = _spinning(processor, told, ending)
        yield looks


def _spinning(processor: int, told: IO[bytes], ending: contextlib.ExitStack) -> Look:
    numbers = map(str, (processor, os.getpid(), told.fileno()))
    arguments = [sys.executable, "-c", _SPIN, *numbers]
    spinning = subprocess.Popen(arguments, stdout=subprocess.PIPE, pass_fds=[told.fileno()])
    ending.enter_context(spinning)
    ending.callback(spinning.kill)
    assert spinning.stdout is not None
    spinning.stdout.readline()
    turns = ending.enter_context(mmap.mmap(told.fileno(), _TURNS.size))
    return lambda: Spun(_TURNS.unpack_from(turns)[0], tree_cpu_seconds(spinning.pid))


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
