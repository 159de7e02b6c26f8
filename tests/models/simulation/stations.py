"""One station as a network, and the run that the tests of theory share."""

from dovemq.models.arrivals import Arrivals
from dovemq.models.distributions import Distribution
from dovemq.models.jobs import JobNetwork, JobRoute, JobTask, chain, timed_job, timed_topic
from dovemq.models.simulation import SimulationRun
from dovemq.models.topic_rules import PLAIN, TopicRules

RUN = SimulationRun(horizon=20_000, warm_up=500, replications=10, seed=2, confidence=0.99)


def single(
    service: Distribution, arrival: Arrivals, servers: int = 1, rules: TopicRules = PLAIN
) -> JobNetwork:
    station = timed_topic("only", service, servers, rules)
    return JobNetwork((station,), (timed_job("job", arrival, JobRoute(chain("only"))),))


def by_class(
    arrivals: list[Arrivals], services: list[Distribution], servers: int, rules: TopicRules
) -> JobNetwork:
    """A station of job types in the order of their priority, named 0, 1, …"""
    jobs = tuple(
        timed_job(str(level), arrival, JobRoute((JobTask("work", "only", (), service, level),)))
        for level, (arrival, service) in enumerate(zip(arrivals, services, strict=True))
    )
    return JobNetwork((timed_topic("only", services[0], servers, rules),), jobs)
