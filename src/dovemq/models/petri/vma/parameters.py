"""The parameters of the VMA net: rates, threads, reliability, order, service and classes.

Times inside the net are whole milliseconds; rates are per second. Owns what is refused: a rate of
0 or less, a probability that is none, a class without a share. Refuses to judge stability: a net
may be run for a while in overload.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from dovemq.models.petri.errors import NetInvalid, Where

WHERE: Final = Where("VMA", part="parameters")
Order = Literal["out", "in"]
Mode = Literal["ideal", "timer"]


@dataclass(frozen=True, slots=True)
class Service:
    """A distribution of service times: its expression in the net, in milliseconds, and its mean."""

    expression: str
    mean_ms: float


def exponential(rate: float) -> Service:
    """`rate` per second, as in all of these."""
    _positive("a service rate", rate)
    return Service(f"exponential({rate / 1_000!r})", 1_000 / rate)


def erlang(stages: int, rate: float) -> Service:
    """So many stages, each of `rate`."""
    _positive("a service rate", rate)
    _positive("the number of stages", stages)
    return Service(f"erlang({stages}, {rate / 1_000!r})", stages * 1_000 / rate)


def gamma(shape: float, rate: float) -> Service:
    _positive("a service rate", rate)
    _positive("a shape", shape)
    return Service(f"gamma({shape!r}, {rate / 1_000!r})", shape * 1_000 / rate)


def hyperexponential(shares: Sequence[float], rates: Sequence[float]) -> Service:
    for rate in rates:
        _positive("a service rate", rate)
    if len(shares) != len(rates) or not math.isclose(sum(shares), 1) or min(shares) < 0:
        raise NetInvalid(WHERE, "shares of phases are one for each rate, and 1 in all")
    slow = [rate / 1_000 for rate in rates]
    mean = sum(share / rate for share, rate in zip(shares, slow, strict=True))
    return Service(f"hyperexponential({list(shares)!r}, {slow!r})", mean)


def deterministic(duration_ms: int) -> Service:
    if duration_ms < 0:
        raise NetInvalid(WHERE, f"a service time is never below 0, as {duration_ms} is")
    return Service(f"{float(duration_ms)!r}", float(duration_ms))


def empirical(durations_ms: Sequence[float]) -> Service:
    """One of the durations that were measured, each as likely as the others."""
    if not durations_ms or not all(0 <= each < math.inf for each in durations_ms):
        raise NetInvalid(WHERE, "durations are numbers of at least 0, and there must be some")
    listed = [float(each) for each in durations_ms]
    return Service(f"pick({listed!r})", sum(listed) / len(listed))


@dataclass(frozen=True, slots=True)
class MessageClass:
    """Lower `priority` is served first. Without services of its own: those of the parameters."""

    name: str
    share: float = 1.0
    priority: int = 0
    send: Service | None = None
    broker: Service | None = None


@dataclass(frozen=True, slots=True)
class VmaParameters:
    """`ideal`: a loss is known at once. `timer`: only when `visibility_ms` from the get is over."""

    arrival_rate: float = 30.3
    send: Service = field(default_factory=lambda: exponential(10))
    broker: Service = field(default_factory=lambda: exponential(10))
    sender_threads: int = 5
    broker_threads: int = 5
    reliability: float = 0.99
    order: Order = "out"
    mode: Mode = "ideal"
    visibility_ms: int = 30_000
    link_ms: int = 0
    classes: tuple[MessageClass, ...] = (MessageClass("A"), MessageClass("B", 0.0))

    def __post_init__(self) -> None:
        _positive("the arrival rate", self.arrival_rate)
        _positive("the sender's threads", self.sender_threads)
        _positive("the broker's threads", self.broker_threads)
        if not 0 < self.reliability <= 1:
            raise NetInvalid(WHERE, f"reliability is above 0 and at most 1, not {self.reliability}")
        if self.order not in ("out", "in") or self.mode not in ("ideal", "timer"):
            raise NetInvalid(WHERE, "order is out or in, mode is ideal or timer")
        if self.visibility_ms < 0 or self.link_ms < 0:
            raise NetInvalid(WHERE, "the visibility timeout and the link's delay are at least 0")
        self._check_classes()

    def _check_classes(self) -> None:
        names = [each.name for each in self.classes]
        shares = [each.share for each in self.classes]
        if not names or len(set(names)) < len(names):
            raise NetInvalid(WHERE, "message classes need names, each its own")
        if not math.isclose(sum(shares), 1) or min(shares) < 0:
            raise NetInvalid(WHERE, "the shares of the classes are 1 in all")
        if self.order == "in" and self.prioritised:
            raise NetInvalid(WHERE, "in order, no message is served before an older one: "
                             "classes cannot differ in priority")  # fmt: skip

    @property
    def used_classes(self) -> tuple[MessageClass, ...]:
        return tuple(each for each in self.classes if each.share > 0)

    @property
    def prioritised(self) -> bool:
        return len({each.priority for each in self.used_classes}) > 1


def _positive(what: str, value: float) -> None:
    if not 0 < value < math.inf:
        raise NetInvalid(WHERE, f"{what} must be above 0, not {value}")
