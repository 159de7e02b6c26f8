"""Distributions of the times of classes with priority, by their transforms. Exact.

Without interruption (Cobham 1954; Kesten and Runnenburg 1957): with θ = s + x, where x is the rate
at which more urgent arrivals prolong the time,

    x = Σ λ_i·(1 − B_i(s + x))   over the more urgent classes i,
    W_k(s) = [(1 − ρ)·θ + Σ λ_j·(1 − B_j(θ))] / [s − λ_k·(1 − B_k(θ))],   j less urgent than k.

With several servers and one exponential service, those that wait do so as at one server of the
whole speed (Davis 1966). With interruption (White and Christie 1958) less urgent classes do not
exist for class k: it finds the work of the classes up to k, and its time is that work and its own,
prolonged by more urgent arrivals. That is known for one server only.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dovemq.models import checks
from dovemq.models.analytic.erlang import erlang_c
from dovemq.models.analytic.inversion import quantile_of
from dovemq.models.analytic.pollaczek import CONSTANT_SCV
from dovemq.models.distributions import Complex, Distribution, Exponential, transform
from dovemq.models.errors import ModelParameterInvalid, TooLarge
from dovemq.models.stability import is_stable

ROUNDS_MAX: Final = 20_000
"""The most steps to the fixed point of x; each brings it nearer by the load of urgent classes."""
_SETTLED: Final = 1e-13


@dataclass(frozen=True, slots=True)
class ClassTimes:
    """The times of one class at a station.

    `urgent` and `less` are rates and services of the more and of the less urgent classes, `own` of
    the class itself. The rates of `less` are those at which their services start. `waits` is the
    probability of a wait without interruption.
    """

    urgent: tuple[tuple[float, Distribution], ...]
    own: tuple[float, Distribution]
    less: tuple[tuple[float, Distribution], ...]
    service: Distribution
    waits: float
    interrupted: bool

    @property
    def stable(self) -> bool:
        return bool(is_stable(_load((*self.urgent, self.own))))

    def wait_quantile(self, level: float) -> float:
        """Returns the quantile of the time before the service, of a class without interruption."""
        checks.level(level)
        if self.interrupted:
            raise ModelParameterInvalid("the wait", "interrupted", "priority without interruption")
        if not self.stable:
            return np.inf
        return quantile_of(self._wait, level, self.service.mean, self.waits)

    def sojourn_quantile(self, level: float) -> float:
        checks.level(level)
        if not self.stable:
            return np.inf
        constant = self.service.scv < CONSTANT_SCV
        if not self.interrupted and constant:
            return self.wait_quantile(level) + self.service.mean
        return quantile_of(self.sojourn_transform, level, self.service.mean)

    def sojourn_transform(self, s: Complex) -> Complex:
        if not self.interrupted:
            return np.asarray(self._wait(s) * transform(self.service, s))
        until = (*self.urgent, self.own)
        long = s + _prolonging(self.urgent, s)
        work = (1.0 - _load(until)) * long / (long - _coming(until, long))
        return np.asarray(work * transform(self.service, long))

    def _wait(self, s: Complex) -> Complex:
        long = s + _prolonging(self.urgent, s)
        idle = max(1.0 - _load((*self.urgent, self.own, *self.less)), 0.0)
        found = idle * long + _coming(self.less, long)
        one_server = found / (s - _coming((self.own,), long))
        # Those that wait do so as at one server; the others are more with several servers.
        waited = (one_server - idle) / (1.0 - idle)
        return np.asarray(1.0 - self.waits + self.waits * waited)


def class_times(
    arrival_rates: Iterable[float],
    services: Sequence[Distribution],
    servers: int = 1,
    *,
    interrupted: bool = False,
) -> list[ClassTimes]:
    """Returns the times of each class, the most urgent first; arrivals are Poisson."""
    rates = [float(checks.not_negative(rate, "arrival_rates")) for rate in arrival_rates]
    if servers > 1:
        _check_several(services, interrupted)
    shared: list[Distribution] = list(services)
    if servers > 1:
        shared = [Exponential(each.mean / servers) for each in services]
    classes = list(zip(rates, shared, strict=True))
    if servers == 1:
        waits = min(_load(classes), 1.0)
    else:
        load = np.asarray(_load(classes) * servers)
        waits = float(erlang_c(load, np.asarray(float(servers))))
    found = []
    for place, own in enumerate(classes):
        urgent, less = tuple(classes[:place]), _started(classes, place + 1)
        found.append(ClassTimes(urgent, own, less, services[place], waits, interrupted))
    return found


def _check_several(services: Sequence[Distribution], interrupted: bool) -> None:
    if interrupted:
        needed = "1: with more, quantiles of interrupted classes are not known,"
        raise ModelParameterInvalid("servers", "several", needed)
    if len(set(services)) > 1 or not isinstance(services[0], Exponential):
        needed = "one exponential service for all classes at several servers"
        raise ModelParameterInvalid("services", "several", needed)


def _started(
    classes: Sequence[tuple[float, Distribution]], first: int
) -> tuple[tuple[float, Distribution], ...]:
    """The less urgent classes; one that is too much gets what those before it leave."""
    room, found = max(1.0 - _load(classes[:first]), 0.0), []
    for rate, service in classes[first:]:
        busy = min(rate * service.mean, room)
        room -= busy
        found.append((busy / service.mean, service))
    return tuple(found)


def _load(classes: Sequence[tuple[float, Distribution]]) -> float:
    return sum(rate * service.mean for rate, service in classes)


def _coming(classes: Sequence[tuple[float, Distribution]], s: Complex) -> Complex:
    """Returns Σ λ·(1 − B(s))."""
    nothing = np.zeros_like(s)
    return sum((rate * (1.0 - transform(service, s)) for rate, service in classes), nothing)


def _prolonging(urgent: Sequence[tuple[float, Distribution]], s: Complex) -> Complex:
    """Returns x of the docstring, by substitution from 0."""
    found = np.zeros_like(s)
    if not urgent:
        return found
    for _ in range(ROUNDS_MAX):
        following = _coming(urgent, s + found)
        settled = np.abs(following - found) <= _SETTLED * np.abs(s + found)
        found = following
        if settled.all():
            return found
    remedy = "choose a smaller load of the urgent classes"
    raise TooLarge("steps for the times of a class", ROUNDS_MAX, ROUNDS_MAX - 1, remedy)
