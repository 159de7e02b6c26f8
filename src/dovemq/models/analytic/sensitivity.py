"""Changes of a mean time with each parameter: exact derivatives, and one more server.

The derivatives follow from B′(a) = B·(c/a − 1 + B) (Jagerman 1974) by the chain rule. `elasticity`
is the change in per cent when the parameter grows by one per cent. With visibility timers the
derivatives of `vma` are numerical.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from dovemq.models.analytic.erlang import erlang_b
from dovemq.models.analytic.station import Station, mmc
from dovemq.models.analytic.vma import VmaMeasures, vma
from dovemq.models.checks import Floats
from dovemq.models.vma.parameters import VmaParameters

_STEP: Final = 1e-5
"""Relative step of numerical derivatives; their error is of the order of its square."""


@dataclass(frozen=True, slots=True)
class StationSensitivity:
    """Changes of the mean sojourn time of an M/M/c station; `per_server` is for one more server."""

    per_arrival_rate: Floats
    per_service_rate: Floats
    per_server: Floats
    arrival_rate_elasticity: Floats
    service_rate_elasticity: Floats


@dataclass(frozen=True, slots=True)
class VmaSensitivity:
    """Changes of the mean delivery time of `vma`; `per_…_thread` is for one more thread."""

    per_arrival_rate: Floats
    per_sender_rate: Floats
    per_broker_rate: Floats
    per_sender_thread: Floats
    per_broker_thread: Floats
    per_reliability: Floats


def station_sensitivity(station: Station) -> StationSensitivity:
    """Every figure is NaN where the station is unstable."""
    rate, speed, servers = station.arrival_rate, station.service_rate, station.servers
    slope = _wait_slope(station)
    known = np.where(station.stable, station.sojourn_time, np.nan)
    waiting_time = np.where(station.stable, station.waiting_time, np.nan)
    # W = w(a)/μ + 1/μ with a = λ/μ, so μ enters by the load and by the unit of time.
    per_rate = slope / speed**2
    per_speed = -(waiting_time + station.load * slope / speed + 1.0 / speed) / speed
    more = mmc(rate, speed, servers + 1.0).sojourn_time
    return StationSensitivity(
        per_arrival_rate=per_rate,
        per_service_rate=per_speed,
        per_server=more - known,
        arrival_rate_elasticity=per_rate * rate / known,
        service_rate_elasticity=per_speed * speed / known,
    )


def vma_sensitivity(model: VmaParameters, known: VmaMeasures | None = None) -> VmaSensitivity:
    """`known` are the figures of the model, if they are computed already."""
    found = known or vma(model)
    if model.failure == "timer":
        return _with_timers(model, found)
    sender, broker = station_sensitivity(found.sender), station_sensitivity(found.broker)
    gets = found.gets
    arrivals = found.sender.arrival_rate
    # T = W1(λ) + A·W2(A·λ) + (1 + A)·D, and A falls as q rises.
    per_gets = found.broker.sojourn_time + gets * arrivals * broker.per_arrival_rate
    per_gets = per_gets + np.asarray(model.link_delay, dtype=np.float64)
    return VmaSensitivity(
        per_arrival_rate=sender.per_arrival_rate + gets**2 * broker.per_arrival_rate,
        per_sender_rate=sender.per_service_rate,
        per_broker_rate=gets * broker.per_service_rate,
        per_sender_thread=sender.per_server,
        per_broker_thread=gets * broker.per_server,
        per_reliability=np.where(found.stable, per_gets, np.nan) * _gets_slope(model),
    )


def _with_timers(model: VmaParameters, found: VmaMeasures) -> VmaSensitivity:
    def slope(name: str) -> Floats:
        value = np.asarray(getattr(model, name), dtype=np.float64)
        low, high = value * (1.0 - _STEP), value * (1.0 + _STEP)
        if name == "reliability":
            high = np.minimum(high, 1.0)
        times = [vma(_changed(model, name, at)).delivery_time for at in (low, high)]
        with np.errstate(invalid="ignore"):
            return np.asarray((times[1] - times[0]) / (high - low))

    def one_more(name: str) -> Floats:
        more = np.asarray(getattr(model, name)) + 1
        with np.errstate(invalid="ignore"):
            return np.asarray(vma(_changed(model, name, more)).delivery_time - known)

    known = np.where(found.stable, found.delivery_time, np.nan)
    return VmaSensitivity(
        per_arrival_rate=slope("arrival_rate"),
        per_sender_rate=slope("sender_rate"),
        per_broker_rate=slope("broker_rate"),
        per_sender_thread=one_more("sender_threads"),
        per_broker_thread=one_more("broker_threads"),
        per_reliability=slope("reliability"),
    )


def _changed(model: VmaParameters, name: str, value: Any) -> VmaParameters:
    return replace(model, **{name: value})


def _wait_slope(station: Station) -> Floats:
    """Returns d/da of C(c, a)/(c − a), which is the wait in units of the service time."""
    load, servers = station.load, station.servers
    safe = np.where(load > 0.0, load, 1.0)
    blocked = erlang_b(load, servers)
    blocked_slope = np.where(load > 0.0, blocked * (servers / safe - 1.0 + blocked), servers == 1.0)
    free = servers - load
    kept = np.where(station.stable, free + load * blocked, 1.0)
    kept_slope = -1.0 + blocked + load * blocked_slope
    waits = servers * blocked / kept
    waits_slope = servers * (blocked_slope * kept - blocked * kept_slope) / kept**2
    rest = np.where(station.stable, free, 1.0)
    return np.where(station.stable, waits_slope / rest + waits / rest**2, np.nan)


def _gets_slope(model: VmaParameters) -> Floats:
    """Returns dA/dq of A = (1 − p^R)/q."""
    reliability = np.asarray(model.reliability, dtype=np.float64)
    most = np.asarray(model.gets_max, dtype=np.float64)
    failed = 1.0 - reliability
    unlimited = np.isinf(most)
    count = np.where(unlimited, 1.0, most)
    given_up = np.where(unlimited, 0.0, failed**count)
    given_up_slope = np.where(unlimited, 0.0, -count * failed ** (count - 1.0))
    slope: Floats = -given_up_slope / reliability - (1.0 - given_up) / reliability**2
    return slope
