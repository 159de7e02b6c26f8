"""Publishes the decisions of the resource manager to the server, which keeps the newest ones."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dovemq.client.errors import ClientError
from dovemq.client.workflows import WorkflowClient
from dovemq.workflows.sizing.decisions import Prediction, SizingDecision
from dovemq.workflows.sizing.scheduler import SizingObservation

TEXT_LENGTH_MAX: Final = 1_000


class DecisionPublisher:
    """`allocator` is the name of what carries the decisions out."""

    def __init__(self, client: WorkflowClient, allocator: str, account: str = "") -> None:
        self._client, self._allocator, self._account = client, allocator, account

    async def publish(
        self, decision: SizingDecision, observation: SizingObservation
    ) -> Sequence[str]:
        """Returns a sentence if the server has not taken it; the next decision tries again."""
        report = sizing_report(decision, observation, self._allocator)
        try:
            await self._client.publish_sizing(report, account=self._account)
        except ClientError as error:
            return [f"decisions cannot be published: {error}"]
        return []


def sizing_report(
    decision: SizingDecision, observation: SizingObservation, allocator: str
) -> dict[str, Any]:
    """The decision with the measured rates and the utilisations, as the admin API takes it."""
    before, after = decision.predicted_before, decision.predicted_after
    return {
        "at_ms": decision.now_ms,
        "cause": decision.cause.value,
        "reason": decision.reason[:TEXT_LENGTH_MAX],
        "note": decision.note[:TEXT_LENGTH_MAX],
        "allocator": allocator,
        "span_ms": observation.workload.span_ms,
        "measured_ms": decision.measured_ms,
        "predicted_before_ms": _known(before.all_jobs if before else None),
        "predicted_after_ms": _known(after.all_jobs if after else None),
        "topics": _topics(decision, observation),
        "types": _types(observation, before, after),
    }


def _topics(decision: SizingDecision, observation: SizingObservation) -> dict[str, Any]:
    loads = [_loads(observation, each) for each in (decision.before, decision.after)]
    return {
        name: {
            "before": decision.before[name],
            "after": decision.after[name],
            "service_rate": figures.service_rate,
            "service_scv": figures.service_scv,
            "samples": figures.samples,
            "waiting": figures.waiting,
            "running": figures.running,
            "utilisation_before": loads[0].get(name),
            "utilisation_after": loads[1].get(name),
            "missing": decision.missing.get(name, 0),
        }
        for name, figures in observation.workload.topics.items()
    }


def _types(
    observation: SizingObservation, before: Prediction | None, after: Prediction | None
) -> dict[str, Any]:
    return {
        name: {
            "arrival_rate": figures.arrival_rate,
            "arrival_scv": figures.arrival_scv,
            "ended": figures.ended,
            "running": figures.running,
            "overdue": figures.overdue,
            "measured_ms": figures.response_ms,
            "predicted_before_ms": _known(before.by_type.get(name) if before else None),
            "predicted_after_ms": _known(after.by_type.get(name) if after else None),
        }
        for name, figures in observation.workload.types.items()
    }


def _loads(observation: SizingObservation, consumers: Mapping[str, int]) -> dict[str, float]:
    """Work offered to each topic per consumer; nothing is known of topics without consumers."""
    if observation.workload.arrival_rate <= 0.0:
        return dict.fromkeys(consumers, 0.0)
    present = {name: max(count, 1) for name, count in consumers.items()}
    loads = observation.workload.network(observation.routes, present).loads()
    return {name: load for name, load in loads.items() if consumers[name]}


def _known(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
