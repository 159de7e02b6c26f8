"""Records of events as the tests read them: by message, and replayed."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dovemq.models.distributions import Distribution
from dovemq.models.simulation import SimulationRun, simulate_tandem
from dovemq.models.simulation.vma.state import EVENTS
from dovemq.models.vma.parameters import VmaParameters, timed_vma

Events = list[tuple[float, str, int, int]]
"""Time, event, message, class."""


def events_of(tandem: VmaParameters, run: SimulationRun) -> Events:
    record = simulate_tandem(tandem, run).record
    return [(time, EVENTS[event], message, kind) for time, message, event, kind in record.tolist()]


def times_of(events: Events, name: str) -> dict[int, float]:
    """Returns the time of each message's first event of that name."""
    found: dict[int, float] = {}
    for time, event, message, _ in events:
        if event == name:
            found.setdefault(message, time)
    return found


def drawn(distribution: Distribution, count: int, seed: int = 4) -> NDArray[np.float64]:
    """Times that the kernel drew, as the times between productions."""
    run = SimulationRun(
        distribution.mean * count * 1.2, replications=1, seed=seed, record_rows_max=8 * count
    )
    record = simulate_tandem(timed_vma(distribution, distribution, distribution, 1, 1), run).record
    arrived = record["time"][record["event"] == EVENTS.index("arrived")]
    assert len(arrived) >= count
    between: NDArray[np.float64] = np.diff(arrived, prepend=0.0)[:count]
    return between


def sending_replayed(
    arrived: Sequence[float], services: Sequence[float], threads: int
) -> list[float]:
    """When each message starts to be sent, first come first served."""
    free = [0.0] * threads
    started = []
    for arrival, service in zip(arrived, services, strict=True):
        soonest = min(free)
        started.append(max(arrival, soonest))
        free[free.index(soonest)] = started[-1] + service
    return started


def most_at_once(events: Events, begin: str, end: str) -> int:
    """The most messages between two events, leaving ties in the order of the record."""
    under_way = most = 0
    for _, event, _, _ in events:
        under_way += (event == begin) - (event == end)
        most = max(most, under_way)
    return most


def counted(events: Events) -> Mapping[str, int]:
    return {name: sum(event == name for _, event, _, _ in events) for name in EVENTS}
