"""Stations with priorities, without interruption of service (Cobham 1954) and with it. Exact.

Class 0 goes first; within a class first come first served. `priority_mmc`: any number of servers,
one exponential service for all classes. `priority_mg1`: one server, and a service for each class.
`preemptive_mmc` and `preemptive_mg1` are the same with services that an urgent arrival interrupts
and that are resumed where they stopped (White and Christie 1958); the wait then contains the
interruptions. The classes lie along the last axis of every figure; load and utilisation are those
of the class. A class is stable while its load and that of all classes before it stays below the
servers, even if all classes together are too much.
"""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from dovemq.models import checks
from dovemq.models.analytic.erlang import erlang_c
from dovemq.models.analytic.station import Station, mmc, station_of
from dovemq.models.checks import Floats
from dovemq.models.stability import is_stable

_FEW: Final = 1e-6
"""The arrivals of a class without any, as a share of the spare capacity, for its wait."""


def priority_mmc(arrival_rates: ArrayLike, service_rate: ArrayLike, servers: ArrayLike) -> Station:
    rates, speed, count = _on_servers(arrival_rates, service_rate, servers)
    loads = rates / speed
    waits = erlang_c(loads.sum(axis=-1), count[..., 0])[..., None]
    return _station(rates, speed, count, np.broadcast_to(waits, rates.shape), 1.0 / (count * speed))


def priority_mg1(
    arrival_rates: ArrayLike, service_rates: ArrayLike, service_scvs: ArrayLike = 1.0
) -> Station:
    rates, speeds, scvs = _on_one(arrival_rates, service_rates, service_scvs)
    loads = rates / speeds
    room = np.maximum(1.0 - (np.cumsum(loads, axis=-1) - loads), 0.0)
    # The server's time by class: a class that is too much takes what the classes before it leave.
    busy = np.minimum(loads, room)
    residual = np.sum(busy * (1.0 + scvs) / (2.0 * speeds), axis=-1, keepdims=True)
    waits = np.broadcast_to(np.minimum(loads.sum(axis=-1, keepdims=True), 1.0), rates.shape)
    served = residual / np.where(waits > 0.0, waits, 1.0)
    return _station(rates, speeds, np.ones_like(rates), waits, served)


def preemptive_mmc(
    arrival_rates: ArrayLike, service_rate: ArrayLike, servers: ArrayLike
) -> Station:
    """The classes up to one are M/M/c by themselves: less urgent ones do not exist for them."""
    rates, speed, count = _on_servers(arrival_rates, service_rate, servers)
    together = mmc(np.cumsum(rates, axis=-1), speed, count)
    numbers = np.where(together.stable, together.waiting, 0.0)
    own = np.diff(numbers, axis=-1, prepend=0.0)
    # A class without arrivals waits as a few arrivals would.
    few = np.where(together.stable, _FEW * (count * speed - together.arrival_rate), 1.0)
    more = mmc(np.where(together.stable, together.arrival_rate + few, 0.0), speed, count)
    limit = (more.waiting - numbers) / few
    waits = np.where(rates > 0.0, own / np.where(rates > 0.0, rates, 1.0), limit)
    waiting_time = np.where(together.stable, waits, np.inf)
    return station_of(
        Station, rates, speed, count, together.stable, together.wait_probability, waiting_time
    )


def preemptive_mg1(
    arrival_rates: ArrayLike, service_rates: ArrayLike, service_scvs: ArrayLike = 1.0
) -> Station:
    """T_k = 1/(μ_k(1 − σ_(k−1))) + R_k/((1 − σ_(k−1))(1 − σ_k)), R_k = Σ_(i ≤ k) λ_i·E[S_i²]/2."""
    rates, speeds, scvs = _on_one(arrival_rates, service_rates, service_scvs)
    loads = rates / speeds
    until = np.cumsum(loads, axis=-1)
    stable = is_stable(until)
    before = np.where(stable, 1.0 - (until - loads), 1.0)
    residual = np.cumsum(loads * (1.0 + scvs) / (2.0 * speeds), axis=-1)
    sojourn = 1.0 / (speeds * before) + residual / (before * np.where(stable, 1.0 - until, 1.0))
    waiting_time = np.where(stable, np.maximum(sojourn - 1.0 / speeds, 0.0), np.inf)
    waits = np.minimum(until, 1.0)
    return station_of(Station, rates, speeds, np.ones_like(rates), stable, waits, waiting_time)


def _on_servers(
    arrival_rates: ArrayLike, service_rate: ArrayLike, servers: ArrayLike
) -> tuple[Floats, ...]:
    rates = _classes(arrival_rates)
    count = checks.servers(servers)[..., None]
    speed = checks.positive(service_rate, "service_rate")[..., None]
    return checks.same_shape(arrival_rates=rates, service_rate=speed, servers=count)


def _on_one(
    arrival_rates: ArrayLike, service_rates: ArrayLike, service_scvs: ArrayLike
) -> tuple[Floats, ...]:
    return checks.same_shape(
        arrival_rates=_classes(arrival_rates),
        service_rates=checks.positive(service_rates, "service_rates"),
        service_scvs=checks.not_negative(service_scvs, "service_scvs"),
    )


def _classes(arrival_rates: ArrayLike) -> Floats:
    return np.atleast_1d(checks.not_negative(arrival_rates, "arrival_rates"))


def _station(
    rates: Floats, speeds: Floats, servers: Floats, waits: Floats, served: Floats
) -> Station:
    """`served` is the mean time until a server is free, for arrivals that find none free."""
    loads = rates / speeds
    until = np.cumsum(loads, axis=-1) / servers
    before = until - loads / servers
    stable = is_stable(until)
    spare = np.where(stable, (1.0 - before) * (1.0 - until), 1.0)
    waiting_time = np.where(stable, waits * served / spare, np.inf)
    return station_of(Station, rates, speeds, servers, stable, waits, waiting_time)
