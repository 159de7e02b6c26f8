"""The cost of a queue's accesses by eq. 4 and 5 of the paper rds.

    R = E·c_e0 + D_h·c_dh0 + n·c_dh + D_m·c_dm0 + M·c_M

E messages are sent, D_h hits find n messages, D_m accesses miss, and the monitor looks M times at
one partition. The paper takes the constant cost of a hit once for each message, since it sets D_h
equal to E; here it is once for each hit, which is what its simulation and its text describe.
"""

from typing import Final

from msgspec import Struct


class DequeueCounts(Struct, frozen=True):
    """Numbers of sends, of hits and the messages that they found, of misses and of looks."""

    sent: int = 0
    hits: int = 0
    received: int = 0
    misses: int = 0
    looks: int = 0


class DequeueUnitCosts(Struct, frozen=True):
    """The cost of one of each, in any unit: seconds of a processor, or requests."""

    send: float
    hit: float
    message: float
    miss: float
    look: float = 0.0


PAPER_UNIT_COSTS: Final = DequeueUnitCosts(0.001, 0.02, 0.001, 0.02, 0.0001)
"""Table 1 of the paper, in seconds of a partition's server."""


class DequeueSummary(Struct, frozen=True):
    """The terms of the sum, each in the unit of the unit costs."""

    counts: DequeueCounts
    send_cost: float
    hit_cost: float
    message_cost: float
    miss_cost: float
    look_cost: float

    @property
    def total(self) -> float:
        dequeue = self.hit_cost + self.message_cost + self.miss_cost
        return self.send_cost + dequeue + self.look_cost

    @property
    def hit_rate(self) -> float | None:
        """The share of accesses that find messages; None without an access."""
        accesses = self.counts.hits + self.counts.misses
        return self.counts.hits / accesses if accesses else None

    @property
    def messages_per_hit(self) -> float | None:
        return self.counts.received / self.counts.hits if self.counts.hits else None

    @property
    def cost_per_message(self) -> float | None:
        """All costs divided by the messages received; None if there were none."""
        return self.total / self.counts.received if self.counts.received else None


def summarise(counts: DequeueCounts, costs: DequeueUnitCosts) -> DequeueSummary:
    return DequeueSummary(
        counts,
        counts.sent * costs.send,
        counts.hits * costs.hit,
        counts.received * costs.message,
        counts.misses * costs.miss,
        counts.looks * costs.look,
    )
