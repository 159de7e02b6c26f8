"""Decides which fault happens next: drawn from a seed, or read from the log of an earlier run.

Each kind of fault has its own course, a sequence of decisions that does not depend on the other
courses: the n-th exchange has the same fault in every run with the same seed. Which request is the
n-th depends on the machine.
"""

import enum
import itertools
import random
from collections.abc import Iterator, Mapping
from typing import Final, Protocol

from msgspec import Struct

from dovemq.load.faults.spec import FaultSpec, NetworkFaults

_SECOND_MS: Final = 1_000
_SEED_BITS: Final = 48

NETWORK: Final = "network"
CLIENT: Final = "client"
"""Each receiver has its own course, such as `client/3`."""


class Mishap(enum.StrEnum):
    """A kind of fault. The courses of server, disk and clock have the names of their faults."""

    DROP_REQUEST = "drop_request"
    DROP_RESPONSE = "drop_response"
    CUT = "cut"
    DELAY = "delay"
    QUIT = "quit"
    KILL = "kill"
    POWER_CUT = "power_cut"
    PAUSE = "pause"
    FAIL_SYNC = "fail_sync"
    FULL = "full"
    FLIP = "flip"
    SKEW = "skew"
    JUMP = "jump"


class Decision(Struct, frozen=True, omit_defaults=True):
    """One fault. `after_ms` counts from the end of the last fault of its course.

    `offset_ms` is that of the clock. `seed` decides details, such as which sectors a power cut
    undoes.
    """

    mishap: Mishap
    after_ms: int = 0
    for_ms: int = 0
    offset_ms: int = 0
    seed: int = 0


class Courses(Protocol):
    def course(self, name: str) -> Iterator[Decision | None]:
        """Returns endless decisions. None is no fault this time; in a course in time, no fault
        any more."""


class Drawn(Struct, frozen=True):
    """Decisions drawn from a seed."""

    spec: FaultSpec
    seed: int

    def course(self, name: str) -> Iterator[Decision | None]:
        rng = random.Random(f"{self.seed}/{name}")
        kind = name.partition("/")[0]
        if kind == NETWORK:
            return _exchanges(self.spec.network, rng)
        if kind == CLIENT:
            return _receives(self.spec.client.quit, rng)
        if kind == Mishap.SKEW:
            return _skews(self.spec.clock.skew_ms, rng)
        mishap = Mishap(kind)
        mean_seconds, for_ms, offset_ms_max = self._timed(mishap)
        if mishap is Mishap.KILL and self.spec.disk.power_cut:
            mishap = Mishap.POWER_CUT
        return _failures(mishap, mean_seconds, for_ms, offset_ms_max, rng)

    def _timed(self, mishap: Mishap) -> tuple[float, int, int]:
        """Returns the mean time to a fault, its duration and the bound of its offset."""
        server, disk, clock = self.spec.server, self.spec.disk, self.spec.clock
        return {
            Mishap.KILL: (server.kill_mttf_seconds, server.kill_mttr_ms, 0),
            Mishap.PAUSE: (server.pause_mttf_seconds, server.pause_ms, 0),
            Mishap.FAIL_SYNC: (disk.fail_sync_mttf_seconds, disk.fail_sync_ms, 0),
            Mishap.FULL: (disk.full_mttf_seconds, disk.full_ms, 0),
            Mishap.FLIP: (disk.flip_mttf_seconds, 0, 0),
            Mishap.JUMP: (clock.jump_mttf_seconds, 0, clock.jump_ms),
        }[mishap]


class Replayed(Struct, frozen=True):
    """Decisions of a log, by course and position."""

    logged: Mapping[str, Mapping[int, Decision]]

    def course(self, name: str) -> Iterator[Decision | None]:
        decisions = self.logged.get(name, {})
        return (decisions.get(number) for number in itertools.count())


class Fading:
    """Courses that can be ended; afterwards they have no faults."""

    def __init__(self, courses: Courses) -> None:
        self._courses = courses
        self._over = False

    def end(self) -> None:
        self._over = True

    def course(self, name: str) -> Iterator[Decision | None]:
        return (None if self._over else decision for decision in self._courses.course(name))


def _exchanges(network: NetworkFaults, rng: random.Random) -> Iterator[Decision | None]:
    bounds = list(itertools.accumulate((network.drop_request, network.drop_response, network.cut)))
    mishaps = (Mishap.DROP_REQUEST, Mishap.DROP_RESPONSE, Mishap.CUT)
    while True:
        drawn = rng.random()
        if drawn >= network.total:
            yield None
            continue
        mishap = next(
            (each for each, bound in zip(mishaps, bounds, strict=True) if drawn < bound),
            Mishap.DELAY,
        )
        for_ms = network.delay_ms if mishap is Mishap.DELAY else 0
        yield Decision(mishap, for_ms=for_ms, seed=rng.getrandbits(_SEED_BITS))


def _receives(chance: float, rng: random.Random) -> Iterator[Decision | None]:
    while True:
        yield Decision(Mishap.QUIT) if rng.random() < chance else None


def _failures(
    mishap: Mishap, mean_seconds: float, for_ms: int, offset_ms_max: int, rng: random.Random
) -> Iterator[Decision | None]:
    while mean_seconds:
        after_ms = round(_SECOND_MS * rng.expovariate(1 / mean_seconds))
        offset_ms = rng.randint(-offset_ms_max, offset_ms_max) if offset_ms_max else 0
        yield Decision(mishap, after_ms, for_ms, offset_ms, rng.getrandbits(_SEED_BITS))
    yield from itertools.repeat(None)


def _skews(bound_ms: int, rng: random.Random) -> Iterator[Decision | None]:
    while bound_ms:
        yield Decision(Mishap.SKEW, offset_ms=rng.randint(-bound_ms, bound_ms))
    yield from itertools.repeat(None)
