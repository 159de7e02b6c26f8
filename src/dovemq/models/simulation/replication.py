"""The parts of a replication's state that the kernels of the tandem and of networks share.

Messages or jobs have slots in a pool, and its free slots are a list of links. `tally` is the
current row of `series`, which has a row per slice of time; row 0 is the warm-up. A number over time
is kept as the area that it would reach at the end of the slice if nothing more happened, so that a
change costs one addition.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dovemq.models.checks import Floats
from dovemq.models.errors import TooLarge
from dovemq.models.simulation.compiled import codes, inlined
from dovemq.models.simulation.histogram import BINS
from dovemq.models.simulation.runs import SimulationRun
from dovemq.models.simulation.sampling import Rows

(NONE,) = codes(-1, 0)
SLOTS_FIRST: Final = 256
TIMES: Final = "slice_end slice_length per_scale "
COUNTERS: Final = "slice free serial rows "
"""Fields that the states of both kernels have; `per_scale` is for the histogram."""

Layout = dict[str, list[int]]
"""The columns of a series by name."""


def layout(*blocks: tuple[Sequence[str], int]) -> Layout:
    """Lists columns; a block has all its names once for each station, class or job type."""
    places: Layout = {}
    first = 0
    for names, count in blocks:
        for at, name in enumerate(names, first):
            places[name] = [at + len(names) * each for each in range(count)]
        first += len(names) * count
    return places


def started(kind: np.dtype[np.void], run: SimulationRun, scale: float, pool: Rows) -> Rows:
    """Returns the state at time 0, with all slots of the pool free."""
    state = np.zeros(1, kind)
    state["slice"] = 0 if run.warm_up else 1
    state["slice_end"] = run.warm_up or run.slice_length
    state["slice_length"] = run.slice_length
    state["per_scale"] = 1.0 / scale
    _set_free(pool, state, 0)
    return state


def measurements(
    columns: Layout, run: SimulationRun, kinds: int, record: np.dtype[np.void], number: int
) -> dict[str, NDArray[Any]]:
    """Returns the empty arrays of the measurements by their names in the kernels' arrays.

    Only replication 0 has a record of its events.
    """
    width = sum(map(len, columns.values()))
    return {
        "tally": np.zeros(width),
        "series": np.zeros((run.slices + 1, width)),
        "histogram": np.zeros((kinds, BINS), np.int64),
        "record": np.zeros(0 if number else run.record_rows_max, record),
    }


def doubled(rows: Rows) -> Rows:
    return np.concatenate((rows, np.zeros_like(rows)))


def grown_pool(pool: Rows, state: Rows, what: str, found: int, most: int) -> Rows:
    """Returns the pool with twice the slots, unless `found` has reached its bound."""
    if found >= most:
        raise TooLarge(what, 2 * found, most, "the model is unstable")
    grown = doubled(pool)
    _set_free(grown, state, len(pool))
    return grown


def _set_free(pool: Rows, state: Rows, first: int) -> None:
    pool["link"][first:] = np.arange(first + 1, len(pool) + 1)
    pool["link"][-1] = state["free"][0] if first else NONE
    state["free"] = first


@inlined
def change(tally: Floats, state: Any, now: float, column: int, step: float) -> None:
    tally[column] += step * (state.slice_end - now)


@inlined
def keep_slice(tally: Floats, series: Floats, state: Any) -> None:
    """Moves the tally to its row of the series and starts the next slice."""
    for column in range(tally.size):
        series[state.slice, column] = tally[column]
        tally[column] = 0.0
    state.slice += 1
    state.slice_end += state.slice_length
