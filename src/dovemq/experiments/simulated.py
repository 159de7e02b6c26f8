"""The queue service of 000 by the compiled kernel, and what every simulation of it needs.

Runs start empty and last for the horizon, as the paper's do; intervals are of 95 %.
"""

import contextlib
import math
from collections.abc import Iterator

from dovemq.experiments.figure import Effort
from dovemq.experiments.scenario import Answer, Estimate, Scenario
from dovemq.models import simulation
from dovemq.models.errors import ModelError, NetworkInvalid
from dovemq.models.simulation import Exponential, Run, Tandem


def by_kernel(scenario: Scenario, effort: Effort) -> Answer:
    check_simulable(scenario)
    with refusals():
        tandem = Tandem(
            arrival=Exponential(1.0 / scenario.arrival_rate),
            sender=Exponential(1.0 / scenario.sender_rate),
            broker=Exponential(1.0 / scenario.broker_rate),
            sender_threads=whole("sender_threads", scenario.sender_threads),
            broker_threads=whole("broker_threads", scenario.broker_threads),
            reliability=scenario.reliability,
            order=scenario.order,
            recovery=scenario.failure,
            visibility_timeout=scenario.visibility_timeout,
            link_delay=scenario.link_delay,
        )
        run = Run(
            effort.horizon_seconds,
            replications=effort.replications,
            seed=effort.seed,
            workers=effort.workers,
        )
        found = simulation.simulate_tandem(tandem, run)
    named = {
        "delivery_time": found.sojourn,
        "waiting": found.waiting,
        "sender_utilisation": found.sender_busy,
        "broker_utilisation": found.broker_busy,
        "sender_any_busy": found.sender_any_busy,
        "broker_any_busy": found.broker_any_busy,
    }
    measures = {name: estimate(each.mean, each.half_width) for name, each in named.items()}
    return Answer("kernel", measures, tuple(found.unstable))


def estimate(mean: float | None, half_width: float | None) -> Estimate:
    if mean is None:
        return Estimate(math.nan, math.nan, math.nan)
    width = half_width if half_width is not None else math.nan
    return Estimate(mean, mean - width, mean + width)


def check_simulable(scenario: Scenario) -> None:
    if scenario.as_printed or not math.isinf(scenario.gets_max):
        raise NetworkInvalid("gets_max, as_printed", "only the closed form knows these")
    for name in ("arrival_rate", "sender_rate", "broker_rate"):
        value = getattr(scenario, name)
        if not 0.0 < value < math.inf:
            raise NetworkInvalid(name, f"{value:g}: a finite number above 0 is needed")


def whole(name: str, value: float) -> int:
    if value != int(value):
        raise NetworkInvalid(name, f"{value:g} is no whole number")
    return int(value)


@contextlib.contextmanager
def refusals() -> Iterator[None]:
    """Simulators refuse by ValueErrors that name the place."""
    try:
        yield
    except ModelError:
        raise
    except ValueError as error:
        raise NetworkInvalid("simulation", str(error)) from error
