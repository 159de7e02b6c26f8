"""The service's own rules: receipts as text, attempts, bans, limits on extension."""

import asyncio

import pytest

from dovemq.core import limits
from dovemq.core.commands import Duplicate
from dovemq.core.errors import (
    Draining,
    InvalidValue,
    MessageGone,
    MessageNotLeased,
    PurgeInProgress,
    QueueDeletedRecently,
    QueueExists,
    QueueMissing,
    ReceiptExpired,
    ReceiptInvalid,
)
from tests.service.world import World, bodies, key


async def test_garbage_receipt_is_refused_and_the_rest_of_the_batch_is_done() -> None:
    world = World()
    queue = await world.queue("q")
    await world.send(queue, "a")
    [delivery] = await world.messages.receive(queue, 1)
    [bad, good] = await world.messages.settle(queue, ["garbage", delivery.receipt])
    assert isinstance(bad, ReceiptInvalid)
    assert good is None
    assert (await world.queues.counts(queue)).leased == 0


async def test_receipt_of_another_queue_is_refused() -> None:
    world = World()
    one, other = await world.queue("one"), await world.queue("other")
    await world.send(one, "a")
    [delivery] = await world.messages.receive(one, 1)
    [refused] = await world.messages.settle(other, [delivery.receipt])
    assert isinstance(refused, ReceiptInvalid)


async def test_fifo_settle_after_the_lease_has_ended_is_refused() -> None:
    world = World()
    queue = await world.queue("q.fifo", lease_ms=1_000)
    await world.send(queue, "a", group="g")
    [delivery] = await world.messages.receive(queue, 1)
    world.clock.advance(1_000)
    [refused] = await world.messages.settle(queue, [delivery.receipt])
    assert isinstance(refused, ReceiptExpired)


async def test_extension_distinguishes_gone_from_not_leased() -> None:
    world = World()
    queue = await world.queue("q", lease_ms=1_000)
    await world.send(queue, "a", "b")
    first, second = await world.messages.receive(queue, 2)
    await world.messages.settle(queue, [first.receipt])
    world.clock.advance(1_000)
    await world.messages.receive(queue, 1)
    world.clock.advance(1_000)
    changes = [(first.receipt, 5_000), (second.receipt, 5_000)]
    gone, not_leased = await world.messages.extend(queue, changes)
    assert isinstance(gone, MessageGone)
    assert isinstance(not_leased, MessageNotLeased)


async def test_a_lease_cannot_be_extended_beyond_twelve_hours_in_total() -> None:
    world = World()
    queue = await world.queue("q", lease_ms=60_000)
    await world.send(queue, "a")
    [delivery] = await world.messages.receive(queue, 1)
    world.clock.advance(1_000)
    twelve_hours_ms = limits.LEASE_MS.most
    [refused] = await world.messages.extend(queue, [(delivery.receipt, twelve_hours_ms)])
    assert isinstance(refused, InvalidValue)
    [done] = await world.messages.extend(queue, [(delivery.receipt, twelve_hours_ms - 1_000)])
    assert done is None


async def test_repeated_attempt_gets_the_same_messages_and_restarts_their_leases() -> None:
    world = World()
    queue = await world.queue("q.fifo", lease_ms=10_000)
    await world.send(queue, "a", "b", group="g")
    first = await world.messages.receive(queue, 2, attempt_id="x")
    world.clock.advance(6_000)
    again = await world.messages.receive(queue, 2, attempt_id="x")
    assert again == first
    world.clock.advance(6_000)
    assert (await world.queues.counts(queue)).leased == 2


async def test_attempt_is_void_once_a_message_of_it_was_settled() -> None:
    world = World()
    queue = await world.queue("q.fifo")
    await world.send(queue, "a", "b", group="g")
    first = await world.messages.receive(queue, 2, attempt_id="x")
    await world.messages.settle(queue, [first[0].receipt])
    assert await world.messages.receive(queue, 2, attempt_id="x") == []


async def test_released_delivery_is_as_if_it_had_not_been_received() -> None:
    world = World()
    queue = await world.queue("q")
    await world.send(queue, "a", "b")
    deliveries = await world.messages.receive(queue, 1)
    await world.messages.release(queue, deliveries)
    again = await world.messages.receive(queue, 2)
    assert bodies(again) == ["a", "b"]
    assert [delivery.lease.receive_count for delivery in again] == [1, 1]


async def test_create_is_idempotent_and_names_the_setting_that_differs() -> None:
    world = World()
    queue = await world.queue("q", delay_ms=1_000)
    assert await world.queue("q", delay_ms=1_000) == queue
    assert await world.queue("q") == queue
    with pytest.raises(QueueExists) as refused:
        await world.queue("q", delay_ms=2_000)
    assert refused.value.field == "delay_ms"


async def test_bans_hold_for_a_minute_when_strict() -> None:
    world = World(strict=True)
    queue = await world.queue("q")
    await world.queues.purge(queue.key)
    with pytest.raises(PurgeInProgress):
        await world.queues.purge(queue.key)
    world.clock.advance(limits.BAN_MS)
    await world.queues.purge(queue.key)
    await world.queues.remove(queue.key)
    with pytest.raises(QueueDeletedRecently):
        await world.queue("q")
    world.clock.advance(limits.BAN_MS)
    assert (await world.queue("q")).key == queue.key


async def test_names_can_be_used_again_at_once_by_default() -> None:
    world = World()
    queue = await world.queue("q")
    await world.queues.purge(queue.key)
    await world.queues.purge(queue.key)
    await world.queues.remove(queue.key)
    with pytest.raises(QueueMissing):
        await world.queues.find(queue.key)
    assert (await world.queue("q")).number != queue.number


async def test_purge_removes_leased_and_delayed_messages_too() -> None:
    world = World()
    queue = await world.queue("q")
    await world.send(queue, "a", "b")
    await world.send(queue, "later", delay_ms=5_000)
    await world.messages.receive(queue, 1)
    await world.queues.purge(queue.key)
    counts = await world.queues.counts(queue)
    assert (counts.visible, counts.leased, counts.delayed) == (0, 0, 0)


async def test_housekeeping_drops_what_outlived_its_retention() -> None:
    world = World()
    queue = await world.queue("q", retention_ms=60_000)
    await world.send(queue, "old")
    world.clock.advance(60_000)
    await world.send(queue, "new")
    await world.service.drop_expired()
    assert bodies(await world.messages.receive(queue, 10)) == ["new"]


async def test_housekeeping_keeps_deduplication_ids_for_their_whole_interval() -> None:
    world = World()
    queue = await world.queue("q.fifo", retention_ms=limits.MINUTE_MS)
    [first] = await world.send(queue, "a", group="g")
    world.clock.advance(2 * limits.MINUTE_MS)
    await world.service.drop_expired()
    assert await world.send(queue, "a", group="g") == [Duplicate(first.message_id, first.sequence)]


async def test_tags_are_added_and_removed() -> None:
    world = World()
    queue = await world.queue("q")
    await world.queues.retag(queue.key, {"a": "1", "b": "2"}, [])
    await world.queues.retag(queue.key, {"b": "3"}, ["a"])
    assert (await world.queues.find(queue.key)).tags == {"b": "3"}


def test_queue_keys_read_back_from_their_text() -> None:
    assert key("q").parse(str(key("q"))) == key("q")


async def test_store_is_closed_also_when_housekeeping_has_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    failed = asyncio.Event()

    def broken() -> None:
        failed.set()
        raise ValueError("a bug")

    monkeypatch.setattr("dovemq.service.HOUSEKEEPING_SECONDS", 0)
    monkeypatch.setattr(world.queues, "each", broken)
    await world.service.start()
    await failed.wait()
    await world.service.close()
    with pytest.raises(Draining):
        await world.queue("q")
