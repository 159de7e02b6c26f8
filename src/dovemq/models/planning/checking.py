"""Checks planned times by simulation: the mean or a quantile of each type of job."""

from dataclasses import replace
from typing import Final

from dovemq.models.analytic.percentiles import GeneralStation
from dovemq.models.estimates import Estimate
from dovemq.models.jobs import JobNetwork, JobRoute, JobType, Topic, chain
from dovemq.models.simulation import simulate_network
from dovemq.models.simulation.lengths import TAIL_JOBS_MIN, run_for_network

REPLICATIONS: Final = 10


def simulated_times(
    network: JobNetwork, level: float | None = None, seed: int = 0
) -> dict[str, Estimate]:
    """Returns an estimate for each type of job; the length of the runs follows from the load."""
    run = run_for_network(network, REPLICATIONS, TAIL_JOBS_MIN)
    found = simulate_network(network, replace(run, seed=seed))
    if level is None:
        return found.sojourn_of
    return {name: found.quantile(level, name) for name in found.sojourn_of}


def network_of(station: GeneralStation) -> JobNetwork:
    """The station as a network of one topic with one type of job."""
    topic = Topic("queue", station.service_rate, station.service_scv, station.servers)
    route = JobRoute(chain("queue"))
    job = JobType("message", station.arrival_rate, (route,), station.arrival_scv)
    return JobNetwork((topic,), (job,))
