"""The parameters of the replicated queue of the paper `joram`. Times are in milliseconds.

Producers and consumers work in a closed loop, one message at a time: a pause, then a send or a
receive at their partition. A partition serves one operation after another. An operation takes
longer the more messages wait: by the share `slowdown` for each thousand. Pauses and services are
exponential.

The paper gives rates of the whole queue only, and two that contradict each other: 0.35 messages/ms
for two partitions in Fig. 9, and 1.9 for one in Fig. 10. Fig. 10 and 11 are read as 0.19 and 0.37,
which agrees with Fig. 9 and with runs of minutes: at 1.9, five producers of 10,000 messages would
need 26 s. So a message costs 1/0.19 ms of a partition. A receive takes twice as long as a send, and
a consumer's round twice as long as a producer's, since one producer needs two consumers. Two
producers with four consumers fill a partition, because the rate no longer grows after the second
step of Fig. 10.
"""

from dataclasses import dataclass
from typing import Final

from dovemq.models import checks

CEILING: Final = 0.19
"""Messages per millisecond that one partition can pass on, by Fig. 10."""


@dataclass(frozen=True, slots=True)
class JoramParameters:
    """`move_time` is the time that an exchanged message takes at its source, and at its target."""

    send_time: float = 1.0 / CEILING / 3.0
    receive_time: float = 2.0 / CEILING / 3.0
    producer_pause: float = 2.0 / CEILING - 1.0 / CEILING / 3.0
    consumer_pause: float = 4.0 / CEILING - 2.0 / CEILING / 3.0
    slowdown: float = 0.1
    move_time: float = 1.0 / CEILING / 3.0

    def __post_init__(self) -> None:
        for name in ("send_time", "receive_time", "move_time"):
            checks.positive(getattr(self, name), name)
        for name in ("producer_pause", "consumer_pause", "slowdown"):
            checks.not_negative(getattr(self, name), name)

    @property
    def ceiling(self) -> float:
        """Messages per millisecond that a partition with few waiting messages can pass on."""
        return 1.0 / (self.send_time + self.receive_time)


def with_group_demand(share: float) -> JoramParameters:
    """Parameters by which a producer with two consumers would use this share of a partition.

    The share is that of clients that never wait for each other.
    """
    checks.positive(share, "share")
    usual = JoramParameters()
    round_time = 1.0 / (share * usual.ceiling)
    return JoramParameters(
        producer_pause=max(round_time - usual.send_time, 0.0),
        consumer_pause=max(2.0 * round_time - usual.receive_time, 0.0),
    )
