"""The parameters of the queue service `vma`, which every method shares.

Messages are produced, wait for one of the sender's threads, pass the link and are visible at the
broker; they wait for one of the broker's threads and pass the link again. A get succeeds with
probability `reliability`. After a failed get the message is visible again: at once (`ideal`), or
when the visibility timeout that started with the get ends (`timer`). A timeout shorter than the
service ends early, and the broker sends the message twice. `order` is what the broker may start:
any visible message (`out`), or only the next one in the order of production (`in`). Messages that
are visible again go before all others of their priority.
"""

import math
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dovemq.models import checks
from dovemq.models.distributions import Distribution, Exponential
from dovemq.models.errors import ModelParameterInvalid
from dovemq.models.jobs import PRIORITY_MAX, check_rate, rate_of
from dovemq.models.stability import is_stable
from dovemq.models.vma.timers import TimedBroker

Order: TypeAlias = Literal["out", "in"]
Failure: TypeAlias = Literal["ideal", "timer"]
Number: TypeAlias = float | NDArray[Any]
ORDERS: Final = ("out", "in")
FAILURES: Final = ("ideal", "timer")
THREADS_MAX: Final = 1_000_000
CLASSES_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class MessageClass:
    """Messages of one kind. The smallest priority number is served first, without interruption.

    Where order is kept, it holds among messages of equal priority. `sender` and `broker` are the
    service times of the class where they differ from those of the service.
    """

    name: str
    share: float = 1.0
    priority: int = 0
    sender: Distribution | None = None
    broker: Distribution | None = None

    def __post_init__(self) -> None:
        checks.positive(self.share, f"class {self.name!r}: share")
        checks.whole(self.priority, f"class {self.name!r}: priority", -PRIORITY_MAX, PRIORITY_MAX)


ONE_CLASS: Final = (MessageClass("message"),)


@dataclass(frozen=True, slots=True)
class VmaParameters:
    """Rates and times share one unit of time. For the closed form, numbers may be arrays.

    Times are exponential with these rates. Simulations take other distributions (`arrival` is the
    time between productions, `sender` and `broker` are service times) and several message classes.
    The closed form knows `gets_max`: a message is given up after so many gets.
    """

    arrival_rate: Number
    sender_rate: Number
    broker_rate: Number
    sender_threads: Number
    broker_threads: Number
    reliability: Number = 1.0
    order: Order = "out"
    failure: Failure = "ideal"
    visibility_timeout: Number = 0.0
    link_delay: Number = 0.0
    gets_max: Number = math.inf
    arrival: Distribution | None = None
    sender: Distribution | None = None
    broker: Distribution | None = None
    classes: tuple[MessageClass, ...] = ONE_CLASS

    def __post_init__(self) -> None:
        checks.not_negative(self.arrival_rate, "arrival_rate")
        for name in ("arrival", "sender", "broker"):
            times, rate = getattr(self, name), getattr(self, f"{name}_rate")
            if times is not None or name != "arrival":
                check_rate(rate, times, f"{name}_rate")
        checks.whole(self.sender_threads, "sender_threads", 1, THREADS_MAX)
        checks.whole(self.broker_threads, "broker_threads", 1, THREADS_MAX)
        checks.reliability(self.reliability)
        checks.not_negative(self.visibility_timeout, "visibility_timeout")
        checks.not_negative(self.link_delay, "link_delay")
        if self.order not in ORDERS:
            raise ModelParameterInvalid("order", repr(self.order), "'in' or 'out'")
        if self.failure not in FAILURES:
            raise ModelParameterInvalid("failure", repr(self.failure), "'ideal' or 'timer'")
        self._check_timeout()
        checks.names([each.name for each in self.classes], "classes", CLASSES_MAX)
        checks.shares([each.share for each in self.classes], "classes")

    def _check_timeout(self) -> None:
        """Refuses a timeout that no timer uses, and a timer without one."""
        timed, timeout = self.failure == "timer", np.asarray(self.visibility_timeout)
        if timed and not (timeout > 0).all():
            needed = "a time above 0 with failure 'timer'"
        elif not timed and (timeout > 0).any():
            needed = "failure 'timer', which alone uses it,"
        else:
            return
        raise ModelParameterInvalid("visibility_timeout", self.visibility_timeout, needed)

    @property
    def arrival_time(self) -> Distribution:
        return self.arrival or Exponential(1.0 / float(self.arrival_rate))

    @property
    def sender_time(self) -> Distribution:
        return self.sender or Exponential(1.0 / float(self.sender_rate))

    @property
    def broker_time(self) -> Distribution:
        return self.broker or Exponential(1.0 / float(self.broker_rate))

    @property
    def overloaded(self) -> tuple[str, ...]:
        """The stations that are offered at least as much work as they can do."""
        return tuple(name for name, load in self.utilisations.items() if not is_stable(load))

    @property
    def utilisations(self) -> dict[str, float]:
        """Work offered to each thread of the sender and of the broker.

        A message is served 1/reliability times by the broker. With exponential service, timeouts
        that end early add to that as `timers.py` has it; with other times they are not counted.
        """
        between = self.arrival_time.mean
        served_every = {"sender": between, "broker": between / self._gets_at_full_load()}
        return {station: self._load(station, every) for station, every in served_every.items()}

    def _gets_at_full_load(self) -> float:
        often = 1.0 / float(self.reliability)
        times = [self.broker, *(each.broker for each in self.classes)]
        if self.failure == "ideal" or not all(isinstance(t, Exponential | None) for t in times):
            return often
        if len(self.classes) > 1:
            return often
        numbers = (
            1.0 / self.arrival_time.mean,
            1.0 / (self.classes[0].broker or self.broker_time).mean,
            self.broker_threads,
            self.reliability,
            self.visibility_timeout,
            self.link_delay,
        )
        timed = TimedBroker(*(np.asarray(number, dtype=np.float64) for number in numbers))
        return float(timed.gets_at_full_load())

    def _load(self, station: str, every: float) -> float:
        """Work offered to each thread of a station that has to serve a message in such a time."""
        times = getattr(self, f"{station}_time")
        work = sum(each.share * (getattr(each, station) or times).mean for each in self.classes)
        return float(work / (every * float(getattr(self, f"{station}_threads"))))

    def check_simulable(self) -> None:
        """Refuses what only the closed form knows, and what no simulation can run."""
        if not math.isinf(float(self.gets_max)):
            raise ModelParameterInvalid("gets_max", f"{self.gets_max:g}", "the closed form")
        arrival: object = self.arrival
        if not isinstance(arrival, Distribution | None):
            needed = "a distribution of independent times, the only arrivals of this model,"
            raise ModelParameterInvalid("arrival", type(arrival).__name__, needed)
        if self.arrival is None:
            checks.positive(self.arrival_rate, "arrival_rate")
        elif not self.arrival.mean > 0:
            raise ModelParameterInvalid("arrival: mean", self.arrival.mean, "a time above 0")


def timed_vma(
    arrival: Distribution,
    sender: Distribution,
    broker: Distribution,
    sender_threads: int,
    broker_threads: int,
    reliability: float = 1.0,
    **others: Any,
) -> VmaParameters:
    """Parameters by distributions of times instead of rates; for simulations.

    `others` are further fields of `VmaParameters`.
    """
    times: dict[str, Any] = {"arrival": arrival, "sender": sender, "broker": broker}
    rates = {f"{name}_rate": rate_of(each) for name, each in times.items()}
    return VmaParameters(
        sender_threads=sender_threads,
        broker_threads=broker_threads,
        reliability=reliability,
        **(rates | times | others),
    )


PAPER: Final = VmaParameters(30.3, 10.0, 10.0, 5, 5, reliability=0.99)
"""λ = 30.3/s, μ = 10/s, five threads each: §7.1 of the paper."""
