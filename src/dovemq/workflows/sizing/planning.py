"""Allocations of consumers from the models: what is predicted, and what is planned."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from msgspec import Struct

from dovemq.models.analytic import network_measures
from dovemq.models.jobs import JobRoute
from dovemq.models.planning import (
    CapacityPlan,
    Cost,
    Problem,
    exact_cost,
    exact_time,
    min_cost,
    min_time,
    random_cost,
    random_time,
    relieve,
)
from dovemq.models.planning.response import JobTimes
from dovemq.workflows.sizing.decisions import Prediction
from dovemq.workflows.sizing.settings import SizingSettings
from dovemq.workflows.sizing.workload import MeasuredWorkload

SECOND_MS: Final = 1_000.0
NEAR_FLOOR: Final = 1.1
"""A target that service alone exceeds is replaced by so many times the service."""


class PlannedConsumers(Struct, frozen=True):
    consumers: Mapping[str, int]
    note: str
    missing: Mapping[str, int]


class ConsumerPlanner:
    """Plans for one measured workload; the rates must not all be 0."""

    def __init__(
        self,
        workload: MeasuredWorkload,
        routes: Mapping[str, Sequence[JobRoute]],
        settings: SizingSettings,
    ) -> None:
        self._settings = settings
        self._workload, self._routes = workload, routes
        self.least = {name: settings.bounds_of(name).least for name in workload.topics}
        network = workload.network(routes, self.least)
        self._problem = Problem(
            network,
            costs=tuple(Cost(settings.costs.get(name, 1.0)) for name in workload.topics),
            consumers_max=tuple(settings.bounds_of(name).most for name in workload.topics),
        )

    def predict(self, consumers: Mapping[str, int]) -> Prediction:
        network = self._workload.network(self._routes, consumers)
        measures = network_measures(network)
        times = measures.response_time * SECOND_MS
        by_type = {job.name: float(time) for job, time in zip(network.jobs, times, strict=True)}
        return Prediction(by_type, float(measures.time_per_job) * SECOND_MS, network.unstable)

    def loads(self, consumers: Mapping[str, int]) -> dict[str, float]:
        """Work offered to each topic per consumer."""
        return self._workload.network(self._routes, consumers).loads()

    def fastest(self, turn: int) -> PlannedConsumers:
        """The plan of an alarm, by budget or by target; `turn` gives Random another choice."""
        settings = self._settings
        rng = np.random.default_rng((settings.seed, turn))
        if settings.budget is None:
            assert settings.target_ms is not None
            return self._named(self._cheapest(settings.target_ms, settings.method, rng))
        if settings.method == "random":
            plan = random_time(self._problem, settings.budget, rng)
        else:
            by_method = exact_time if settings.method == "exact" else min_time
            plan = by_method(self._problem, settings.budget)
        # Random may spend its budget and leave a topic unstable, which is its own fault.
        spent = plan.feasible or bool(plan.steps)
        return self._named(plan if spent else relieve(self._problem, settings.budget))

    def cheapest(self, target_ms: float) -> PlannedConsumers:
        """The fewest consumers for a response time, for the release of others."""
        rng = np.random.default_rng(self._settings.seed)
        return self._named(self._cheapest(target_ms, "greedy", rng))

    def _cheapest(self, target_ms: float, method: str, rng: np.random.Generator) -> CapacityPlan:
        target = target_ms / SECOND_MS
        floor = JobTimes(self._problem).floor()
        note = ""
        if floor >= target:
            note = f"infeasible: service alone takes {floor:.3g} s, the target is {target:.3g} s; "
            target = floor * NEAR_FLOOR
        if method == "random":
            plan = random_cost(self._problem, target, rng)
        else:
            plan = (exact_cost if method == "exact" else min_cost)(self._problem, target)
        return replace(plan, note=f"{note}planned for {target:.3g} s") if note else plan

    def _named(self, plan: CapacityPlan) -> PlannedConsumers:
        return PlannedConsumers(
            dict(zip(plan.topics, plan.consumers, strict=True)),
            plan.note,
            {each.topic: each.missing for each in plan.shortages},
        )
