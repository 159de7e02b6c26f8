"""The parameters of the queue system of the paper `rds`, with its unknowns as options.

Messages are sent at equal times, each to an enqueue controller drawn at random, which puts it into
the queues in turn. Every back end has a dequeue controller of its own
and asks it for messages. A controller accesses queues one after another for a request, up to
`fanout` of them, until it has `wanted` messages. Each queue is served first come, first served, by
one server that does everything: it stores a message, finds nothing (a miss), finds messages (a hit,
with a cost for each message) or tells its length (a look). Times are in seconds.
"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from dovemq.models import checks
from dovemq.models.errors import ModelParameterInvalid

DequeueMethod: TypeAlias = Literal["conventional", "pms", "rds"]
METHODS: Final = ("conventional", "pms", "rds")
LOOPS: Final = ("open", "closed")
WAKES: Final = ("timer", "arrival")
QUEUES_MAX: Final = 62
"""The queues that a request has accessed are bits of one number."""
CONTROLLERS_MAX: Final = 10_000
WANTED_MAX: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class RdsParameters:
    """Table 1 of the paper, and what it leaves open.

    request_rate    λ: requests of one back end a second
    enqueue_rate    messages sent a second, to all queues together; not in the paper
    senders         if above 0: senders that send again as soon as their message is stored, instead
                    of the enqueue rate
    loop            `open`: requests are a Poisson process; `closed`: the next request follows an
                    exponential time after the answer. The paper says Poisson.
    sleep           rds: time for which a request that missed is parked
    wake            rds: `timer`, or `arrival`: a stored message also wakes the longest parked one
    parked_blocks   rds: a controller with a parked request refuses new ones
    period          pms: time between two looks of a controller at each queue; not in the paper
    regulation      pms: a controller asks no queue for more messages than it had at its last look
    """

    method: DequeueMethod
    request_rate: float
    enqueue_rate: float = 2_000.0
    senders: int = 0
    loop: Literal["open", "closed"] = "open"
    sleep: float = 1.0
    wake: Literal["timer", "arrival"] = "timer"
    parked_blocks: bool = True
    period: float = 1.0
    regulation: bool = False
    queues: int = 10
    controllers: int = 10
    fanout: int = 3
    wanted: int = 100
    enqueue_cost: float = 0.001
    hit_cost: float = 0.02
    message_cost: float = 0.001
    miss_cost: float = 0.02
    look_cost: float = 0.0001

    def __post_init__(self) -> None:
        _one_of("method", self.method, METHODS)
        _one_of("loop", self.loop, LOOPS)
        _one_of("wake", self.wake, WAKES)
        for name in ("request_rate", "enqueue_rate", "sleep", "period", "enqueue_cost", "hit_cost"):
            checks.positive(getattr(self, name), name)
        for name in ("message_cost", "miss_cost", "look_cost"):
            checks.not_negative(getattr(self, name), name)
        checks.whole(self.queues, "queues", 1, QUEUES_MAX)
        checks.whole(self.controllers, "controllers", 1, CONTROLLERS_MAX)
        checks.whole(self.fanout, "fanout", 1, QUEUES_MAX)
        checks.whole(self.senders, "senders", 0, CONTROLLERS_MAX)
        checks.whole(self.wanted, "wanted", 1, WANTED_MAX)

    @property
    def full_batches_rate(self) -> float:
        """The most messages a second that the queues can pass on, with full hits and no miss."""
        cost = self.enqueue_cost + self.message_cost + self.hit_cost / self.wanted
        return self.queues / cost


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ModelParameterInvalid(name, repr(value), "one of " + ", ".join(known))
