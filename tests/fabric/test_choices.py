"""The simulation kernel chooses queues as the service's own strategies do."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dovemq.fabric.dequeue import (
    DequeueSettings,
    Finish,
    Park,
    PartitionsView,
    Search,
    Step,
    TryPartition,
    next_step,
)
from dovemq.models.simulation.rds.choosing import ANSWER, PARK, next_queue
from dovemq.models.simulation.rds.parameters import METHODS

FOREVER_MS = 1 << 50


@st.composite
def _states(draw: st.DrawFn) -> tuple[DequeueSettings, Search, PartitionsView]:
    queues = draw(st.integers(1, 12))
    numbers = tuple(range(queues))
    strategy = draw(st.sampled_from(METHODS))
    chosen = DequeueSettings(
        strategy,  # type: ignore[arg-type]
        fanout=draw(st.integers(1, 5)),
        sleep_ms=100,
        wake="timer",
        regulation=strategy == "pms" and draw(st.booleans()),
    )
    tried = tuple(draw(st.lists(st.sampled_from(numbers), unique=True, max_size=5)))
    found = draw(st.integers(0, 12)) if tried else 0
    # The simulated controller answers a request that regulation holds back; rds never gives up.
    deadline_ms = FOREVER_MS if strategy == "rds" else 0
    search = Search(10, deadline_ms, 100, found, tried)
    looked = draw(st.sets(st.sampled_from(numbers)))
    counts = {number: draw(st.integers(0, 3)) for number in looked}
    view = PartitionsView(numbers, draw(st.sampled_from(numbers)), counts)
    return chosen, search, view


def _kernel_step(chosen: DequeueSettings, search: Search, view: PartitionsView) -> Step:
    lengths = np.array([view.counts.get(number, -1) for number in view.numbers])
    queue = next_queue(
        METHODS.index(chosen.strategy),
        chosen.regulation,
        chosen.fanout,
        search.wanted,
        search.found,
        sum(1 << number for number in search.tried),
        view.position,
        lengths,
    )
    if queue == PARK:
        return Park(search.sleep_ms, on_arrival=False)
    return Finish() if queue == ANSWER else TryPartition(queue, search.wanted - search.found)


@settings(max_examples=500, deadline=None)
@given(_states())
def test_kernel_and_strategy_take_the_same_step(
    state: tuple[DequeueSettings, Search, PartitionsView],
) -> None:
    chosen, search, view = state
    assert _kernel_step(chosen, search, view) == next_step(search, view, chosen, 0)
