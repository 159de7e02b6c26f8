"""Processor sharing: all present are served at once, at equal shares of the servers.

The number and the mean sojourn are those of M/M/c, whatever the distribution of the service (Cohen
1979): for one server 1/(μ(1 − ρ)), and x/(1 − ρ) for a service of x. Variance and quantiles need
the whole distribution of the service. They are known here for exponential services: those of a
customer among n others, a chain whose moves up and down balance, by its eigenvalues. For one server
the variance is (2 + ρ)/((2 − ρ)·(μ(1 − ρ))²) (Coffman, Muntz and Trotter 1970).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from dovemq.models import checks
from dovemq.models.analytic.inversion import time_at_tail
from dovemq.models.analytic.station import MarkovStation, Station, mmc, station_of
from dovemq.models.checks import Floats
from dovemq.models.errors import TooLarge

OTHERS_MAX: Final = 2_500
"""The most customers beside one that its sojourn is computed with."""
_NEGLIGIBLE: Final = 1e-10


def shared(arrival_rate: ArrayLike, service_rate: ArrayLike, servers: ArrayLike = 1) -> Station:
    """Means of M/G/c with processor sharing. The wait is what sharing adds to the service."""
    found = mmc(arrival_rate, service_rate, servers)
    return station_of(
        Station,
        found.arrival_rate,
        found.service_rate,
        found.servers,
        found.stable,
        found.wait_probability,
        found.waiting_time,
    )


@dataclass(frozen=True)
class SharedStation:
    """Sojourns of M/M/c with processor sharing; the parameters are single numbers."""

    arrival_rate: float
    service_rate: float
    servers: int = 1

    @cached_property
    def station(self) -> MarkovStation:
        return mmc(self.arrival_rate, self.service_rate, self.servers)

    def sojourn_tail(self, time: float) -> float:
        after = float(checks.not_negative(time, "time"))
        if not bool(self.station.stable):
            return 1.0
        rates, weights = self._stages
        return float(np.clip(weights @ np.exp(rates * after), 0.0, 1.0))

    def sojourn_quantile(self, level: float) -> float:
        tail = 1.0 - float(checks.level(level))
        if not bool(self.station.stable):
            return float("inf")

        def tail_at(time: Floats) -> Floats:
            return np.asarray(self.sojourn_tail(float(time)))

        return float(time_at_tail(tail_at, np.asarray(tail), np.asarray(1.0 / self.service_rate)))

    @property
    def sojourn_time_variance(self) -> float:
        if not bool(self.station.stable):
            return float("inf")
        rates, weights = self._stages
        mean = float(weights @ (-1.0 / rates))
        return float(weights @ (2.0 / rates**2)) - mean**2

    @cached_property
    def _stages(self) -> tuple[Floats, Floats]:
        """Returns rates and weights of P(sojourn > t) = Σ weight·exp(rate·t); rates are below 0."""
        if self.arrival_rate == 0.0:
            return np.array([-self.service_rate]), np.ones(1)
        most = self._others()
        others = np.arange(most + 1.0)
        share = self.service_rate * np.minimum(1.0, self.servers / (others + 1.0))
        up = np.full(most, self.arrival_rate)
        down = others[1:] * share[1:]
        leaving = share * (others + 1.0)
        leaving[:-1] += up
        rates, modes = linalg.eigh_tridiagonal(-leaving, np.sqrt(up * down))
        logs = np.concatenate(([0.0], np.cumsum(np.log(up / down))))
        scale = np.exp(0.5 * (logs - logs.max()))
        seen = self.station.number_probability(others)
        weights = ((seen / scale) @ modes) * (scale @ modes)
        return rates, weights / weights.sum()

    def _others(self) -> int:
        """The number of others that is exceeded only with a negligible probability."""
        waits, load = float(self.station.wait_probability), float(self.station.utilisation)
        beyond = np.log(_NEGLIGIBLE / max(waits, _NEGLIGIBLE)) / np.log(load) if load else 0.0
        most = int(self.servers + 20 + 10 * np.sqrt(self.servers) + max(beyond, 0.0))
        if most > OTHERS_MAX:
            remedy = "choose a load further from 1: it is too near for quantiles"
            raise TooLarge("customers beside one", most, OTHERS_MAX, remedy)
        return most
