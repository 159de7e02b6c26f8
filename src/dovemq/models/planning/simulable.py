"""A network of topics and jobs as the simulation knows it. Needs numba."""

from dataclasses import replace

from dovemq.models import simulation
from dovemq.models.analytic.jobs import JobType, Network, Task
from dovemq.models.simulation import Run, by_moments


def simulated_jobs(network: Network, run: Run) -> simulation.NetworkResult:
    return simulation.simulate_network(simulable(network), run)


def multiplied(network: Network, factor: float) -> Network:
    """With every arrival rate times the factor."""
    jobs = tuple(replace(job, arrival_rate=factor * job.arrival_rate) for job in network.jobs)
    return replace(network, jobs=jobs)


def simulable(network: Network) -> simulation.Network:
    """Every time gamma, exponential, constant or hyperexponential, by its mean and scv."""
    stations = tuple(
        simulation.Station(
            topic.name, topic.consumers, by_moments(1.0 / topic.service_rate, topic.service_scv)
        )
        for topic in network.topics
    )
    jobs = tuple(_job(job) for job in network.jobs if job.arrival_rate > 0.0)
    return simulation.Network(stations, jobs)


def _job(job: JobType) -> simulation.JobType:
    paths = tuple(
        simulation.Path(tuple(map(_task, route.tasks)), route.share)
        for route in job.routes
        if route.share > 0.0
    )
    return simulation.JobType(job.name, by_moments(1.0 / job.arrival_rate, job.arrival_scv), paths)


def _task(task: Task) -> simulation.Task:
    return simulation.Task(task.name, task.topic, after=task.after)
