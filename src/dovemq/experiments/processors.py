"""Processors for what is measured: they do not sleep, and the service does not share its own."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Set
from typing import Final

_SPIN: Final = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
print(flush=True)
while os.getppid() == int(sys.argv[2]):
    for _ in range(100_000):
        pass
"""


@contextlib.contextmanager
def awake() -> Iterator[None]:
    """A process for each processor, which yields to every other one.

    A hypervisor seems to give an idle processor back only milliseconds after a thread was woken on
    it, which would be measured as time of the service.
    """
    with contextlib.ExitStack() as ending:
        for processor in os.sched_getaffinity(0):
            arguments = [sys.executable, "-c", _SPIN, str(processor), str(os.getpid())]
            spinning = subprocess.Popen(arguments, stdout=subprocess.PIPE)
            ending.enter_context(spinning)
            ending.callback(spinning.kill)
            assert spinning.stdout is not None
            spinning.stdout.readline()
        yield


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
