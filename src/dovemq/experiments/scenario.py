"""One configuration of the queue service of 000, and the ways to answer for it.

The methods share one question and one form of answer, so that a figure or the command line can put
them side by side. Times in seconds, rates per second.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import Final, Literal, TypeAlias

from dovemq.experiments.figure import Effort
from dovemq.models.analytic import Vma, VmaMeasures, vma
from dovemq.models.errors import NetworkInvalid

Order: TypeAlias = Literal["out", "in"]
ORDERS: Final = ("out", "in")


@dataclass(frozen=True, slots=True)
class Scenario:
    """`gets_max` and `as_printed` are known to the closed form only."""

    arrival_rate: float
    sender_rate: float
    broker_rate: float
    sender_threads: int
    broker_threads: int
    reliability: float = 1.0
    order: Order = "out"
    failure: Literal["ideal", "timer"] = "ideal"
    visibility_timeout: float = 0.0
    link_delay: float = 0.0
    gets_max: float = inf
    as_printed: bool = False


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its interval; a closed form is its own interval."""

    mean: float
    low: float
    high: float

    @property
    def known(self) -> bool:
        return isfinite(self.mean)


@dataclass(frozen=True, slots=True)
class Answer:
    """`measures` by the names of `MEASURES`; `unstable` names the stations that are."""

    method: str
    measures: Mapping[str, Estimate]
    unstable: tuple[str, ...] = ()


Method: TypeAlias = Callable[[Scenario, Effort], Answer]

MEASURES: Final[Mapping[str, str]] = {
    "delivery_time": "s",
    "waiting": "messages",
    "sender_utilisation": "1",
    "broker_utilisation": "1",
    "sender_any_busy": "1",
    "broker_any_busy": "1",
}
"""What every method answers, with units; utilisation is mean busy threads over all."""


def closed_form(scenario: Scenario) -> Vma:
    if scenario.order == "in":
        raise NetworkInvalid("order", "delivery in order has no closed form; it can be simulated")
    return Vma(
        arrival_rate=scenario.arrival_rate,
        sender_rate=scenario.sender_rate,
        broker_rate=scenario.broker_rate,
        sender_threads=scenario.sender_threads,
        broker_threads=scenario.broker_threads,
        reliability=scenario.reliability,
        link_delay=scenario.link_delay,
        visibility_timeout=scenario.visibility_timeout,
        gets_max=scenario.gets_max,
        failure=scenario.failure,
    )


def measured(scenario: Scenario) -> VmaMeasures:
    return vma(closed_form(scenario), as_printed=scenario.as_printed)


def by_formula(scenario: Scenario, effort: Effort) -> Answer:
    """Takes no effort."""
    found = measured(scenario)
    values = {
        "delivery_time": found.delivery_time,
        "waiting": found.waiting,
        "sender_utilisation": found.sender.utilisation,
        "broker_utilisation": found.broker.utilisation,
        "sender_any_busy": found.sender.any_busy,
        "broker_any_busy": found.broker.any_busy,
    }
    stations = (("sender", found.sender), ("broker", found.broker))
    unstable = tuple(name for name, station in stations if not bool(station.stable))
    # What an overloaded sender passes on is not what arrives, so the broker is not known either.
    known = {name: "sender" not in unstable and name not in unstable for name, _ in stations}
    exact = {
        name: float(value) if known.get(name.partition("_")[0], True) else inf
        for name, value in values.items()
    }
    return Answer(
        "analytic",
        {name: Estimate(value, value, value) for name, value in exact.items()},
        unstable,
    )
