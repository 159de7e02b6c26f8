"""The tandem of 000 (VMA): sender threads, broker threads, losses, the visibility timeout.

Messages are produced, wait for one of n1 sender threads, pass the link, are visible at the broker,
wait for one of n2 broker threads and pass the link again. With probability q they are received;
else they become visible again: at once (`ideal`), or when the timeout that began with the get ends
(`timer`). A timeout shorter than the service expires early and makes the broker send twice.
`order` is what the broker may start: any visible message (`out`), or only the next one in the order
of production (`in`). Messages that are visible again go before all others of their priority.
"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from dovemq.models.simulation.checking import not_negative, positive, refuse, shares, whole
from dovemq.models.simulation.distributions import Distribution

Order: TypeAlias = Literal["in", "out"]
Recovery: TypeAlias = Literal["ideal", "timer"]

THREADS_MAX: Final = 1_000_000
CLASSES_MAX: Final = 100
PRIORITY_MAX: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class MessageClass:
    """Messages of one kind. The least priority number is served first; none interrupts another.

    Order, where it is kept, holds among the messages of equal priority. `sender` and `broker` are
    its service times where they differ from the tandem's.
    """

    name: str
    share: float = 1.0
    priority: int = 0
    sender: Distribution | None = None
    broker: Distribution | None = None

    def __post_init__(self) -> None:
        positive(f"class {self.name!r}: share", self.share)
        whole(f"class {self.name!r}: priority", self.priority, -PRIORITY_MAX, PRIORITY_MAX)


ONE_CLASS: Final = (MessageClass("message"),)


@dataclass(frozen=True, slots=True)
class Tandem:
    """`arrival`, `sender` and `broker` are times: between productions, and of service."""

    arrival: Distribution
    sender: Distribution
    broker: Distribution
    sender_threads: int
    broker_threads: int
    reliability: float = 1.0
    order: Order = "out"
    recovery: Recovery = "ideal"
    visibility_timeout: float = 0.0
    link_delay: float = 0.0
    classes: tuple[MessageClass, ...] = ONE_CLASS

    def __post_init__(self) -> None:
        positive("arrival: mean", self.arrival.mean)
        whole("sender_threads", self.sender_threads, 1, THREADS_MAX)
        whole("broker_threads", self.broker_threads, 1, THREADS_MAX)
        positive("reliability", self.reliability)
        if self.reliability > 1:
            refuse("reliability", self.reliability, "a probability above 0")
        if self.order not in ("in", "out"):
            refuse("order", self.order, "'in' or 'out'")
        if self.recovery not in ("ideal", "timer"):
            refuse("recovery", self.recovery, "'ideal' or 'timer'")
        not_negative("link_delay", self.link_delay)
        not_negative("visibility_timeout", self.visibility_timeout)
        if self.recovery == "timer" and not self.visibility_timeout:
            refuse("visibility_timeout", self.visibility_timeout, "a time above 0 with the timer")
        self._check_classes()

    def _check_classes(self) -> None:
        if not 1 <= len(self.classes) <= CLASSES_MAX:
            refuse("classes", len(self.classes), f"from 1 to {CLASSES_MAX} classes")
        names = [each.name for each in self.classes]
        if len(set(names)) < len(names):
            refuse("classes", names, "names that differ")
        shares("classes: shares", [each.share for each in self.classes])

    def sender_of(self, each: MessageClass) -> Distribution:
        return self.sender if each.sender is None else each.sender

    def broker_of(self, each: MessageClass) -> Distribution:
        return self.broker if each.broker is None else each.broker

    @property
    def sender_load(self) -> float:
        """Offered work per thread; from 1 on the queue grows without end."""
        work = sum(each.share * self.sender_of(each).mean for each in self.classes)
        return work / (self.arrival.mean * self.sender_threads)

    @property
    def broker_load(self) -> float:
        """By the mean number of leases, 1/q; a timeout that expires early adds to it."""
        work = sum(each.share * self.broker_of(each).mean for each in self.classes)
        return work / (self.reliability * self.arrival.mean * self.broker_threads)
