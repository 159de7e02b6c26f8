"""The fewest consumers with which one queue meets a mean time or a quantile."""

from dataclasses import dataclass, replace
from typing import Final

from dovemq.models import checks
from dovemq.models.analytic.percentiles import GeneralStation
from dovemq.models.errors import ModelParameterInvalid
from dovemq.models.stability import servers_from

CONSUMERS_TRIED_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class QueuePlan:
    """`time` is the mean sojourn, or the quantile of `level`; `less_time` has one consumer less.

    `less_time` is infinite where that is unstable, and None for the only consumer.
    """

    station: GeneralStation
    level: float | None
    time: float
    less_time: float | None


def time_of(station: GeneralStation, level: float | None) -> float:
    return station.sojourn_time if level is None else station.sojourn_quantile(level)


def service_alone(station: GeneralStation, level: float | None) -> float:
    """The time of messages that never wait, which no number of consumers improves."""
    return 1.0 / station.service_rate if level is None else station.service_quantile(level)


def plan_queue(station: GeneralStation, target: float, level: float | None = None) -> QueuePlan:
    """Adds consumers to the fewest that are stable; those of `station` do not matter."""
    most = float(checks.positive(target, "target"))
    alone = service_alone(station, level)
    if most <= alone:
        needed = f"a time above {alone:.4g}, which the service alone takes,"
        raise ModelParameterInvalid("target", f"{most:g}", needed)
    first = int(servers_from(station.arrival_rate / station.service_rate))
    less = None if first == 1 else float("inf")
    for consumers in range(first, first + CONSUMERS_TRIED_MAX):
        tried = replace(station, servers=consumers)
        time = time_of(tried, level)
        if time <= most:
            return QueuePlan(tried, level, time, less)
        less = time
    needed = f"a time that {CONSUMERS_TRIED_MAX} more consumers can meet"
    raise ModelParameterInvalid("target", f"{most:g}", needed)
