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

from dovemq.load.faults.spec import ClockFaults, FaultSpec, NetworkFaults

_SECOND_MS: Final = 1_000
_SEED_BITS: Final = 48

NETWORK: Final = "network"
CLIENT: Final = "client"
"""Each receiver has its own course, such as `client/3`."""
KILL: Final = "kill"
PAUSE: Final = "pause"
FAIL_SYNC: Final = "fail_sync"
FULL: Final = "full"
FLIP: Final = "flip"
SKEW: Final = "skew"
JUMP: Final = "jump"


class Mishap(enum.StrEnum):
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


class Drawn:
    def __init__(self, spec: FaultSpec, seed: int) -> None:
        self._spec = spec
        self._seed = seed

    def course(self, name: str) -> Iterator[Decision | None]:
        rng = random.Random(f"{self._seed}/{name}")
        return self._drawn(name.partition("/")[0], rng)

    def _drawn(self, kind: str, rng: random.Random) -> Iterator[Decision | None]:
        server, disk, clock = self._spec.server, self._spec.disk, self._spec.clock
        match kind:
            case "network":
                return _exchanges(self._spec.network, rng)
            case "client":
                return _receives(self._spec.client.quit, rng)
            case "kill":
                mishap = Mishap.POWER_CUT if disk.power_cut else Mishap.KILL
                return _failures(mishap, server.kill_mttf_seconds, server.kill_mttr_ms, rng)
            case "pause":
                return _failures(Mishap.PAUSE, server.pause_mttf_seconds, server.pause_ms, rng)
            case "fail_sync":
                mttf = disk.fail_sync_mttf_seconds
                return _failures(Mishap.FAIL_SYNC, mttf, disk.fail_sync_ms, rng)
            case "full":
                return _failures(Mishap.FULL, disk.full_mttf_seconds, disk.full_ms, rng)
            case "flip":
                return _failures(Mishap.FLIP, disk.flip_mttf_seconds, 0, rng)
            case "skew":
                return _skews(clock.skew_ms, rng)
            case "jump":
                return _jumps(clock, rng)
        raise ValueError(f"no course is called {kind!r}")


class Replayed:
    """Decisions of a log, by course and position."""

    def __init__(self, logged: Mapping[str, Mapping[int, Decision]]) -> None:
        self._logged = logged

    def course(self, name: str) -> Iterator[Decision | None]:
        decisions = self._logged.get(name, {})
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
    mishap: Mishap, mean_seconds: float, for_ms: int, rng: random.Random
) -> Iterator[Decision | None]:
    while mean_seconds:
        after_ms = round(_SECOND_MS * rng.expovariate(1 / mean_seconds))
        yield Decision(mishap, after_ms, for_ms, seed=rng.getrandbits(_SEED_BITS))
    yield from itertools.repeat(None)


def _skews(bound_ms: int, rng: random.Random) -> Iterator[Decision | None]:
    while bound_ms:
        yield Decision(Mishap.SKEW, offset_ms=rng.randint(-bound_ms, bound_ms))
    yield from itertools.repeat(None)


def _jumps(clock: ClockFaults, rng: random.Random) -> Iterator[Decision | None]:
    while mean_seconds := clock.jump_mttf_seconds:
        after_ms = round(_SECOND_MS * rng.expovariate(1 / mean_seconds))
        offset_ms = rng.randint(-clock.jump_ms, clock.jump_ms)
        yield Decision(Mishap.JUMP, after_ms, offset_ms=offset_ms)
    yield from itertools.repeat(None)
