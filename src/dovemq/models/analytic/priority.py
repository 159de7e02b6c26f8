"""Stations with priorities and without interruption of service (Cobham 1954). Exact.

Class 0 goes first; within a class first come first served. `priority_mmc`: any number of servers,
one exponential service for all classes. `priority_mg1`: one server, and a service for each class.
The classes lie along the last axis of every figure; load and utilisation are those of the class. A
class is stable while its load and that of all classes before it stays below the servers, even if
all classes together are too much.
"""

import numpy as np
from numpy.typing import ArrayLike

from dovemq.models import checks
from dovemq.models.analytic.erlang import erlang_c
from dovemq.models.analytic.station import Station, station_of
from dovemq.models.checks import Floats
from dovemq.models.stability import is_stable


def priority_mmc(arrival_rates: ArrayLike, service_rate: ArrayLike, servers: ArrayLike) -> Station:
    rates = _classes(arrival_rates)
    count = checks.servers(servers)[..., None]
    speed = checks.positive(service_rate, "service_rate")[..., None]
    rates, speed, count = checks.same_shape(arrival_rates=rates, service_rate=speed, servers=count)
    loads = rates / speed
    waits = erlang_c(loads.sum(axis=-1), count[..., 0])[..., None]
    return _station(rates, speed, count, np.broadcast_to(waits, rates.shape), 1.0 / (count * speed))


def priority_mg1(
    arrival_rates: ArrayLike, service_rates: ArrayLike, service_scvs: ArrayLike = 1.0
) -> Station:
    rates, speeds, scvs = checks.same_shape(
        arrival_rates=_classes(arrival_rates),
        service_rates=checks.positive(service_rates, "service_rates"),
        service_scvs=checks.not_negative(service_scvs, "service_scvs"),
    )
    loads = rates / speeds
    room = np.maximum(1.0 - (np.cumsum(loads, axis=-1) - loads), 0.0)
    # The server's time by class: a class that is too much takes what the classes before it leave.
    busy = np.minimum(loads, room)
    residual = np.sum(busy * (1.0 + scvs) / (2.0 * speeds), axis=-1, keepdims=True)
    waits = np.broadcast_to(np.minimum(loads.sum(axis=-1, keepdims=True), 1.0), rates.shape)
    served = residual / np.where(waits > 0.0, waits, 1.0)
    return _station(rates, speeds, np.ones_like(rates), waits, served)


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
