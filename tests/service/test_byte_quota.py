"""The quota of bytes that the queues of an account may hold."""

import asyncio
import random
from collections.abc import Sequence

import pytest

from dovemq.core import limits
from dovemq.core.accounts import Quotas
from dovemq.core.commands import Draft, Duplicate, Sent
from dovemq.core.errors import QuotaReached, StoreFull
from dovemq.core.queue import Queue, QueueKey, Redrive
from dovemq.core.sending import new_draft
from dovemq.service.quotas import MEASURED_MS_MAX, MEASURED_MS_MIN
from tests.service.account_world import AccountWorld, in_loop

NUMBER = "111122223333"
OTHER = "444455556666"
BODY = "x" * (1_024 - limits.STORED_OVERHEAD_BYTES)
EACH = 1_024


async def _queue(world: AccountWorld, name: str = "jobs", **changes: object) -> Queue:
    if name.endswith(".fifo"):
        changes = {"fifo": True, "content_deduplication": True, **changes}
    return await world.service.queues.create(QueueKey(NUMBER, name), changes, {})


async def _limited(world: AccountWorld, messages_max: int) -> Queue:
    quotas = Quotas(bytes_max=messages_max * EACH)
    await world.accounts.add("team", number=NUMBER, quotas=quotas)
    return await _queue(world)


def _drafts(queue: Queue, *ids: str) -> list[Draft]:
    group = "g" if queue.settings.fifo else None
    return [new_draft(queue, message_id=each, body=BODY, sender=OTHER, group=group) for each in ids]


async def _send(world: AccountWorld, queue: Queue, count: int = 1) -> list[Sent | Duplicate]:
    ids = [f"m{number}" for number in range(count)]
    return await world.service.messages.send(queue, _drafts(queue, *ids))


async def _stored(world: AccountWorld, queue: Queue) -> int:
    return (await world.service.queues.counts(queue)).bytes


async def _settle(world: AccountWorld, queue: Queue, count: int) -> None:
    taken = await world.service.messages.receive(queue, count)
    await world.service.messages.settle(queue, [delivery.receipt for delivery in taken])


@in_loop
async def test_send_beyond_the_quota_is_refused_with_quota_and_use(world: AccountWorld) -> None:
    queue = await _limited(world, 3)
    for _ in range(3):
        await _send(world, queue)
    with pytest.raises(QuotaReached, match="bytes_max=3072: 3072 in use, 1024 more asked for"):
        await _send(world, queue)
    assert await _stored(world, queue) == 3 * EACH


@in_loop
async def test_batch_that_does_not_fit_is_refused_as_a_whole(world: AccountWorld) -> None:
    queue = await _limited(world, 5)
    await _send(world, queue, 3)
    with pytest.raises(QuotaReached):
        await _send(world, queue, 3)
    assert await _stored(world, queue) == 3 * EACH
    await _send(world, queue, 2)


@in_loop
async def test_bytes_of_all_queues_of_the_owner_count(world: AccountWorld) -> None:
    first = await _limited(world, 3)
    second = await _queue(world, "more.fifo")
    await _send(world, first, 2)
    await _send(world, second)
    for queue in (first, second):
        with pytest.raises(QuotaReached):
            await _send(world, queue)


@in_loop
async def test_other_accounts_are_not_counted_nor_limited(world: AccountWorld) -> None:
    queue = await _limited(world, 1)
    theirs = await world.service.queues.create(QueueKey(OTHER, "jobs"), {}, {})
    await _send(world, theirs, 9)
    await _send(world, queue)
    await _send(world, theirs, 9)


@in_loop
async def test_settled_messages_make_room_when_they_are_measured_again(
    world: AccountWorld,
) -> None:
    queue = await _limited(world, 3)
    await _send(world, queue, 3)
    await _settle(world, queue, 2)
    world.clock.advance(MEASURED_MS_MIN)
    await _send(world, queue, 2)
    with pytest.raises(QuotaReached):
        await _send(world, queue)


@in_loop
async def test_account_at_its_quota_is_not_measured_at_each_send(world: AccountWorld) -> None:
    queue = await _limited(world, 3)
    await _send(world, queue, 3)
    await _settle(world, queue, 3)
    world.clock.advance(MEASURED_MS_MIN - 1)
    with pytest.raises(QuotaReached):
        await _send(world, queue)
    world.clock.advance(1)
    await _send(world, queue, 3)


@in_loop
async def test_account_below_its_quota_is_seldom_measured(world: AccountWorld) -> None:
    queue = await _limited(world, 1_000)
    world.catalogue.pages = 0
    for _ in range(50):
        await _send(world, queue)
        world.clock.advance(MEASURED_MS_MAX // 100)
    assert 0 < world.catalogue.pages <= 4


@in_loop
async def test_messages_that_came_another_way_are_found(world: AccountWorld) -> None:
    queue = await _limited(world, 3)
    await _send(world, queue)
    partition = world.store.partition(queue, 0)
    await partition.send(_drafts(queue, "a", "b"), world.clock.now_ms())
    world.clock.advance(MEASURED_MS_MAX)
    with pytest.raises(QuotaReached):
        await _send(world, queue)


@in_loop
async def test_purged_queue_makes_room(world: AccountWorld) -> None:
    queue = await _limited(world, 1)
    await _send(world, queue)
    await world.service.queues.purge(queue.key)
    world.clock.advance(MEASURED_MS_MIN)
    await _send(world, queue)


@in_loop
async def test_removed_queue_makes_room_for_bytes(world: AccountWorld) -> None:
    await _limited(world, 1)
    second = await _queue(world, "second")
    await _send(world, second)
    await world.service.queues.remove(second.key)
    world.clock.advance(MEASURED_MS_MIN)
    await _send(world, await _queue(world))


@in_loop
async def test_duplicate_takes_no_room(world: AccountWorld) -> None:
    await _limited(world, 2)
    queue = await _queue(world, "jobs.fifo")
    for _ in range(5):
        [answer] = await _send(world, queue)
        world.clock.advance(1)
    assert isinstance(answer, Duplicate)


@in_loop
async def test_send_that_failed_takes_no_room(world: AccountWorld) -> None:
    queue = await _limited(world, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.store.partition(queue, 0), "send", _full)
        for _ in range(3):
            with pytest.raises(StoreFull):
                await _send(world, queue)
    await _send(world, queue)


async def _full(drafts: Sequence[Draft], now_ms: int) -> list[Sent | Duplicate]:
    raise StoreFull()


@in_loop
async def test_sends_under_way_count(world: AccountWorld) -> None:
    queue = await _limited(world, 3)
    partition = world.store.partition(queue, 0)
    send, gate = partition.send, asyncio.Event()

    async def slow(drafts: Sequence[Draft], now_ms: int) -> list[Sent | Duplicate]:
        await gate.wait()
        return await send(drafts, now_ms)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition, "send", slow)
        sends = [asyncio.ensure_future(_send(world, queue)) for _ in range(10)]
        await asyncio.sleep(0)
        world.clock.advance(MEASURED_MS_MIN)
        with pytest.raises(QuotaReached):
            await _send(world, queue)
        sends[0].cancel()
        gate.set()
        outcomes = await asyncio.gather(*sends, return_exceptions=True)
    refused = [outcome for outcome in outcomes if isinstance(outcome, QuotaReached)]
    assert len(refused) == 7
    assert await _stored(world, queue) == 2 * EACH


@in_loop
async def test_quota_may_be_set_changed_and_taken_away(world: AccountWorld) -> None:
    queue = await _limited(world, 1)
    await _send(world, queue)
    with pytest.raises(QuotaReached):
        await _send(world, queue)
    await world.accounts.change(NUMBER, quotas=Quotas(bytes_max=2 * EACH))
    await _send(world, queue)
    await world.accounts.change(NUMBER, quotas=Quotas())
    await _send(world, queue, 8)
    await world.accounts.change(NUMBER, quotas=Quotas(bytes_max=9 * EACH))
    world.clock.advance(MEASURED_MS_MAX)
    with pytest.raises(QuotaReached, match="10240 in use"):
        await _send(world, queue)


@in_loop
async def test_dead_letters_are_moved_at_the_quota(world: AccountWorld) -> None:
    await _limited(world, 1)
    dead = await _queue(world, "dead")
    work = await _queue(world, "work", redrive=Redrive(dead.key, 1), lease_ms=0)
    await _send(world, work)
    for _ in range(2):
        await world.service.messages.receive(work, 1)
    assert await _stored(world, dead) == EACH
    assert await _stored(world, work) == 0


@in_loop
async def test_quota_is_never_exceeded_whatever_is_sent_and_settled(world: AccountWorld) -> None:
    queue = await _limited(world, 20)
    rng = random.Random(3)
    refused = 0
    for _ in range(400):
        world.clock.advance(rng.choice((1, 10, 100, 300)))
        if rng.random() < 0.3:
            await _settle(world, queue, rng.randrange(1, 11))
            continue
        sends = (_send(world, queue, rng.randrange(1, 6)) for _ in range(3))
        outcomes = await asyncio.gather(*sends, return_exceptions=True)
        refused += sum(isinstance(outcome, QuotaReached) for outcome in outcomes)
        assert await _stored(world, queue) <= 20 * EACH
    assert refused
