"""A network of topics and jobs by simulation: the same question as the closed form is asked."""

from dataclasses import replace

from dovemq.models import simulation
from dovemq.models.analytic import Network
from dovemq.models.simulation import Run, by_moments


def simulated_jobs(network: Network, run: Run) -> simulation.NetworkResult:
    """Every time gamma, exponential, constant or hyperexponential, by its mean and scv."""
    stations = tuple(
        simulation.Station(
            topic.name, topic.consumers, by_moments(1.0 / topic.service_rate, topic.service_scv)
        )
        for topic in network.topics
    )
    jobs = tuple(
        simulation.JobType(
            job.name,
            by_moments(1.0 / job.arrival_rate, job.arrival_scv),
            tuple(
                simulation.Path(
                    tuple(
                        simulation.Task(task.name, task.topic, after=task.after)
                        for task in route.tasks
                    ),
                    route.share,
                )
                for route in job.routes
                if route.share > 0.0
            ),
        )
        for job in network.jobs
        if job.arrival_rate > 0.0
    )
    return simulation.simulate_network(simulation.Network(stations, jobs), run)


def multiplied(network: Network, factor: float) -> Network:
    """With every arrival rate times the factor."""
    jobs = tuple(replace(job, arrival_rate=factor * job.arrival_rate) for job in network.jobs)
    return replace(network, jobs=jobs)
