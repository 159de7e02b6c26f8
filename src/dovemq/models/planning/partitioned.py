"""A logical queue of several partitions, each with consumers of its own.

Messages go to each partition with equal probability, so that Poisson arrivals stay Poisson ones.
A partition may be a station itself: one server that every message passes before it waits for a
consumer (`partition_rate`); without it more partitions only divide the consumers. Consumers are
distributed evenly; if that leaves a rest, some partitions have one more.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from dovemq.models import checks
from dovemq.models.analytic.inversion import quantile_of, time_at_tail
from dovemq.models.analytic.network import NetworkMeasures, network_measures
from dovemq.models.analytic.percentiles import GeneralStation
from dovemq.models.checks import Floats
from dovemq.models.distributions import Complex
from dovemq.models.errors import ModelParameterInvalid
from dovemq.models.jobs import JobNetwork, JobRoute, JobType, Topic, chain
from dovemq.models.stability import is_stable

PARTITIONS_MAX: Final = 1_000


@dataclass(frozen=True, slots=True)
class PartitionedQueue:
    """Rates share one unit of time; `service_rate` is the rate of one consumer."""

    arrival_rate: float
    service_rate: float
    consumers: int = 1
    partitions: int = 1
    arrival_scv: float = 1.0
    service_scv: float = 1.0
    partition_rate: float = math.inf

    def __post_init__(self) -> None:
        checks.positive(self.arrival_rate, "arrival_rate")
        checks.positive(self.service_rate, "service_rate")
        checks.not_negative(self.arrival_scv, "arrival_scv")
        checks.not_negative(self.service_scv, "service_scv")
        checks.servers(self.consumers, "consumers")
        checks.servers(self.partitions, "partitions")
        if self.partitions > min(self.consumers, PARTITIONS_MAX):
            most = f"at most one for each of the {self.consumers} consumers, {PARTITIONS_MAX},"
            raise ModelParameterInvalid("partitions", self.partitions, most)
        if not self.partition_rate > 0:
            raise ModelParameterInvalid("partition_rate", self.partition_rate, "a number above 0")

    @property
    def allotment(self) -> tuple[tuple[int, int], ...]:
        """Pairs of a number of consumers and the number of partitions that have so many."""
        each, rest = divmod(int(self.consumers), int(self.partitions))
        dealt = ((each + 1, rest), (each, int(self.partitions) - rest))
        return tuple((consumers, count) for consumers, count in dealt if count)

    @property
    def stable(self) -> bool:
        rate = self.arrival_rate / self.partitions
        fewest = self.allotment[-1][0]
        loads = (rate / self.service_rate / fewest, rate / self.partition_rate)
        return bool(is_stable(loads).all())

    def network(self) -> JobNetwork:
        """Returns all partitions as topics of a network with one job type."""
        dealt = [consumers for consumers, count in self.allotment for _ in range(count)]
        topics: list[Topic] = []
        routes = []
        for number, consumers in enumerate(dealt):
            own = self._topics(str(number), consumers)
            topics += own
            names = chain(*(topic.name for topic in own))
            routes.append(JobRoute(names, 1.0 / len(dealt)))
        job = JobType("message", self.arrival_rate, tuple(routes), self.arrival_scv)
        return JobNetwork(tuple(topics), (job,))

    def sojourn_time(self) -> float:
        """Returns the mean; it is exact for Poisson arrivals and exponential services."""
        if not self.stable:
            return math.inf
        weights = [count / self.partitions for _, count in self.allotment]
        return float(np.dot(weights, self._measures().response_time[:, 0]))

    @property
    def exact(self) -> bool:
        """Says whether the quantiles are exact: Poisson arrivals and exponential services."""
        return self.arrival_scv == 1.0 and self.service_scv == 1.0

    def sojourn_quantile(self, level: float) -> float:
        """Returns a quantile, approximate unless `exact`; infinite if unstable.

        The times at a partition and at its consumers are taken as independent, which is exact for
        M/M/1 and then M/M/c.
        """
        tail, first = 1.0 - float(checks.level(level)), 1.0 / self.service_rate
        if not self.stable:
            return math.inf
        passing, parts = self._stations()

        def tail_at(time: Floats) -> Floats:
            return np.asarray(sum(weight * each.sojourn_tail(time) for weight, each in parts))

        def transform(s: Complex) -> Complex:
            served = sum(weight * each.sojourn_transform(s) for weight, each in parts)
            return np.asarray(passing.sojourn_transform(s) * served)

        if math.isinf(self.partition_rate):
            return float(time_at_tail(tail_at, np.asarray(tail), np.asarray(first)))
        return quantile_of(transform, level, first)

    def _measures(self) -> NetworkMeasures:
        """Evaluates one partition for each number of consumers."""
        share = 1.0 / self.partitions
        topics = self._topics("", 1)
        route = JobRoute(chain(*(topic.name for topic in topics)))
        thinned = share * self.arrival_scv + 1.0 - share
        job = JobType("message", self.arrival_rate * share, (route,), thinned)
        first = [1] * (len(topics) - 1)
        allotted = [[*first, consumers] for consumers, _ in self.allotment]
        return network_measures(JobNetwork(topics, (job,)), allotted)

    def _stations(self) -> tuple[GeneralStation, list[tuple[float, GeneralStation]]]:
        """Returns a partition, and its consumers for each number of them with its share."""
        scvs, rate = self._measures().arrival_scvs, self.arrival_rate / self.partitions
        if self.exact:
            scvs = np.ones_like(scvs)
        parts = [
            (
                count / self.partitions,
                GeneralStation(rate, self.service_rate, each, float(own[-1]), self.service_scv),
            )
            for (each, count), own in zip(self.allotment, scvs, strict=True)
        ]
        speed = min(self.partition_rate, checks.NUMBER_MAX)
        return GeneralStation(rate, speed, 1, float(scvs[0, 0])), parts

    def _topics(self, number: str, consumers: int) -> tuple[Topic, ...]:
        own = Topic(f"consumers{number}", self.service_rate, self.service_scv, consumers)
        if math.isinf(self.partition_rate):
            return (own,)
        return Topic(f"partition{number}", self.partition_rate), own
