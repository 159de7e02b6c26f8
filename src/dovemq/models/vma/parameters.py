"""The parameters of the queue service `vma`: sender → broker → receiver, with retransmission."""

from dataclasses import dataclass
from math import inf
from typing import Final, Literal, TypeAlias

Order: TypeAlias = Literal["out", "in"]
ORDERS: Final = ("out", "in")


@dataclass(frozen=True, slots=True)
class VmaParameters:
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
