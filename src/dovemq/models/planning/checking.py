"""Checks planned times by simulation: the mean or a quantile of each type of job."""

from typing import Final

from dovemq.models.analytic.percentiles import GeneralStation
from dovemq.models.estimates import Estimate
from dovemq.models.jobs import JobNetwork, JobRoute, JobType, Topic, chain
from dovemq.models.simulation import SimulationRun, simulate_network
from dovemq.models.simulation.lengths import horizon_for, relaxation_of

REPLICATIONS: Final = 10
ARRIVALS: Final = (100_000, 1_000_000)
"""The least and the greatest number of jobs of a replication."""


def simulated_times(
    network: JobNetwork, level: float | None = None, seed: int = 0
) -> dict[str, Estimate]:
    """Returns an estimate for each type of job; the length of the runs follows from the load."""
    rate = network.job_rate
    least, most = (arrivals / rate for arrivals in ARRIVALS)
    horizon = horizon_for(relaxation_of(network), least, most)
    run = SimulationRun(horizon, warm_up=horizon / 5, replications=REPLICATIONS, seed=seed)
    found = simulate_network(network, run)
    if level is None:
        return found.sojourn_of
    return {name: found.quantile(level, name) for name in found.sojourn_of}


def network_of(station: GeneralStation) -> JobNetwork:
    """The station as a network of one topic with one type of job."""
    topic = Topic("queue", station.service_rate, station.service_scv, station.servers)
    route = JobRoute(chain("queue"))
    job = JobType("message", station.arrival_rate, (route,), station.arrival_scv)
    return JobNetwork((topic,), (job,))
