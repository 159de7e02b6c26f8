"""GI/G/1: bounds of the mean wait by two moments of arrivals and services.

    kingman  (ca² + ρ²·cs²)/(2λ(1 − ρ))               (Kingman 1962)
    high     ρ((2 − ρ)·ca² + ρ·cs²)/(2λ(1 − ρ))       (Daley 1977), never above Kingman's
    low      ρ((1 + cs²)·ρ − 1)⁺/(2λ(1 − ρ))          (Stoyan and Stoyan 1974; Whitt 1984)

Every GI/G/1 queue with these moments, independent times and first come first served lies between
them. `marchal` is no bound: it scales Kingman's so that M/G/1 is exact (Marchal 1976).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dovemq.models import checks
from dovemq.models.checks import Floats
from dovemq.models.stability import is_stable


@dataclass(frozen=True, slots=True)
class WaitBounds:
    """Bounds of the mean wait; all are infinite where the queue is unstable."""

    low: Floats
    high: Floats
    kingman: Floats
    marchal: Floats


def wait_bounds(
    arrival_rate: ArrayLike, arrival_scv: ArrayLike, service_rate: ArrayLike, service_scv: ArrayLike
) -> WaitBounds:
    rate, arrivals, speed, services = checks.same_shape(
        arrival_rate=checks.positive(arrival_rate, "arrival_rate"),
        arrival_scv=checks.not_negative(arrival_scv, "arrival_scv"),
        service_rate=checks.positive(service_rate, "service_rate"),
        service_scv=checks.not_negative(service_scv, "service_scv"),
    )
    load = rate / speed
    stable = is_stable(load)
    spare = np.where(stable, 2.0 * rate * (1.0 - load), 1.0)
    kingman = (arrivals + load**2 * services) / spare
    high = load * ((2.0 - load) * arrivals + load * services) / spare
    low = load * np.maximum((1.0 + services) * load - 1.0, 0.0) / spare
    # Kingman's bound of M/G/1, (1 + ρ²cs²), over the exact ρ²(1 + cs²).
    marchal = kingman * load**2 * (1.0 + services) / (1.0 + load**2 * services)
    bounds = (np.where(stable, each, np.inf) for each in (low, high, kingman, marchal))
    return WaitBounds(*bounds)
