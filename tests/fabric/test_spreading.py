"""How sends are spread, and how everything else finds its partition."""

import random

import pytest

from dovemq.core import limits
from dovemq.core.commands import Extension, Peek, Settlement, Transfer
from dovemq.core.errors import LimitReached
from dovemq.core.observing import Observer
from dovemq.core.ports import Store
from dovemq.fabric.store import FabricStore
from dovemq.stores.owned.logged.ports import Database
from dovemq.testing.clock import ManualClock
from dovemq.testing.memory_database import MemoryDatabase, MemoryDatabaseState
from tests.contract.shared import SharedOpener
from tests.contract.spread import settings_of
from tests.contract.world import World
from tests.fabric.spread import SpreadWorld, bodies


async def test_requests_go_to_the_partitions_in_turn() -> None:
    world = await SpreadWorld().start()
    for body in "abcdefgh":
        await world.send(body)
    assert await world.visible() == [2, 2, 2, 2]


async def test_batch_stays_together() -> None:
    world = await SpreadWorld().start()
    await world.send(*"abcdefgh")
    assert sorted(await world.visible()) == [0, 0, 0, 8]


async def test_messages_of_a_group_are_in_one_partition() -> None:
    world = await SpreadWorld().start()
    for body in "abcdefgh":
        await world.send(body, group="tenant")
    assert sorted(await world.visible()) == [0, 0, 0, 8]


async def test_groups_of_one_batch_are_spread_and_answered_in_order() -> None:
    world = await SpreadWorld().start()
    drafts = [world.draft(str(number), group=f"tenant-{number}") for number in range(40)]
    answers = await world.whole.send(drafts, world.clock.now_ms())
    assert [answer.message_id for answer in answers] == [draft.message_id for draft in drafts]
    assert min(await world.visible()) > 0


async def test_sends_prefer_the_partitions_of_this_front_end() -> None:
    world = await SpreadWorld(is_local=lambda _, number: number in (1, 3)).start()
    for body in "abcdef":
        await world.send(body)
    assert await world.visible() == [0, 3, 0, 3]


async def test_front_end_without_partitions_sends_to_all() -> None:
    world = await SpreadWorld(is_local=lambda _, number: False).start()
    for body in "abcd":
        await world.send(body)
    assert await world.visible() == [1, 1, 1, 1]


async def test_receives_prefer_own_partitions_but_starve_none() -> None:
    world = await SpreadWorld(is_local=lambda _, number: number == 0, dequeue_fanout=1).start()
    await world.send_to(0, *map(str, range(100)))
    await world.send_to(3, "far")
    received = [body for _ in range(40) for body in bodies(await world.take(1))]
    assert "far" in received
    assert len(received) > 30


async def test_receives_seldom_begin_elsewhere_while_that_finds_no_backlog() -> None:
    world = await SpreadWorld(is_local=lambda _, number: number == 0, dequeue_fanout=1).start()
    await world.send_to(0, *map(str, range(1_000)))
    received = [body for _ in range(1_000) for body in bodies(await world.take(1))]
    # Three looks for each of the paces 8, 16 and 32, then one in 64.
    assert 1_000 - len(received) == 9 + (1_000 - 3 * (8 + 16 + 32)) // 64


async def test_receives_begin_elsewhere_often_while_that_finds_a_backlog() -> None:
    world = await SpreadWorld(is_local=lambda _, number: number == 0, dequeue_fanout=1).start()
    await world.send_to(0, *map(str, range(1_000)))
    await world.send_to(3, *["far"] * 100)
    received = [body for _ in range(700) for body in bodies(await world.take(1))]
    assert 700 // 8 // 3 <= received.count("far") <= 700 // 8


async def test_receipts_name_their_partition() -> None:
    world = await SpreadWorld(dequeue_fanout=4).start()
    for body in "abcd":
        await world.send(body)
    leases = await world.take(4)
    receipts = [lease.receipt for lease in leases]
    assert sorted(receipt.partition for receipt in receipts) == [0, 1, 2, 3]
    now_ms = world.clock.now_ms()
    changes = [(receipt, 60_000) for receipt in receipts]
    assert await world.whole.extend(changes, now_ms) == [Extension.EXTENDED] * 4
    assert await world.whole.settle(receipts, now_ms) == [Settlement.SETTLED] * 4
    assert (await world.whole.counts(now_ms)).leased == 0


async def test_receipt_of_a_partition_that_is_forgotten_settles_nothing_else() -> None:
    world = await SpreadWorld(partitions=2, dequeue_fanout=2).start()
    await world.send_to(1, "a")
    (lease,) = await world.take(1)
    await world.change(partitions=1)
    await world.whole.settle([lease.receipt], world.clock.now_ms())
    await world.send("b")
    answers = await world.whole.settle([lease.receipt], world.clock.now_ms())
    assert answers == [Settlement.GONE]
    assert await world.visible() == [1, 0]


async def test_repeated_adoption_finds_the_same_partition() -> None:
    world = await SpreadWorld().start()
    await world.send_to(0, *"abcdefgh")
    leases = (await world.lease(8)).messages
    transfers = [Transfer(lease.message) for lease in leases]
    first = await world.whole.adopt(transfers, world.clock.now_ms())
    assert await world.whole.adopt(transfers, world.clock.now_ms()) == first
    assert sum(await world.visible()) == 8


async def shared_world(**changes: object) -> World:
    """Partitions that number their messages each for itself, as those of shared stores do."""
    state = MemoryDatabaseState()

    async def database() -> Database:
        return MemoryDatabase(state)

    open_inner = SharedOpener(database)

    async def opened(clock: ManualClock, rng: random.Random, observer: Observer) -> Store:
        return FabricStore(await open_inner(clock, rng, observer), clock, observer)

    return World(opened, {**settings_of("spread"), **changes})


async def test_pages_of_a_peek_show_each_message_once_although_sequences_repeat() -> None:
    async with await shared_world() as world:
        line = await world.queue()
        for body in "abcdefghijkl":
            await line.send(body)
        seen: list[tuple[int, int]] = []
        page = Peek(5)
        while found := await line.partition.peek(page, line.now_ms):
            seen += [(peeked.message.sequence, peeked.partition) for peeked in found]
            page = Peek(5, *seen[-1])
        assert seen == sorted(seen)
        assert len(seen) == len(set(seen)) == 12
        assert len({sequence for sequence, _ in seen}) == 3


async def test_receipt_never_settles_the_same_sequence_of_another_partition() -> None:
    async with await shared_world() as world:
        line = await world.queue()
        for body in "abcd":
            await line.send(body)
        leases = await line.take(2)
        assert len({lease.receipt.sequence for lease in leases}) == 1
        await line.settle(leases[0])
        assert await line.counts() == (2, 1, 0)
        await line.settle(leases[0])
        assert await line.counts() == (2, 1, 0)


async def test_limit_of_leases_holds_for_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LEASED_MAX", 6)
    world = await SpreadWorld(dequeue_fanout=4).start()
    for number in range(4):
        await world.send_to(number, "a", "b")
    assert len(await world.take(6)) == 6
    with pytest.raises(LimitReached):
        await world.take(1)


async def test_queue_of_one_partition_is_the_store_s_own() -> None:
    world = await SpreadWorld(partitions=1).start()
    assert world.whole is world.counting.partition(world.queue, 0)


async def test_queue_that_had_several_partitions_keeps_its_object() -> None:
    world = await SpreadWorld(partitions=2).start()
    whole = world.whole
    await world.change(partitions=1)
    assert world.whole is whole
