"""GI/G/m: any arrivals, any service, m servers, by two moments: two approximations.

`allen-cunneen`: Lq = ((ca² + cs²)/2) · Lq of M/M/m (Allen 1990). It is eq. 2 of `elastic` without
its misprint, and exact for M/M/m and M/G/1.
`kraemer-langenbach-belz`: the same times a factor below 1 where arrivals vary less than Poisson
arrivals (Kraemer and Langenbach-Belz 1976), for which the first gives too much.
Both give mean times. The probability of a wait is NaN where two moments do not determine it.
"""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from dovemq.models import checks
from dovemq.models.analytic.station import Station, mmc, station_of
from dovemq.models.checks import Floats
from dovemq.models.errors import ModelParameterInvalid

ALLEN_CUNNEEN: Final = "allen-cunneen"
KRAEMER_LANGENBACH_BELZ: Final = "kraemer-langenbach-belz"
APPROXIMATIONS: Final = (ALLEN_CUNNEEN, KRAEMER_LANGENBACH_BELZ)


def ggm(
    arrival_rate: ArrayLike,
    arrival_scv: ArrayLike,
    service_rate: ArrayLike,
    service_scv: ArrayLike,
    servers: ArrayLike,
    approximation: str = ALLEN_CUNNEEN,
) -> Station:
    if approximation not in APPROXIMATIONS:
        raise ModelParameterInvalid("approximation", approximation, f"one of {APPROXIMATIONS}")
    markov = mmc(arrival_rate, service_rate, servers)
    arrivals = checks.not_negative(arrival_scv, "arrival_scv")
    services = checks.not_negative(service_scv, "service_scv")
    factor = variability(arrivals, services)
    if approximation == KRAEMER_LANGENBACH_BELZ:
        factor = factor * _regularity(arrivals, services, markov)
    waiting_time = np.where(
        markov.stable, factor * np.where(markov.stable, markov.waiting_time, 0.0), np.inf
    )
    return station_of(
        Station,
        markov.arrival_rate,
        markov.service_rate,
        markov.servers,
        markov.stable,
        _wait_probability(arrivals, services, markov),
        waiting_time,
    )


def _wait_probability(arrivals: Floats, services: Floats, markov: Station) -> Floats:
    """Returns it where two moments determine it, and NaN elsewhere.

    Poisson arrivals at one server, or with exponential services, wait as in M/M/m. Where nothing
    varies nobody waits.
    """
    known = (arrivals == 1.0) & ((services == 1.0) | (markov.servers == 1.0))
    constant = (arrivals == 0.0) & (services == 0.0)
    found = np.where(known, markov.wait_probability, np.where(constant, 0.0, np.nan))
    found = np.where(markov.stable, found, 1.0)
    return np.where(markov.arrival_rate == 0.0, 0.0, found)


def variability(arrival_scv: Floats, service_scv: Floats) -> Floats:
    return 0.5 * (arrival_scv + service_scv)


def _regularity(arrivals: Floats, services: Floats, markov: Station) -> Floats:
    both = np.where(arrivals + services > 0.0, arrivals + services, 1.0)
    waits = np.where(markov.stable & (markov.wait_probability > 0.0), markov.wait_probability, 1.0)
    spare = np.where(markov.stable, 1.0 - markov.utilisation, 0.0)
    below = np.exp(-2.0 * spare * (1.0 - arrivals) ** 2 / (3.0 * waits * both))
    spread = np.where(arrivals < 1.0, 1.0, arrivals + 4.0 * services)
    above = np.exp(-spare * np.maximum(arrivals - 1.0, 0.0) / spread)
    return np.where(arrivals < 1.0, below, above)
