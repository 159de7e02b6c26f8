"""The consistency metrics of `bdqs`, §V.A: names and definitions.

A *stream* is all messages that one sender sent to one queue, numbered by the sender as it sent
them; all receivers of the queue count together. The counts of several streams add up, so that each
message has the same weight.
"""

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Final

METRICS: Final[Mapping[str, str]] = {
    "duplication_rate": "λ = M_dup / M: receives beyond the first of each message, per message "
    "sent",
    "loss_rate": "ε = M_loss / M: messages that were not received at all, or never with the "
    "checksum they were sent with, per message sent",
    "out_of_order_rate": "the least number of received messages that must be moved to put each "
    "stream in order, per message received: those outside the longest increasing subsequence",
    "average_displacement": "mean distance between the position at which a message was received "
    "in its stream and its position among the messages received of that stream in order",
}
"""The last two leave out repeated receives: a message has the position of its first receive."""


@dataclass(frozen=True, slots=True)
class Consistency:
    """The counts that the metrics are ratios of.

    `messages` is M, `ordered` the messages that take part in the order metrics, `displacement`
    the sum of their distances. A message of `corrupted` was received, but never intact.
    """

    messages: int = 0
    duplicates: int = 0
    absent: int = 0
    corrupted: int = 0
    ordered: int = 0
    out_of_order: int = 0
    displacement: int = 0

    @property
    def lost(self) -> int:
        return self.absent + self.corrupted

    @property
    def duplication_rate(self) -> float:
        return _rate(self.duplicates, self.messages)

    @property
    def loss_rate(self) -> float:
        return _rate(self.lost, self.messages)

    @property
    def out_of_order_rate(self) -> float:
        return _rate(self.out_of_order, self.ordered)

    @property
    def average_displacement(self) -> float:
        return _rate(self.displacement, self.ordered)

    @property
    def rates(self) -> dict[str, float]:
        """The rates by the names of `METRICS`."""
        return {name: getattr(self, name) for name in METRICS}

    def __add__(self, other: "Consistency") -> "Consistency":
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Consistency(*(mine + theirs for mine, theirs in pairs))


def _rate(count: int, of: int) -> float:
    return count / of if of else 0.0
