"""The queue service of 000 by its coloured Petri net.

Runs start empty and last for the horizon, as the paper's do; intervals are of 95 %. Times are
rounded to the milliseconds of the net.
"""

import math

from dovemq.experiments.figure import Effort
from dovemq.experiments.scenario import Answer, Estimate, Scenario
from dovemq.models.errors import NetworkInvalid
from dovemq.models.petri import Interval
from dovemq.models.petri.vma import VmaParameters, exponential, simulate_vma


def by_petri_net(scenario: Scenario, effort: Effort) -> Answer:
    if scenario.as_printed or not math.isinf(scenario.gets_max):
        raise NetworkInvalid("gets_max, as_printed", "only the closed form knows these")
    found = simulate_vma(
        VmaParameters(
            arrival_rate=scenario.arrival_rate,
            send=exponential(scenario.sender_rate),
            broker=exponential(scenario.broker_rate),
            sender_threads=_whole("sender_threads", scenario.sender_threads),
            broker_threads=_whole("broker_threads", scenario.broker_threads),
            reliability=scenario.reliability,
            order=scenario.order,
            mode=scenario.failure,
            visibility_ms=round(1_000 * scenario.visibility_timeout),
            link_ms=round(1_000 * scenario.link_delay),
        ),
        replications=effort.replications,
        duration_s=effort.horizon_seconds,
        seed=effort.seed,
    )
    measures = {
        "delivery_time": found.delivery_time_s,
        "waiting": found.waiting,
        "sender_utilisation": found.sender_utilisation,
        "broker_utilisation": found.broker_utilisation,
        "sender_any_busy": found.sender_any_busy,
        "broker_any_busy": found.broker_any_busy,
    }
    estimates = {name: _estimate(interval) for name, interval in measures.items()}
    return Answer("petri", estimates, _overloaded(scenario))


def _overloaded(scenario: Scenario) -> tuple[str, ...]:
    """A run of a hundred seconds ends all the same; its figures grow with its length."""
    loads = {
        "sender": scenario.arrival_rate / scenario.sender_rate / scenario.sender_threads,
        "broker": scenario.arrival_rate
        / scenario.reliability
        / scenario.broker_rate
        / scenario.broker_threads,
    }
    return tuple(station for station, load in loads.items() if load >= 1)


def _estimate(interval: Interval) -> Estimate:
    if interval.mean is None:
        return Estimate(math.nan, math.nan, math.nan)
    width = math.nan if interval.half_width is None else interval.half_width
    return Estimate(interval.mean, interval.mean - width, interval.mean + width)


def _whole(name: str, value: float) -> int:
    if value != int(value):
        raise NetworkInvalid(name, f"{value:g} is no whole number")
    return int(value)
