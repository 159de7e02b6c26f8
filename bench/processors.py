"""Processors for a careful measurement: kept awake, divided among processes, and watched.

`python -m bench.processors spin|watch …` are the child processes that do it.
"""

import contextlib
import mmap
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

PAUSE_SECONDS: Final = 0.01
_LOOK_SECONDS: Final = 0.005
_SPIN_TURNS: Final = 20_000
_WARM_TURNS: Final = 200
"""Turns before the timed ones, which bring code and data back into the caches."""
_TIMED_TURNS: Final = 1_000
_ROOT: Final = Path(__file__).resolve().parents[1]
_NUMBERS: Final = struct.Struct("ddd")


@dataclass(frozen=True, slots=True)
class Watched:
    """Pauses of PAUSE_SECONDS or more of a processor, and the time that equal turns took."""

    pauses: float
    turns: float
    seconds: float

    def since(self, before: "Watched") -> "Watched":
        return Watched(
            self.pauses - before.pauses, self.turns - before.turns, self.seconds - before.seconds
        )

    @property
    def speed(self) -> float:
        """Turns a second; 0 if nothing was watched."""
        return self.turns / self.seconds if self.seconds else 0.0


Look: TypeAlias = Callable[[], Watched]


@contextlib.contextmanager
def awake() -> Iterator[Mapping[int, Look]]:
    """Keeps all processors awake and watches them.

    A process on each processor yields to every other one. A hypervisor seems to return an idle
    processor only milliseconds after a thread was woken on it, which would be measured as time of
    the service. A second process there takes precedence over all others: a processor may be away
    for 100 ms, or slower because another machine shares its core, and the kernel counts little of
    it. Without the permission for that priority, nothing is watched.
    """
    with contextlib.ExitStack() as ending:
        yield {each: _watched(each, ending) for each in os.sched_getaffinity(0)}


def _watched(processor: int, ending: contextlib.ExitStack) -> Look:
    shared = os.memfd_create("watched")
    ending.callback(os.close, shared)
    os.truncate(shared, _NUMBERS.size)
    for command in ("spin", "watch"):
        numbers = map(str, (processor, os.getpid(), shared))
        arguments = [sys.executable, "-m", "bench.processors", command, *numbers]
        child = subprocess.Popen(arguments, cwd=_ROOT, stdout=subprocess.PIPE, pass_fds=[shared])
        ending.enter_context(child)
        ending.callback(child.kill)
        assert child.stdout is not None
        child.stdout.readline()
    seen = ending.enter_context(mmap.mmap(shared, _NUMBERS.size))
    return lambda: Watched(*_NUMBERS.unpack_from(seen))


@contextlib.contextmanager
def on(processors: Set[int]) -> Iterator[None]:
    """Keeps this thread, and the processes that it starts, on these processors."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def divided() -> tuple[Set[int], Set[int]]:
    """One processor for a service and the others for its clients; a single one is shared.

    A thread that is woken beside a running one waits for the end of its time slice, some
    milliseconds: clients on the service's processor would be measured as its time.
    """
    *others, last = sorted(os.sched_getaffinity(0))
    return {last}, set(others) or {last}


def _spin(parent: int) -> None:
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    print(flush=True)
    while os.getppid() == parent:
        _turn(_SPIN_TURNS)


def _watch(parent: int, shared: int) -> None:
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return
    pauses, turns, seconds = range(3)
    numbers = memoryview(mmap.mmap(shared, 0)).cast("d")
    print(flush=True)
    while os.getppid() == parent:
        due = time.monotonic() + _LOOK_SECONDS
        time.sleep(_LOOK_SECONDS)
        numbers[pauses] += time.monotonic() - due > PAUSE_SECONDS
        _turn(_WARM_TURNS)
        began = time.perf_counter()
        _turn(_TIMED_TURNS)
        numbers[seconds] += time.perf_counter() - began
        numbers[turns] += 1


def _turn(count: int) -> None:
    for _ in range(count):
        pass


def main() -> None:
    command, *numbers = sys.argv[1:]
    processor, parent, shared = map(int, numbers)
    os.sched_setaffinity(0, {processor})
    if command == "spin":
        _spin(parent)
    else:
        _watch(parent, shared)


if __name__ == "__main__":
    main()
