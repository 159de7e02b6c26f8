"""The queue service of 000 by its coloured Petri net.

Runs start empty and last for the horizon, as the paper's do; intervals are of 95 %. Times are
rounded to the milliseconds of the net.
"""

from dovemq.experiments.figure import Effort
from dovemq.experiments.scenario import Answer, Scenario
from dovemq.experiments.simulated import check_simulable, estimate, whole
from dovemq.models.petri.vma import VmaParameters, exponential, simulate_vma


def by_petri_net(scenario: Scenario, effort: Effort) -> Answer:
    check_simulable(scenario)
    found = simulate_vma(
        VmaParameters(
            arrival_rate=scenario.arrival_rate,
            send=exponential(scenario.sender_rate),
            broker=exponential(scenario.broker_rate),
            sender_threads=whole("sender_threads", scenario.sender_threads),
            broker_threads=whole("broker_threads", scenario.broker_threads),
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
    estimates = {name: estimate(found.mean, found.half_width) for name, found in measures.items()}
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
