"""A station with Poisson arrivals whose speed depends on the number present. Exact.

Its number is a birth–death chain (Gross and Harris 1998), which is geometric from the last given
rate on. Several servers, a database that slows down under load, and consumers that are added as the
queue grows are such stations.
"""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from dovemq.models import checks
from dovemq.models.analytic.station import Station
from dovemq.models.checks import Floats
from dovemq.models.errors import ModelParameterInvalid
from dovemq.models.stability import is_stable

RATES_MAX: Final = 100_000


def varying_speed(arrival_rate: float, rates: ArrayLike) -> Station:
    """`rates` are those of the whole station with 1, 2, … present; the last holds for more.

    `service_rate` of the answer is the last rate, `wait_probability` and `utilisation` are the
    probability that somebody is present; which of the time is a wait is not defined.
    """
    arriving = float(checks.not_negative(arrival_rate, "arrival_rate"))
    speeds = np.atleast_1d(checks.positive(rates, "rates"))
    if speeds.ndim != 1 or not 1 <= speeds.size <= RATES_MAX:
        needed = f"1 to {RATES_MAX}, since the last holds for more present,"
        raise ModelParameterInvalid("number of rates", speeds.size, needed)
    load = arriving / float(speeds[-1])
    stable = bool(is_stable(load))
    number = busy = np.inf if not stable else 0.0
    if stable and arriving > 0.0:
        number, busy = _number(arriving, speeds, load)
    return Station(
        arrival_rate=np.asarray(arriving),
        service_rate=np.asarray(speeds[-1]),
        servers=np.asarray(1.0),
        load=np.asarray(load),
        utilisation=np.asarray(busy if stable else load),
        stable=np.asarray(stable),
        wait_probability=np.asarray(np.nan),
        waiting=np.asarray(np.nan if stable else np.inf),
        waiting_time=np.asarray(np.nan if stable else np.inf),
        number=np.asarray(number),
        sojourn_time=np.asarray(number / arriving if arriving > 0.0 else 1.0 / speeds[0]),
    )


def _number(arriving: float, speeds: Floats, load: float) -> tuple[float, float]:
    """Returns the mean number, and the probability that somebody is present."""
    logs = np.concatenate(([0.0], np.cumsum(np.log(arriving / speeds))))
    weights = np.exp(logs - logs.max())
    counts = np.arange(len(weights), dtype=np.float64)
    # Beyond the last rate the weights fall by the factor `load`.
    beyond = weights[-1] * load / (1.0 - load)
    total = weights.sum() + beyond
    first = counts @ weights + beyond * (counts[-1] + 1.0 / (1.0 - load))
    return float(first / total), float((weights[1:].sum() + beyond) / total)
