"""Replications of a simulation: their length, number and seed, their warm-up, and their workers.

A replication depends only on the seed and its own number, and results are combined in the order of
the numbers, so that they do not depend on the number of workers. Workers are threads; a kernel runs
without the interpreter's lock.
"""

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dovemq.models import checks
from dovemq.models.checks import Floats
from dovemq.models.errors import ModelParameterInvalid

WarmUp: TypeAlias = float | Literal["auto"]

ARRIVALS_MAX: Final = 1e10
REPLICATIONS_MAX: Final = 1_000_000
SLICES_MAX: Final = 100_000
WORKERS_MAX: Final = 256
RECORD_ROWS_MAX: Final = 1 << 28
ENDED, FULL, PAUSED = range(3)
"""Reasons for which a kernel returns; it can continue after the last two."""
EVENTS_AT_ONCE_MAX: Final = 20_000_000
"""A kernel pauses after so many events, so that Ctrl-C takes effect."""
PILOT_FIRST: Final = REPLICATIONS_MAX
"""The number of the first pilot; pilots share no random numbers with replications."""
PILOTS: Final = 5
POINTS_MIN: Final = 10


class ReplicationArrays(Protocol):
    """The arrays of one replication that both kernels have."""

    @property
    def state(self) -> NDArray[Any]: ...
    @property
    def series(self) -> Floats: ...
    @property
    def histogram(self) -> NDArray[np.int64]: ...
    @property
    def record(self) -> NDArray[Any]: ...


A = TypeVar("A", bound=ReplicationArrays)


@dataclass(frozen=True, slots=True)
class SimulationRun:
    """Times have the unit of the model; the `horizon` starts after the warm-up.

    `warm_up` is left out of every figure; "auto" finds it by pilot runs. Figures are kept for each
    of the `slices` of the horizon. The first `record_rows_max` events of replication 0 are
    recorded. `first` is the number of the first replication, so that a run can be made in parts.
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
        checks.positive(self.horizon, "horizon")
        if self.warm_up != "auto":
            checks.not_negative(self.warm_up, "warm_up")
        checks.whole(self.replications, "replications", 1, REPLICATIONS_MAX)
        checks.whole(self.first, "first", 0, REPLICATIONS_MAX - self.replications)
        checks.whole(self.seed, "seed", 0, 2**63 - 1)
        checks.whole(self.workers, "workers", 1, WORKERS_MAX)
        checks.whole(self.slices, "slices", 1, SLICES_MAX)
        checks.whole(self.record_rows_max, "record_rows_max", 0, RECORD_ROWS_MAX)
        checks.level(self.confidence, "confidence")

    def check_arrivals(self, arrival_rate: float) -> None:
        """Refuses a run that would practically never end."""
        if arrival_rate * self.horizon * self.replications > ARRIVALS_MAX:
            needed = f"a time with at most {ARRIVALS_MAX:g} arrivals in all replications"
            raise ModelParameterInvalid("horizon", f"{self.horizon:g}", needed)

    @property
    def slice_length(self) -> float:
        return self.horizon / self.slices


Progress: TypeAlias = Callable[[int], None]


def simulated(
    run: SimulationRun,
    start: Callable[[SimulationRun, int], A],
    advance: Callable[[A, int], int],
    grown: Callable[[A], A],
    in_system: Sequence[int],
    progress: Progress | None,
) -> tuple[float, list[A]]:
    """Runs all replications and returns their warm-up, and them in the order of their numbers.

    `start` makes the arrays of a replication, `advance` is the kernel, and `grown` gives it more
    room when it is full. `in_system` are the columns by which pilots find the warm-up.
    """

    def replicated(run: SimulationRun, number: int) -> A:
        arrays = start(run, number)
        while (outcome := advance(arrays, EVENTS_AT_ONCE_MAX)) != ENDED:
            arrays = grown(arrays) if outcome == FULL else arrays
        return arrays

    if run.warm_up == "auto":
        pilot = partial(replicated, replace(run, warm_up=0.0))
        pilots = _in_order(pilot, range(PILOT_FIRST, PILOT_FIRST + PILOTS), run.workers, None)
        present = [each.series[1:, list(in_system)].sum(1) for each in pilots]
        run = replace(run, warm_up=settled_from(np.mean(present, axis=0)) * run.slice_length)
    numbers = range(run.first, run.first + run.replications)
    found = _in_order(partial(replicated, run), numbers, run.workers, progress)
    return float(run.warm_up), found


def settled_from(series: Floats) -> int:
    """Returns how many first points of a series to leave out because it started empty.

    By the marginal standard error rule (White 1997): of all cuts in the first half of the series,
    the one that makes the standard error of the rest smallest. The series holds means over equal
    times.
    """
    points = len(series)
    if points < POINTS_MIN:
        return 0
    cuts = range(points // 2 + 1)
    errors = [float(np.var(series[cut:])) / (points - cut) for cut in cuts]
    return int(np.argmin(errors))


def _in_order(
    one: Callable[[int], A], numbers: range, workers: int, progress: Progress | None
) -> list[A]:
    done: list[A] = []
    # The first runs alone, so that no two workers compile at the same time.
    pool = ThreadPoolExecutor(workers, "simulation") if workers > 1 else None
    try:
        rest = (pool.map if pool else map)(one, numbers[1:])
        for each in itertools.chain([one(numbers[0])], rest):
            done.append(each)
            if progress is not None:
                progress(len(done))
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)
    return done
