"""Closed networks by approximate mean value analysis (Bard 1979; Schweitzer 1979).

A customer of class r that arrives sees Q_ks of the other classes and Q_kr·(N_r − 1)/N_r of its own:
a fixed point instead of a recursion, so that neither populations nor classes matter much. Several
servers are a queue of c-fold speed and a delay of the rest of the service (Seidmann, Schweitzer and
Shalev-Oren 1987). Other load-dependent speeds are refused. docs/explanation/networks.md has the
measured errors.
"""

from typing import Final

import numpy as np

from dovemq.models.analytic.circulation import ClosedMeasures, busy_shares
from dovemq.models.closed import ClosedNetwork
from dovemq.models.errors import ModelSpecInvalid

ROUNDS_MAX: Final = 100_000
_SETTLED: Final = 1e-12


def schweitzer(network: ClosedNetwork) -> ClosedMeasures:
    for station in network.stations:
        if station.load_dependent and station.speeds:
            reason = "the approximate method knows servers, but no other speeds: use convolution"
            raise ModelSpecInvalid(f"station {station.name}", reason)
    waits = np.array([station.waits for station in network.stations])[:, None]
    speeds = [
        each.speeds[0] if each.speeds else each.servers if each.waits else 1.0
        for each in network.stations
    ]
    servers = np.array([each.servers for each in network.stations], dtype=np.float64)[:, None]
    queued = network.demands / np.array(speeds)[:, None]
    delayed = queued * (servers - 1.0)
    people = network.populations
    some = np.where(people > 0.0, people, 1.0)
    visited = network.demands > 0.0
    numbers = np.where(visited, people / np.maximum(visited.sum(axis=0), 1), 0.0)
    for _ in range(ROUNDS_MAX):
        # Only those that wait for the shared speed are in the way of others.
        waiting = np.where(waits, numbers, 0.0)
        seen = waiting.sum(axis=1, keepdims=True) - waiting / some
        times = queued * (1.0 + seen) + delayed
        rates = people / np.where(people > 0.0, times.sum(axis=0), 1.0)
        found = times * rates - np.where(waits, delayed * rates, 0.0)
        change = np.abs(found - numbers).max()
        numbers = found
        if change <= _SETTLED * people.max():
            break
    else:
        reason = f"the approximate method did not settle in {ROUNDS_MAX} rounds; use an exact one"
        raise ModelSpecInvalid("network", reason)
    shares = busy_shares(network, rates)
    return ClosedMeasures(network, "schweitzer", rates, numbers + delayed * rates, shares)
