"""How far a station or a network is from a target: the largest load that still keeps it.

Mean times and quantiles grow with the arrival rate, so the largest rate is found by halving, for a
whole array of targets at once.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from dovemq.models.analytic import parameters
from dovemq.models.analytic.parameters import Flags, Floats
from dovemq.models.analytic.station import mmc
from dovemq.models.analytic.vma import Vma, vma
from dovemq.models.errors import ParameterInvalid

_HALVINGS: Final = 80
SERVERS_TRIED_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class Headroom:
    """`factor` is the largest arrival rate over the present one; below 1 the target is missed.

    Where even an empty system misses the target, both are 0.
    """

    arrival_rate_max: Floats
    factor: Floats
    met: Flags


def station_headroom(
    arrival_rate: ArrayLike,
    service_rate: ArrayLike,
    servers: ArrayLike,
    sojourn_time_max: ArrayLike,
    level: float | None = None,
) -> Headroom:
    """Of an M/M/c station: for the mean, or for the quantile of that level."""
    rate = parameters.arrival_rate(arrival_rate)
    speed = parameters.service_rate(service_rate)
    count = parameters.servers(servers)
    target = parameters.positive(sojourn_time_max, "sojourn_time_max")

    def time_at(arriving: Floats) -> Floats:
        station = mmc(arriving, speed, count)
        return station.sojourn_time if level is None else station.sojourn_quantile(level)

    return headroom(time_at, rate, speed * count, target)


def vma_headroom(model: Vma, delivery_time_max: ArrayLike) -> Headroom:
    rate = parameters.arrival_rate(model.arrival_rate)
    target = parameters.positive(delivery_time_max, "delivery_time_max")
    found = vma(model)
    ceiling = np.minimum(
        found.sender.servers * found.sender.service_rate,
        found.broker.servers * found.broker.service_rate / found.gets,
    )
    return headroom(
        lambda arriving: vma(replace(model, arrival_rate=arriving)).delivery_time,
        rate,
        ceiling,
        target,
    )


def headroom(
    time_at: Callable[[Floats], Floats], rate: Floats, ceiling: Floats, target: Floats
) -> Headroom:
    """`time_at` grows with the rate; at the ceiling and beyond it is infinite."""
    shape = np.broadcast_shapes(rate.shape, ceiling.shape, target.shape)
    low = np.zeros(shape)
    high = np.broadcast_to(ceiling, shape).astype(np.float64)
    reachable = np.broadcast_to(time_at(low) <= target, shape)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        kept = time_at(middle) <= target
        low, high = np.where(kept, middle, low), np.where(kept, high, middle)
    largest = np.where(reachable, low, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(rate > 0.0, largest / rate, np.where(reachable, np.inf, 0.0))
    met = np.broadcast_to(time_at(np.broadcast_to(rate, shape)) <= target, shape)
    return Headroom(arrival_rate_max=largest, factor=factor, met=met)


def servers_needed(
    arrival_rate: float, service_rate: float, sojourn_time_max: float, level: float | None = None
) -> int:
    """The least number of servers of an M/M/c station that keeps the target."""
    rate = float(parameters.arrival_rate(arrival_rate))
    speed = float(parameters.service_rate(service_rate))
    target = float(parameters.positive(sojourn_time_max, "sojourn_time_max"))
    alone: Any = 1.0 / speed if level is None else mmc(0.0, speed, 1).sojourn_quantile(level)
    if target <= float(alone):
        raise ParameterInvalid(
            "sojourn_time_max", f"{target:g}", f"more than the service alone, {float(alone):.6g},"
        )
    first = int(rate / speed) + 1
    for count in range(first, first + SERVERS_TRIED_MAX):
        station = mmc(rate, speed, count)
        time = station.sojourn_time if level is None else station.sojourn_quantile(level)
        if float(time) <= target:
            return count
    raise ParameterInvalid(
        "sojourn_time_max", f"{target:g}", f"what {SERVERS_TRIED_MAX} servers more can keep"
    )
