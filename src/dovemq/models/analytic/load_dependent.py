"""A server whose speed depends on how many it has: M/M(n)/1, by its chain of births and deaths.

What works on several requests at once, or joins them into one commit, is such a server: its rates
are measured, and stand for what goes on inside (Chandy, Herzog and Woo 1975). Exact for Poisson
arrivals and exponential times; M/M/c is the one with rates μ, 2μ, … cμ.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from dovemq.models.analytic import parameters


@dataclass(frozen=True, slots=True)
class LoadDependent:
    """`busy` is the probability that anybody is there; `number` is a mean over time."""

    arrival_rate: float
    stable: bool
    busy: float
    number: float

    @property
    def sojourn_time(self) -> float:
        return self.number / self.arrival_rate


def load_dependent(arrival_rate: float, service_rates: Sequence[float]) -> LoadDependent:
    """`service_rates[n - 1]` with n in the system; the last one for all beyond."""
    rate = float(parameters.positive(arrival_rate, "arrival_rate"))
    ratios = rate / parameters.service_rate(list(service_rates), "service_rates")
    last = float(ratios[-1])
    if last >= 1.0:
        return LoadDependent(rate, False, 1.0, np.inf)
    # Weights of 0, 1, … as logarithms: products of many ratios leave the range of floats.
    logs = np.concatenate(([0.0], np.cumsum(np.log(ratios))))
    weights = np.exp(logs - logs.max())
    # After the last rate weights fall by one ratio r: Σ rᵏ = r/(1 − r), Σ k·rᵏ = r/(1 − r)².
    beyond = float(weights[-1]) * last / (1.0 - last)
    total = float(weights.sum()) + beyond
    numbers = np.arange(len(weights))
    number = float(weights @ numbers) + beyond * (len(ratios) + 1.0 / (1.0 - last))
    return LoadDependent(rate, True, 1.0 - float(weights[0]) / total, number / total)


def arrival_rate_at(busy: float, service_rates: Sequence[float]) -> float:
    """What keeps such a server busy for that share of time."""

    def surplus(rate: float) -> float:
        return load_dependent(rate, service_rates).busy - busy

    return float(brentq(surplus, 1e-6 * service_rates[-1], service_rates[-1]))
