"""Messages in hand: acknowledged in order, bounded, and forgotten with their connection."""

from dovemq.bridge.holding import HeldMessages
from dovemq.bridge.messages import MqttMessage


def message(number: int, qos: int = 1, size: int = 1) -> MqttMessage:
    return MqttMessage("t", b"x" * size, qos, number)


def ids(messages: list[MqttMessage]) -> list[int]:
    return [each.packet_id for each in messages]


def test_acknowledgements_are_in_the_order_of_the_deliveries() -> None:
    held = HeldMessages(10)
    first, second, third = (held.hold(message(number)) for number in (1, 2, 3))
    assert held.finish(second) == []
    assert ids(held.finish(first)) == [1, 2]
    assert ids(held.finish(third)) == [3]
    assert len(held) == 0


def test_message_of_qos_0_is_held_until_it_is_stored_and_never_acknowledged() -> None:
    held = HeldMessages(10)
    fleeting, lasting = held.hold(message(0, qos=0)), held.hold(message(1))
    assert len(held) == 2
    assert held.finish(fleeting) == []
    assert ids(held.finish(lasting)) == [1]


def test_lost_connection_takes_with_it_what_the_broker_repeats() -> None:
    held = HeldMessages(10)
    fleeting, lasting = held.hold(message(0, qos=0)), held.hold(message(1))
    held.lose_connection()
    assert (fleeting.wanted, lasting.wanted) == (True, False)
    assert len(held) == 1
    again = held.hold(message(1))
    assert held.finish(lasting) == []
    assert ids(held.finish(again)) == [1]


def test_bounds_count_messages_and_bytes() -> None:
    held = HeldMessages(2, bytes_max=100)
    first = held.hold(message(1))
    assert not held.is_full
    held.hold(message(2))
    assert (held.is_full, held.is_overfull) == (True, False)
    held.hold(message(3))
    assert held.is_overfull
    held.finish(first)
    assert not held.is_overfull
    held.lose_connection()
    large = held.hold(message(4, size=100))
    assert (len(held), held.is_overfull) == (1, True)
    held.finish(large)
    assert not held.is_full
