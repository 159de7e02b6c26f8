"""The largest load at which a station or a network still meets a target.

Mean times and quantiles grow with the arrival rate, so bisection finds the largest rate, for a
whole array of targets at once.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from dovemq.models import checks
from dovemq.models.analytic.delivery import delivery_quantile
from dovemq.models.analytic.station import MarkovStation, mmc
from dovemq.models.analytic.vma import VmaMeasures, vma
from dovemq.models.checks import Flags, Floats
from dovemq.models.vma.parameters import VmaParameters

_HALVINGS: Final = 80


@dataclass(frozen=True, slots=True)
class Headroom:
    """`factor` is the largest arrival rate over the present one; below 1 the target is missed.

    Both are 0 where even an empty system misses the target.
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
    """Headroom of an M/M/c station for its mean sojourn time, or for the quantile of a level."""
    rate = checks.not_negative(arrival_rate, "arrival_rate")
    speed = checks.positive(service_rate, "service_rate")
    count = checks.servers(servers)
    target = checks.positive(sojourn_time_max, "sojourn_time_max")

    def time_at(arriving: Floats) -> Floats:
        return _sojourn(mmc(arriving, speed, count), level)

    return headroom(time_at, rate, speed * count, target)


def vma_headroom(
    model: VmaParameters,
    delivery_time_max: ArrayLike,
    known: VmaMeasures | None = None,
    level: float | None = None,
) -> Headroom:
    """Headroom of the mean delivery time, or of a quantile of one configuration.

    `known` are the figures of the model, if computed.
    """
    rate = np.asarray(model.arrival_rate, dtype=np.float64)
    target = checks.positive(delivery_time_max, "delivery_time_max")
    found = known or vma(model)
    ceiling = np.minimum(
        found.sender.servers * found.sender.service_rate,
        found.broker.servers * found.broker.service_rate / found.gets,
    )

    def time_at(arriving: Floats) -> Floats:
        changed = replace(model, arrival_rate=arriving)
        if level is None:
            return vma(changed).delivery_time
        return np.asarray(delivery_quantile(changed, vma(changed), level))

    return headroom(time_at, rate, ceiling, target)


def headroom(
    time_at: Callable[[Floats], Floats], rate: Floats, ceiling: Floats, target: Floats
) -> Headroom:
    """Bisects for the largest rate; `time_at` grows with it and is infinite at the ceiling."""
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


def _sojourn(station: MarkovStation, level: float | None) -> Floats:
    return station.sojourn_time if level is None else station.sojourn_quantile(level)
