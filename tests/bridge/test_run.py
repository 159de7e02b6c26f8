"""The bridge between a fake broker and fake queues: acknowledgements, bounds, losses, the end."""

import asyncio

import pytest

from dovemq.bridge.errors import BrokerRefused, BrokerUnreachable, QueueUnusable
from dovemq.bridge.run import REPORTED_MAX
from dovemq.client.errors import Refused, Unreachable
from dovemq.core import limits
from tests.bridge.fakes import World, until

SENSORS = [("sensors/#", "readings")]


async def test_message_is_acknowledged_after_it_is_stored() -> None:
    async with World(SENSORS) as world:
        link = world.broker.link
        world.queues.open.clear()
        link.deliver("sensors/1", "21.5")
        await until(lambda: len(world.queues.requests) == 1)
        assert link.answered == []
        world.queues.open.set()
        await until(lambda: link.answered == [1])
        assert world.queues.bodies("readings") == ["21.5"]


async def test_message_of_two_routes_is_acknowledged_after_both_have_stored_it() -> None:
    async with World([("a/#", "all"), ("a/b", "some.fifo")]) as world:
        world.queues.refusals["x"] = ("InternalError", False)
        world.broker.link.deliver("a/b", "x")
        await until(lambda: len(world.queues.requests) > 2)
        assert world.broker.link.answered == []
        world.queues.refusals.clear()
        await until(lambda: world.broker.link.answered == [1])
        assert world.queues.bodies("all") == world.queues.bodies("some.fifo") == ["x"]
        assert world.counts.stored == 2


async def test_resumed_session_ends_subscriptions_that_would_overlap_or_are_not_needed() -> None:
    world = World([("a/#", "all"), ("a/b", "some")], unsubscribe=["old/#"])
    world.broker.has_session = True
    async with world:
        assert [each.text for each in world.broker.link.subscribed] == ["a/#"]
        assert world.broker.link.unsubscribed == ["old/#", "a/b"]


async def test_nothing_is_acknowledged_while_the_server_is_away() -> None:
    async with World(SENSORS) as world:
        world.queues.failure = Unreachable("http://test", "connection refused")
        for number in range(20):
            world.broker.link.deliver("sensors/1", str(number))
        await until(lambda: len(world.queues.requests) > 8)
        assert world.broker.link.answered == []
        world.queues.failure = None
        await until(lambda: len(world.broker.link.answered) == 20)
        assert world.broker.link.answered == list(range(1, 21))


async def test_lost_connection_is_made_again_and_old_messages_are_not_answered_there() -> None:
    async with World(SENSORS) as world:
        first = world.broker.link
        world.queues.failure = Unreachable("http://test", "connection refused")
        first.deliver("sensors/1", "x")
        await until(lambda: len(world.queues.requests) > 0)
        world.broker.has_session = True
        first.lose()
        await until(lambda: world.counts.connections == 2)
        second = world.broker.link
        second.deliver("sensors/1", "x")
        world.queues.failure = None
        await until(lambda: second.answered == [1])
        assert (first.answered, first.closed) == ([], True)
        assert world.queues.bodies() == ["x"]
        assert world.counts.sessions_lost == 0


async def test_message_that_arrives_while_the_connection_ends_is_left_to_the_broker() -> None:
    async with World(SENSORS) as world:
        first = world.broker.link
        first.at_close = lambda: first.deliver("sensors/1", "late")
        first.lose()
        await until(lambda: world.counts.connections == 2)
        assert (world.counts.received, world.queues.requests) == (0, [])


async def test_session_that_the_broker_has_lost_is_reported() -> None:
    async with World(SENSORS) as world:
        world.broker.link.lose()
        await until(lambda: world.counts.connections == 2)
        assert world.counts.sessions_lost == 1
        assert any("lost the session" in text for text in world.reports)
        assert world.broker.link.subscribed


@pytest.mark.parametrize(("protocol", "repeated"), [("5", True), ("3.1.1", False)])
async def test_resumed_session_is_subscribed_again_only_where_that_repeats_no_messages(
    protocol: str, repeated: bool
) -> None:
    async with World(SENSORS, protocol=protocol) as world:
        world.broker.has_session = True
        world.broker.link.lose()
        await until(lambda: world.counts.connections == 2)
        assert bool(world.broker.link.subscribed) == repeated


async def test_broker_that_is_away_is_tried_again() -> None:
    world = World(SENSORS)
    world.broker.failures = [BrokerUnreachable("mqtt://test", "refused") for _ in range(9)]
    async with world:
        assert world.broker.opened == 10
    pauses = [text.rpartition("trying again in ")[2] for text in world.reports[:9]]
    assert pauses[:3] == ["0.5 s", "1 s", "2 s"]
    assert pauses[-1] == "30 s"


async def test_broker_that_refuses_ends_the_bridge_at_the_start_and_not_later() -> None:
    refusal = BrokerRefused("mqtt://test", "not authorised", "check the password")
    world = World(SENSORS)
    world.broker.failures = [refusal]
    with pytest.raises(BrokerRefused):
        async with world:
            pass
    async with World(SENSORS) as later:
        later.broker.failures = [refusal]
        later.broker.link.lose()
        await until(lambda: later.counts.connections == 2)
        assert any("not authorised" in text for text in later.reports)


async def test_client_id_that_another_client_takes_ends_the_bridge() -> None:
    world = await World(SENSORS).__aenter__()
    world.broker.link.lose(BrokerRefused("mqtt://test", "taken over", "choose another id"))
    with pytest.raises(BrokerRefused, match="another id"):
        await world.running


async def test_queue_that_accepts_nothing_ends_the_bridge_without_an_acknowledgement() -> None:
    world = await World(SENSORS).__aenter__()
    world.queues.failure = Refused(403, "AccessDenied", "no", "")
    world.broker.link.deliver("sensors/1", "x")
    with pytest.raises(QueueUnusable):
        await world.running
    assert (world.broker.link.answered, world.broker.link.closed) == ([], True)


async def test_refused_message_is_counted_reported_without_its_body_and_acknowledged() -> None:
    async with World(SENSORS) as world:
        world.queues.refusals["secret"] = ("InvalidMessageContents", True)
        world.broker.link.deliver("sensors/1", "secret")
        await until(lambda: world.broker.link.answered == [1])
        assert (world.counts.refused, world.counts.discarded) == (1, 1)
    [told] = [text for text in world.reports if "refuses it" in text]
    assert "sensors/1" in told
    assert "secret" not in told


async def test_refused_message_goes_to_the_queue_for_these_with_the_reason() -> None:
    async with World(SENSORS, refused_queue="refused") as world:
        world.queues.refusing = "/readings"
        world.queues.refusals["x"] = ("InvalidMessageContents", True)
        world.broker.link.deliver("sensors/1", "x")
        await until(lambda: world.broker.link.answered == [1])
        assert (world.counts.refused, world.counts.discarded) == (1, 0)
        [(queue, entry)] = world.queues.stored
        assert queue.endswith("/refused")
        assert entry.message_attributes is not None
        assert entry.message_attributes["mqtt.refused"].string_value == "InvalidMessageContents"


async def test_message_that_no_queue_accepts_is_discarded_and_holds_nothing_up() -> None:
    async with World(SENSORS, refused_queue="refused") as world:
        world.queues.refusals["x"] = ("InvalidMessageContents", True)
        for body in ("x", "y" * limits.MESSAGE_BYTES.most, "z"):
            world.broker.link.deliver("sensors/1", body)
        await until(lambda: world.broker.link.answered == [1, 2, 3])
        assert (world.counts.refused, world.counts.discarded) == (2, 2)
        assert world.queues.bodies() == ["z"]


async def test_message_without_a_route_is_acknowledged_and_counted() -> None:
    async with World(SENSORS) as world:
        for _ in range(REPORTED_MAX + 5):
            world.broker.link.deliver("old/topic", "x")
        await until(lambda: len(world.broker.link.answered) == REPORTED_MAX + 5)
        assert world.counts.unrouted == REPORTED_MAX + 5
    assert sum("matches no route" in text for text in world.reports) == REPORTED_MAX


async def test_reading_stops_while_too_many_messages_are_in_hand() -> None:
    async with World(SENSORS, in_flight_max=2) as world:
        world.queues.open.clear()
        for number in range(3):
            assert world.broker.link.reading
            world.broker.link.deliver("sensors/1", str(number))
        assert not world.broker.link.reading
        world.queues.open.set()
        await until(lambda: len(world.broker.link.answered) == 3)
        assert world.broker.link.reading


async def test_message_of_qos_0_is_dropped_when_too_many_are_in_hand() -> None:
    async with World(SENSORS, in_flight_max=2) as world:
        world.queues.open.clear()
        for number in range(5):
            world.broker.link.deliver("sensors/1", str(number), 0)
        assert world.counts.dropped == 3
        world.queues.open.set()
        await until(lambda: world.counts.stored == 2)
        assert world.broker.link.answered == []


async def test_stopped_bridge_stores_what_it_has_received_and_takes_no_more() -> None:
    async with World(SENSORS) as world:
        world.queues.open.clear()
        for number in range(30):
            world.broker.link.deliver("sensors/1", str(number))
        world.stopped.set()
        for _ in range(10):
            await asyncio.sleep(0)
        world.broker.link.deliver("sensors/1", "later")
        world.queues.open.set()
    assert world.counts.acknowledged == world.counts.stored == 30
    assert world.broker.link.answered == list(range(1, 31))
    assert world.broker.link.closed


async def test_clean_start_ends_the_old_session_once() -> None:
    async with World(SENSORS, clean_start=True) as world:
        assert [link.clean for link in world.broker.links] == [True, False]
        assert world.broker.links[0].closed
        world.broker.link.lose()
        await until(lambda: world.counts.connections == 2)
        assert [link.clean for link in world.broker.links] == [True, False, False]
