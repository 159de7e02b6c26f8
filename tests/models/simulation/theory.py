"""Results of theory in their shortest formulas: the oracles of the simulation tests.

M/M/c by Erlang's C; M/G/1 by Pollaczek and Khinchine; classes with priority by Cobham (1954); the
VMA tandem by eq. 8 of the paper as corrected; in-order delivery in the limit of many threads; the
fork-join of two exponential stations by Nelson and Tantawi (1988).
"""

import itertools
import math
from collections.abc import Sequence

from scipy.integrate import quad


def erlang_c(load: float, servers: int) -> float:
    """The probability to wait; `load` is the mean number of busy servers."""
    terms = [load**busy / math.factorial(busy) for busy in range(servers)]
    last = load**servers / math.factorial(servers) / (1 - load / servers)
    return last / (sum(terms) + last)


def wait_mmc(arrival_rate: float, service_rate: float, servers: int) -> float:
    load = arrival_rate / service_rate
    return erlang_c(load, servers) / (servers * service_rate - arrival_rate)


def wait_mg1(arrival_rate: float, mean: float, scv: float) -> float:
    load = arrival_rate * mean
    return load / (1 - load) * mean * (1 + scv) / 2


def waits_by_priority(rates: Sequence[float], service_rate: float, servers: int) -> list[float]:
    """Returns figures of M/M/c whose classes differ only in priority, the first class first."""
    full = servers * service_rate
    residual = erlang_c(sum(rates) / service_rate, servers) / full
    loads = [0.0, *(sum(rates[: place + 1]) / full for place in range(len(rates)))]
    return [residual / ((1 - before) * (1 - until)) for before, until in itertools.pairwise(loads)]


def sojourn_vma(rate: float, service_rate: float, threads: int, reliability: float) -> float:
    sender = wait_mmc(rate, service_rate, threads) + 1 / service_rate
    broker = wait_mmc(rate / reliability, service_rate, threads) + 1 / service_rate
    return sender + broker / reliability


def sending_in_order(rate: float, service_rate: float) -> float:
    """Returns the time from production until the broker may start, with unlimited threads."""
    load = rate / service_rate
    integral, _ = quad(lambda t: (1 - math.exp(-t)) / t, 0, load)
    return (float(integral) + (1 - math.exp(-load)) / load) / service_rate


def sojourn_fork_join(rate: float, service_rate: float) -> float:
    load = rate / service_rate
    return (12 - load) / 8 / (service_rate - rate)
