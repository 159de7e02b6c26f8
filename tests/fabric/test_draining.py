"""Draining: fewer partitions, and what happens to the messages of the others."""

import msgspec
import pytest

from dovemq.cluster.catalogue import REFRESH_MS
from dovemq.cluster.link.bounds import VERB_SECONDS_MAX
from dovemq.core.commands import Settlement
from dovemq.core.errors import InvariantError
from dovemq.core.partitions import Layout
from dovemq.fabric.draining import DRAINED_MS
from dovemq.fabric.exchange import BATCH_COUNT_MAX
from dovemq.fabric.store import FabricStore
from tests.fabric.spread import SpreadWorld, bodies


async def kept_up(world: SpreadWorld, *, scan: bool = False) -> None:
    await world.fabric.keep_up(leads=True, scan=scan)
    await world.refresh()


def test_partition_is_forgotten_only_after_every_front_end_knows_that_it_drains() -> None:
    assert DRAINED_MS > 2 * REFRESH_MS + VERB_SECONDS_MAX * 1_000


async def test_draining_partition_gets_no_more_messages() -> None:
    world = await SpreadWorld().start()
    await world.change(partitions=2)
    for body in "abcdef":
        await world.send(body)
    assert await world.visible() == [3, 3, 0, 0]


async def test_messages_of_a_draining_partition_are_received() -> None:
    world = await SpreadWorld(dequeue_fanout=4).start()
    await world.send_to(3, "a")
    await world.change(partitions=2)
    assert bodies(await world.take()) == ["a"]


async def test_messages_of_a_draining_partition_move_to_active_ones() -> None:
    world = await SpreadWorld().start()
    await world.send_to(3, *map(str, range(40)))
    await world.change(partitions=2)
    await kept_up(world)
    visible = await world.visible()
    assert visible[2:] == [0, 0]
    assert sum(visible[:2]) == 40
    assert min(visible[:2]) > 0
    assert len(world.observer.exchanged_messages) == 40


async def test_moved_message_keeps_its_sent_time_and_has_no_receive() -> None:
    world = await SpreadWorld(partitions=2).start()
    await world.send_to(1, "a")
    sent_ms = world.clock.now_ms()
    world.manual.advance(5_000)
    await world.change(partitions=1)
    await kept_up(world)
    (lease,) = await world.take()
    assert (lease.receipt.partition, lease.receive_count) == (0, 1)
    assert lease.message.sent_ms == sent_ms
    assert lease.first_received_ms == world.clock.now_ms()


async def test_group_stays_together_when_it_moves() -> None:
    world = await SpreadWorld(partitions=3).start()
    for body in "abcd":
        await world.send(body, group="tenant")
    source = (await world.visible()).index(4)
    layout = Layout(tuple({0, 1, 2, 3} - {source}), (source,), 3)
    settings = msgspec.structs.replace(world.queue.settings, layout=layout)
    await world.fabric.catalogue.replace(msgspec.structs.replace(world.queue, settings=settings))
    await world.refresh()
    await kept_up(world)
    await world.send("e", group="tenant")
    assert sorted(await world.visible()) == [0, 0, 0, 5]


async def test_leased_and_delayed_messages_stay() -> None:
    world = await SpreadWorld(partitions=2, dequeue_fanout=2).start()
    await world.send_to(1, "leased")
    (lease,) = await world.take()
    await world.send_to(1, "delayed", delay_ms=60_000)
    await world.change(partitions=1)
    await kept_up(world)
    counts = await world.counts(1)
    assert (counts.leased, counts.delayed) == (1, 1)
    answers = await world.whole.settle([lease.receipt], world.clock.now_ms())
    assert answers == [Settlement.SETTLED]


async def test_message_that_was_received_stays_so_that_its_late_delete_holds() -> None:
    world = await SpreadWorld(partitions=2, dequeue_fanout=2).start()
    await world.send_to(1, "a")
    (lease,) = (await world.lease(lease_ms=1_000)).messages
    await world.change(partitions=1)
    world.manual.advance(1_000)
    await kept_up(world)
    answers = await world.whole.settle([lease.receipt], world.clock.now_ms())
    assert answers == [Settlement.SETTLED]
    assert await world.visible() == [0, 0]


async def test_one_step_moves_a_bounded_number_of_messages() -> None:
    world = await SpreadWorld(partitions=2).start()
    await world.send_to(1, *map(str, range(12 * BATCH_COUNT_MAX)))
    await world.change(partitions=1)
    await kept_up(world)
    assert await world.visible() == [10 * BATCH_COUNT_MAX, 2 * BATCH_COUNT_MAX]
    await kept_up(world)
    assert await world.visible() == [12 * BATCH_COUNT_MAX, 0]


async def test_layout_forgets_a_partition_that_was_empty_for_long_enough() -> None:
    world = await SpreadWorld().start()
    await world.change(partitions=2)
    await kept_up(world)
    world.manual.advance(DRAINED_MS - 1)
    await kept_up(world)
    assert world.queue.settings.layout == Layout((0, 1), (2, 3), 3)
    world.manual.advance(1)
    await kept_up(world)
    assert world.queue.settings.layout == Layout((0, 1), (), 3)


async def test_late_message_starts_the_time_again() -> None:
    world = await SpreadWorld(partitions=2).start()
    await world.change(partitions=1)
    await kept_up(world)
    world.manual.advance(DRAINED_MS - 1)
    await world.send_to(1, "late", delay_ms=10)
    await kept_up(world)
    world.manual.advance(10)
    await kept_up(world)
    assert world.queue.settings.layout.draining == (1,)
    assert await world.visible() == [1, 0]
    world.manual.advance(DRAINED_MS)
    await kept_up(world)
    assert not world.queue.settings.layout.draining


async def test_message_sent_to_a_forgotten_partition_is_found_again() -> None:
    world = await SpreadWorld(partitions=2).start()
    await world.change(partitions=1)
    await kept_up(world)
    world.manual.advance(DRAINED_MS)
    await kept_up(world)
    await world.send_to(1, "lost?")
    assert await world.take() == []
    await kept_up(world, scan=True)
    assert bodies(await world.take()) == ["lost?"]


async def test_upkeep_of_another_change_is_not_undone() -> None:
    world = await SpreadWorld().start()
    await world.change(partitions=2)
    await kept_up(world)
    world.manual.advance(DRAINED_MS)
    old = world.queue
    await world.change(partitions=3)
    await world.fabric.draining.step()
    await world.refresh()
    assert world.queue.settings.layout == Layout((0, 1, 2), (), 3)
    assert old.version < world.queue.version


async def test_front_end_that_does_not_lead_moves_nothing() -> None:
    world = await SpreadWorld(partitions=2).start()
    await world.send_to(1, "a")
    await world.change(partitions=1)
    await world.fabric.keep_up(leads=False, scan=True)
    assert await world.visible() == [0, 1]


async def test_removed_queue_is_forgotten() -> None:
    world = await SpreadWorld().start()
    await world.change(partitions=1)
    await world.fabric.catalogue.remove(world.queue.key)
    await world.fabric.keep_up(leads=True, scan=True)
    again = await world.fabric.catalogue.create(msgspec.structs.replace(world.queue, number=0))
    assert (await world.fabric.partition(again, 0).counts(world.clock.now_ms())).visible == 0


async def test_draining_goes_on_after_a_restart() -> None:
    world = await SpreadWorld(partitions=2).start()
    await world.send_to(1, "a")
    await world.change(partitions=1)
    restarted = FabricStore(world.memory, world.clock)
    await restarted.keep_up(leads=True, scan=True)
    assert await world.visible() == [1, 0]


async def test_fifo_queue_exchanges_nothing() -> None:
    world = await SpreadWorld(fifo=True, deduplication_scope="messageGroup").start()
    with pytest.raises(InvariantError):
        await world.fabric.exchange.move(world.queue, 0, (1,), 10)
