"""How long a run must be for its load, and whether it has reached a steady state.

A queue forgets its start within its relaxation time, about 1/(cμ(1 − √ρ)²) for M/M/c (Morse 1955),
which is the longer the nearer the load is to 1; times that vary more lengthen it in proportion.
"""

import math
from typing import Final

from dovemq.models.arrivals import cycle_of
from dovemq.models.jobs import JobNetwork
from dovemq.models.simulation.runs import SimulationRun
from dovemq.models.stability import is_stable

RELAXATIONS: Final = 50.0
"""The relaxation times in the length of a run that is chosen for the load."""
RELAXATIONS_MIN: Final = 10.0
"""A shorter run, in relaxation times, gets a warning."""
TAIL_JOBS_MIN: Final = 100_000.0
"""The least arrivals of a replication for quantiles, which need more than means."""
ARRIVALS_MAX: Final = 2e7
"""The most arrivals of all replications of a run whose length is chosen for the load."""
JOBS_MIN: Final = 5_000.0
"""The least arrivals of a replication of such a run."""
NO_STEADY_STATE: Final = "no steady state can be reached: the figures grow with the horizon"


def relaxation_time(
    utilisation: float, servers: float, service_rate: float, variability: float = 1.0
) -> float:
    """Returns infinity where the station is unstable; `variability` is (ca² + cs²)/2."""
    if not is_stable(utilisation):
        return math.inf
    spare = (1.0 - math.sqrt(utilisation)) ** 2
    return max(variability, 1.0) / (servers * service_rate * spare)


def relaxation_of(network: JobNetwork) -> float:
    """Returns the longest relaxation time of the topics of a network, or of a cycle of arrivals.

    A topic that sheds work forgets sooner than one that does all of it,
    so it is not counted.
    """
    loads = network.loads()
    scvs = [job.arrival_scv for job in network.jobs]
    topics = (
        relaxation_time(
            loads[topic.name],
            topic.consumers,
            topic.service_rate,
            0.5 * (max(scvs, default=1.0) + topic.service_scv),
        )
        for topic in network.topics
        if not topic.rules.sheds
    )
    return max((*topics, *(cycle_of(job.arrival) for job in network.jobs)), default=0.0)


def run_for_network(
    network: JobNetwork, replications: int, jobs_min: float = JOBS_MIN
) -> SimulationRun:
    """Returns a run that is long enough for the load, with a warm-up found by pilot runs.

    It has at least so many jobs, and lasts whole cycles where a rate follows the clock.
    """
    rate, cycle = network.job_rate, max(cycle_of(job.arrival) for job in network.jobs)
    most = ARRIVALS_MAX / replications / rate
    horizon = horizon_for(relaxation_of(network), min(jobs_min / rate, most), most)
    if cycle:
        horizon = cycle * max(1.0, math.ceil(horizon / cycle - 1e-9))
    return SimulationRun(horizon, warm_up="auto", replications=replications)


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
