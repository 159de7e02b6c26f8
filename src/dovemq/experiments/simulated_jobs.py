"""A network of topics and jobs by simulation: the same question as the closed form is asked."""

from dataclasses import replace

from dovemq.models import simulation
from dovemq.models.analytic import Network
from dovemq.models.planning.simulable import simulable
from dovemq.models.simulation import Run


def simulated_jobs(network: Network, run: Run) -> simulation.NetworkResult:
    return simulation.simulate_network(simulable(network), run)


def multiplied(network: Network, factor: float) -> Network:
    """With every arrival rate times the factor."""
    jobs = tuple(replace(job, arrival_rate=factor * job.arrival_rate) for job in network.jobs)
    return replace(network, jobs=jobs)
