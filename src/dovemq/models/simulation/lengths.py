"""How long a run must be for its load, and whether it has reached a steady state.

A queue forgets its start within its relaxation time, about 1/(cμ(1 − √ρ)²) for M/M/c (Morse 1955),
which is the longer the nearer the load is to 1; times that vary more lengthen it in proportion.
"""

import math
from typing import Final

from dovemq.models.jobs import JobNetwork
from dovemq.models.stability import is_stable

RELAXATIONS: Final = 50.0
"""The relaxation times in the length of a run that is chosen for the load."""
RELAXATIONS_MIN: Final = 10.0
"""A shorter run, in relaxation times, gets a warning."""


def relaxation_time(
    utilisation: float, servers: float, service_rate: float, variability: float = 1.0
) -> float:
    """Returns infinity where the station is unstable; `variability` is (ca² + cs²)/2."""
    if not is_stable(utilisation):
        return math.inf
    spare = (1.0 - math.sqrt(utilisation)) ** 2
    return max(variability, 1.0) / (servers * service_rate * spare)


def relaxation_of(network: JobNetwork) -> float:
    """Returns the longest relaxation time of the topics of a network."""
    loads = network.loads()
    scvs = [job.arrival_scv for job in network.jobs]
    return max(
        relaxation_time(
            loads[topic.name],
            topic.consumers,
            topic.service_rate,
            0.5 * (max(scvs, default=1.0) + topic.service_scv),
        )
        for topic in network.topics
    )


def horizon_for(relaxation: float, least: float, most: float) -> float:
    """Returns the length of a run between bounds; the least where no steady state exists."""
    if not math.isfinite(relaxation):
        return least
    return max(least, min(RELAXATIONS * relaxation, most))


def too_short(horizon: float, relaxation: float) -> str | None:
    """Returns the warning about a run that is too short for its load."""
    if not math.isfinite(relaxation) or horizon >= RELAXATIONS_MIN * relaxation:
        return None
    return (
        f"the run is too short for its load: the queue forgets its start within about "
        f"{relaxation:.3g}, and the run lasts {horizon:.3g}; choose a horizon of at least "
        f"{RELAXATIONS_MIN * relaxation:.3g}"
    )
