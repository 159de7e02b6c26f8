"""A planning problem: a network, the value of jobs at each topic, the cost of consumers."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from dovemq.models import checks
from dovemq.models.checks import Floats
from dovemq.models.errors import ModelParameterInvalid, ModelSpecInvalid
from dovemq.models.jobs import JobNetwork
from dovemq.models.planning.costs import Cost

CONSUMERS_MAX: Final = 10_000
"""The bound for one topic, unless the problem has a lower one."""


@dataclass(frozen=True, slots=True)
class Problem:
    """The plan starts from the consumers of the network's topics and only adds to them.

    `values` (ν_j), `costs` (F_j) and `consumers_max` are in the order of the topics; empty means
    1, one per consumer, and `CONSUMERS_MAX`.
    """

    network: JobNetwork
    values: tuple[float, ...] = ()
    costs: tuple[Cost, ...] = ()
    consumers_max: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        count = len(self.network.topics)
        for name in ("values", "costs", "consumers_max"):
            given = len(getattr(self, name))
            if given not in (0, count):
                raise ModelSpecInvalid(name, f"{given} were given for {count} topics")
        checks.not_negative(self.values, "values")
        for topic, most in zip(self.network.topics, self.consumers_max, strict=False):
            if not topic.consumers <= most <= CONSUMERS_MAX:
                raise ModelParameterInvalid(
                    f"topic {topic.name}: consumers_max",
                    most,
                    f"a whole number from {topic.consumers} to {CONSUMERS_MAX}",
                )

    @property
    def start(self) -> Floats:
        return np.array([topic.consumers for topic in self.network.topics], dtype=np.float64)

    @property
    def most(self) -> Floats:
        return np.array(self.consumers_max or [CONSUMERS_MAX] * len(self.network.topics), float)

    @property
    def weights(self) -> Floats:
        return np.array(self.values or [1.0] * len(self.network.topics), dtype=np.float64)

    @property
    def topic_costs(self) -> tuple[Cost, ...]:
        return self.costs or (Cost(),) * len(self.network.topics)

    def costs_of(self, consumers: Floats) -> Floats:
        """Returns the cost of each topic, for allocations along the last axis."""
        factors = [(cost.linear, cost.quadratic) for cost in self.topic_costs]
        linear, quadratic = np.array(factors).T
        costs: Floats = linear * consumers + quadratic * consumers**2
        for place, cost in enumerate(self.costs):
            if cost.listed:
                costs[..., place] = cost.of(consumers[..., place])
        return costs

    def extra_cost(self, consumers: Floats) -> Floats:
        """Returns the cost of allocations along the last axis, minus the cost of the start."""
        total: Floats = np.sum(self.costs_of(consumers) - self.costs_of(self.start), axis=-1)
        return total
