"""Replications of a simulation: their length, number and seed, their warm-up, and their workers.

A run may end when its mean is precise enough: the rule is applied only at multiples of the asked
number of replications, so that few and late looks cost the interval little of its confidence.

A replication depends only on the seed and its own number, and results are combined in the order of
the numbers, so that they do not depend on the number of workers. Workers are threads; a kernel runs
without the interpreter's lock.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dovemq.models import checks
from dovemq.models.checks import Floats
from dovemq.models.errors import ModelParameterInvalid
from dovemq.models.estimates import Estimate

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
PRECISE_MAX: Final = 1_000
"""The most replications of a run that ends by its precision, unless it names another bound."""
POINTS_MIN: Final = 10


class ReplicationArrays(Protocol):
    """The arrays of one replication that all kernels have."""

    @property
    def state(self) -> NDArray[Any]: ...
    @property
    def series(self) -> Floats: ...
    @property
    def histogram(self) -> NDArray[np.int64]: ...
    @property
    def record(self) -> NDArray[Any]: ...


A = TypeVar("A", bound=ReplicationArrays)


class Measured(NamedTuple):
    """The arrays of a replication that are kept when it has ended."""

    state: NDArray[Any]
    series: Floats
    histogram: NDArray[np.int64]
    record: NDArray[Any]


@dataclass(frozen=True, slots=True)
class SimulationRun:
    """Times have the unit of the model; the `horizon` starts after the warm-up.

    `warm_up` is left out of every figure; "auto" finds it by pilot runs. Figures are kept for each
    of the `slices` of the horizon. The first `record_rows_max` events of replication 0 are
    recorded. `first` is the number of the first replication, so that a run can be made in parts.
    With a `precision`, batches of `replications` are added until the half width of the mean sojourn
    is at most this share of it, or `replications_max` is reached.
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
    precision: float | None = None
    replications_max: int = PRECISE_MAX

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
        if self.precision is not None:
            checks.level(self.precision, "precision")
            checks.whole(self.replications, "replications", 2, REPLICATIONS_MAX)
            most = REPLICATIONS_MAX - self.first
            checks.whole(self.replications_max, "replications_max", self.replications, most)

    def is_precise(self, sojourn: Estimate) -> bool:
        """Says whether the estimate is as precise as asked for; always, if nothing is asked."""
        return self.precision is None or sojourn.half_width <= self.precision * sojourn.mean

    def imprecision(self, sojourn: Estimate) -> str | None:
        """Returns a warning if the run ended at its bound before it was as precise as asked."""
        if self.is_precise(sojourn):
            return None
        return (
            f"the mean is not within {self.precision:.3g} of itself after {sojourn.samples} "
            f"replications, the most of this run: its half width is "
            f"{sojourn.half_width / sojourn.mean:.3g} of it"
        )

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
    places: Mapping[str, Sequence[int]],
    progress: Progress | None,
) -> tuple[float, list[Measured]]:
    """Runs all replications and returns their warm-up, and them in the order of their numbers.

    `start` makes the arrays of a replication, `advance` is the kernel, and `grown` gives it more
    room when it is full. `places` are the columns of the series: pilots find the warm-up by
    `in_system`, and the precision is that of `sojourn` over `done`.
    """

    def replicated(run: SimulationRun, number: int) -> Measured:
        arrays = start(run, number)
        while (outcome := advance(arrays, EVENTS_AT_ONCE_MAX)) != ENDED:
            arrays = grown(arrays) if outcome == FULL else arrays
        return Measured(arrays.state, arrays.series, arrays.histogram, arrays.record)

    if run.warm_up == "auto":
        pilot = partial(replicated, replace(run, warm_up=0.0))
        pilots = _in_order(pilot, range(PILOT_FIRST, PILOT_FIRST + PILOTS), run.workers, None)
        present = [each.series[1:, list(places["in_system"])].sum(1) for each in pilots]
        run = replace(run, warm_up=settled_from(np.mean(present, axis=0)) * run.slice_length)
    found: list[Measured] = []
    most = run.replications_max if run.precision is not None else run.replications
    while len(found) < most:
        numbers = range(
            run.first + len(found), run.first + min(len(found) + run.replications, most)
        )
        found += _in_order(partial(replicated, run), numbers, run.workers, _after(found, progress))
        if run.is_precise(_sojourn(found, places, run.confidence)):
            break
    return float(run.warm_up), found


def _after(found: Sequence[Measured], progress: Progress | None) -> Progress | None:
    """Returns a progress that counts on from the replications found."""
    before = len(found)
    return None if progress is None else lambda done: progress(before + done)


def _sojourn(
    found: Sequence[Measured], places: Mapping[str, Sequence[int]], confidence: float
) -> Estimate:
    """Returns the mean sojourn after the warm-up, by replications that measured any."""
    sums = [
        [float(each.series[1:, list(places[name])].sum()) for name in ("sojourn", "done")]
        for each in found
    ]
    return Estimate(tuple(total / done for total, done in sums if done), confidence)


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
    one: Callable[[int], Measured], numbers: range, workers: int, progress: Progress | None
) -> list[Measured]:
    done: list[Measured] = []
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
