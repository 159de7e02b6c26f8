"""How long, how often and with which chance a model is run, and by how many workers.

A replication depends on the seed and its own number alone, and results are put together in the
order of the numbers: they are the same whatever the number of workers. Workers are threads; a
kernel runs without the interpreter's lock.
"""

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, TypeVar

import numpy as np

from dovemq.models.simulation.checking import not_negative, positive, refuse, whole
from dovemq.models.simulation.estimates import Floats
from dovemq.models.simulation.settling import PILOTS, settled_from

WarmUp: TypeAlias = float | Literal["auto"]

REPLICATIONS_MAX: Final = 1_000_000
SLICES_MAX: Final = 100_000
WORKERS_MAX: Final = 256
RECORD_ROWS_MAX: Final = 1 << 28
ENDED, FULL, PAUSED = range(3)
"""Why a kernel returned. It can go on after each but the first."""
EVENTS_AT_ONCE_MAX: Final = 20_000_000
"""Then a kernel pauses, so that an interrupt from the keyboard is heard."""
PILOT_FIRST: Final = REPLICATIONS_MAX
"""The number of the first pilot: pilots share no chance with replications."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Run:
    """Times are in the model's unit; `horizon` is measured after the warm-up.

    `warm_up` is left out of every figure; "auto" finds it by pilot runs. `slices` is how finely
    figures are kept over time. The first `record_rows_max` events of replication 0 are recorded.
    `first` is the number of the first replication, so that a run can be made in parts.
    """

    horizon: float
    warm_up: WarmUp = 0.0
    replications: int = 20
    seed: int = 0
    workers: int = 1
    slices: int = 100
    confidence: float = 0.95
    record_rows_max: int = 0
    first: int = 0

    def __post_init__(self) -> None:
        positive("horizon", self.horizon)
        if self.warm_up != "auto":
            not_negative("warm_up", self.warm_up)
        whole("replications", self.replications, 1, REPLICATIONS_MAX)
        whole("first", self.first, 0, REPLICATIONS_MAX - self.replications)
        whole("seed", self.seed, 0, 2**63 - 1)
        whole("workers", self.workers, 1, WORKERS_MAX)
        whole("slices", self.slices, 1, SLICES_MAX)
        whole("record_rows_max", self.record_rows_max, 0, RECORD_ROWS_MAX)
        positive("confidence", self.confidence)
        if self.confidence >= 1:
            refuse("confidence", self.confidence, "a probability below 1")

    def span(self, warm_up: float, replication: int) -> "Span":
        rows_max = 0 if replication else self.record_rows_max
        return Span(warm_up, self.horizon, self.slices, rows_max)


@dataclass(frozen=True, slots=True)
class Span:
    """The time of one replication: the warm-up, then equal slices."""

    warm_up: float
    horizon: float
    slices: int
    record_rows_max: int = 0

    @property
    def slice_length(self) -> float:
        return self.horizon / self.slices


Progress: TypeAlias = Callable[[int], None]
Replication: TypeAlias = Callable[[int, Span], T]
"""Runs the replication of a number over a span."""


def run_to_end(state: T, advance: Callable[[T, int], int], grown: Callable[[T], T]) -> T:
    """A kernel's state at the end of its span; `grown` gives it more room where it asks for it."""
    while (outcome := advance(state, EVENTS_AT_ONCE_MAX)) != ENDED:
        state = grown(state) if outcome == FULL else state
    return state


def replicated(run: Run, warm_up: float, one: Replication[T], progress: Progress | None) -> list[T]:
    """All replications, in the order of their numbers."""
    numbers = range(run.first, run.first + run.replications)
    asked = [(number, run.span(warm_up, number)) for number in numbers]
    return _in_order(one, asked, run.workers, progress)


def warm_up_of(run: Run, one: Replication[T], in_system: Callable[[T], Floats]) -> float:
    """As the run says, or by pilots: when the number in the system has settled."""
    if run.warm_up != "auto":
        return run.warm_up
    span = Span(0.0, run.horizon, run.slices)
    numbers = range(PILOT_FIRST, PILOT_FIRST + PILOTS)
    pilots = _in_order(one, [(number, span) for number in numbers], run.workers, None)
    together: Floats = np.mean([in_system(pilot) for pilot in pilots], axis=0)
    return settled_from(together) * span.slice_length


def _in_order(
    one: Replication[T],
    asked: Sequence[tuple[int, Span]],
    workers: int,
    progress: Progress | None,
) -> list[T]:
    done: list[T] = []
    # The first is run alone, so that no two workers compile at once.
    pool = ThreadPoolExecutor(workers, "simulation") if workers > 1 else None
    try:
        rest = (pool.map if pool else map)(lambda each: one(*each), asked[1:])
        for each in itertools.chain([one(*asked[0])], rest):
            done.append(each)
            if progress is not None:
                progress(len(done))
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)
    return done
