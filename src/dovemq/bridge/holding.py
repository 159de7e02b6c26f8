"""The messages between broker and queues: their bounds, and the order of acknowledgements."""

from collections import deque
from dataclasses import dataclass
from typing import Final

from dovemq.bridge.messages import MqttMessage

BYTES_HELD_MAX: Final = 64 << 20
"""Payloads in memory at which the bridge stops reading from the broker. One more may come."""


@dataclass(slots=True, eq=False)
class HeldMessage:
    """A message that was received and not yet acknowledged.

    `copies_left` counts the queues that have not stored it. It is no longer `wanted` after its
    connection was lost, since the broker delivers it again; nothing repeats QoS 0.
    """

    message: MqttMessage
    copies_left: int = 0
    done: bool = False
    wanted: bool = True


class HeldMessages:
    """All messages in hand.

    MQTT wants acknowledgements in the order of the deliveries, so a message that is done waits for
    the ones before it.
    """

    def __init__(self, count_max: int, bytes_max: int = BYTES_HELD_MAX) -> None:
        self._count_max = count_max
        self._bytes_max = bytes_max
        self._unanswered: deque[HeldMessage] = deque()
        self._unrepeated: set[HeldMessage] = set()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._unanswered) + len(self._unrepeated)

    @property
    def is_full(self) -> bool:
        return len(self) >= self._count_max or self._bytes >= self._bytes_max

    @property
    def is_overfull(self) -> bool:
        """Whether reading must stop.

        A broker of MQTT 5 sends at most `count_max` messages without an answer, so this is about
        brokers of MQTT 3.1.1 and about large payloads.
        """
        return len(self) > self._count_max or self._bytes >= self._bytes_max

    def hold(self, message: MqttMessage) -> HeldMessage:
        held = HeldMessage(message)
        self._bytes += len(message.payload)
        if message.qos:
            self._unanswered.append(held)
        else:
            self._unrepeated.add(held)
        return held

    def finish(self, held: HeldMessage) -> list[MqttMessage]:
        """The messages that can now be acknowledged, in this order."""
        held.done = True
        if held in self._unrepeated:
            self._unrepeated.remove(held)
            self._bytes -= len(held.message.payload)
        ready: list[MqttMessage] = []
        while self._unanswered and self._unanswered[0].done:
            ready.append(self._unanswered.popleft().message)
        self._bytes -= sum(len(message.payload) for message in ready)
        return ready

    def lose_connection(self) -> None:
        """Forget what the broker will deliver again."""
        for held in self._unanswered:
            held.wanted = False
            self._bytes -= len(held.message.payload)
        self._unanswered.clear()
