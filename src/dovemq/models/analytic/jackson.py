"""Open Jackson networks: M/M/c stations with random routing between them.

Exact: the stations have product form (Jackson 1957, 1963), so each is an M/M/c station at the rate
of the traffic equations Λ = λ + Λ·P. With feedback the flows are not Poisson, but each visit sees
the station as an M/M/c arrival does.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from dovemq.models import checks
from dovemq.models.analytic.station import MarkovStation, mmc
from dovemq.models.checks import Flags, Floats
from dovemq.models.errors import ModelSpecInvalid

_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class JacksonNetwork:
    """`stations` holds one figure per station along the last axis; `visits` are per arrival.

    `sojourn_time` is from outside to outside, over all visits; infinite where any station that
    is visited is unstable.
    """

    stations: MarkovStation
    visits: Floats
    throughput: Floats
    number: Floats
    sojourn_time: Floats

    @property
    def stable(self) -> Flags:
        return np.asarray(self.stations.stable.all(axis=-1))


def jackson(
    arrival_rates: ArrayLike, routing: ArrayLike, service_rates: ArrayLike, servers: ArrayLike
) -> JacksonNetwork:
    """`routing[i, j]` is the share of the departures of station i that go to j; the rest leaves."""
    outside = np.atleast_1d(checks.not_negative(arrival_rates, "arrival_rates"))
    rates = traffic(outside, routing)
    total = outside.sum(axis=-1)
    stations = mmc(rates, service_rates, servers)
    if stations.load.shape[-1] != outside.shape[-1]:
        raise ModelSpecInvalid("service_rates, servers", "one for each of the stations is needed")
    number = np.sum(stations.number, axis=-1)
    return JacksonNetwork(
        stations=stations,
        visits=rates / total[..., None],
        throughput=total,
        number=number,
        sojourn_time=number / total,
    )


def traffic(arrival_rates: Floats, routing: ArrayLike) -> Floats:
    """Returns Λ, the rates of all arrivals at the stations, from outside and from each other."""
    routes = _routing(routing, arrival_rates.shape[-1])
    if (arrival_rates.sum(axis=-1) <= 0).any():
        raise ModelSpecInvalid("arrival_rates", "nothing arrives: one of them must be above 0")
    found: Floats = arrival_rates @ _totals(routes)
    return found


def _routing(routing: ArrayLike, stations: int) -> Floats:
    routes = checks.share(routing, "routing")
    if routes.shape != (stations, stations):
        raise ModelSpecInvalid(
            "routing", f"is of shape {routes.shape}, and {stations} stations need a square of them"
        )
    for station, leaving in enumerate(routes.sum(axis=1)):
        if leaving > 1.0 + _ROUNDING:
            raise ModelSpecInvalid(
                f"routing[{station}]", f"the shares add up to {leaving:g}: at most 1 is possible"
            )
    return routes


def _totals(routes: Floats) -> Floats:
    """Returns (I − P)⁻¹: the visits to each station by the station where they start."""
    leaves = 1.0 - routes.sum(axis=1) > _ROUNDING
    for _ in range(len(routes)):
        leaves = leaves | (routes[:, leaves].sum(axis=1) > 0.0)
    if not leaves.all():
        trapped = int(np.argmin(leaves))
        raise ModelSpecInvalid(
            f"routing[{trapped}]", "arrivals at this station can never leave the network"
        )
    return np.asarray(np.linalg.inv(np.eye(len(routes)) - routes), dtype=np.float64)
