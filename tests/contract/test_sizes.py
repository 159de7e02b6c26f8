"""Sizes: a queue knows the size of its messages, whatever happens to them."""

import asyncio

from dovemq.core import limits
from dovemq.core.commands import Transfer
from dovemq.core.message import Attribute
from dovemq.core.sending import stored_units
from tests.contract.world import Line, World

UNIT = limits.STORED_UNIT_BYTES
SMALL, MIDDLE, LARGE = "a", "b" * 1_000, "ü" * 40_000


def _weights(*bodies: str) -> int:
    sizes = [limits.STORED_OVERHEAD_BYTES + len(body.encode()) for body in bodies]
    return sum((size + UNIT - 1) // UNIT * UNIT for size in sizes)


async def _filled(world: World) -> Line:
    line = await world.queue()
    await line.send(SMALL, MIDDLE, LARGE)
    return line


async def test_empty_queue_has_no_bytes(world: World) -> None:
    assert await (await world.queue()).stored_bytes() == 0


async def test_sent_messages_count_their_bodies_and_a_fixed_part(world: World) -> None:
    line = await _filled(world)
    assert await line.stored_bytes() == _weights(SMALL, MIDDLE, LARGE)


async def test_attributes_and_xray_header_count_as_bytes(world: World) -> None:
    line = await world.queue()
    attributes = {"name": Attribute("Binary", b"x" * 1_000)}
    draft = line.draft("a", attributes=attributes, xray_header="t" * 500)
    await line.send_drafts([draft])
    size = limits.STORED_OVERHEAD_BYTES + 1 + len("name") + len("Binary") + 1_000 + 500
    assert 0 <= await line.stored_bytes() - size < UNIT
    assert await line.stored_bytes() == stored_units(draft) * UNIT


async def test_delayed_and_leased_messages_count_as_bytes(world: World) -> None:
    line = await world.queue()
    await line.send(MIDDLE, delay_ms=1_000)
    await line.send(LARGE)
    await line.take_one()
    assert await line.stored_bytes() == _weights(MIDDLE, LARGE)
    world.clock.advance(600_000)
    assert await line.stored_bytes() == _weights(MIDDLE, LARGE)


async def test_settled_message_frees_its_bytes(world: World) -> None:
    line = await _filled(world)
    first = await line.take_one()
    for _ in range(2):
        await line.settle(first)
        assert await line.stored_bytes() == _weights(MIDDLE, LARGE)


async def test_size_is_the_same_after_a_release(world: World) -> None:
    line = await _filled(world)
    for lease_ms in (0, 1_000):
        leases = await line.take(3, lease_ms=lease_ms)
        await line.release(*leases)
    assert await line.stored_bytes() == _weights(SMALL, MIDDLE, LARGE)
    await line.settle(*await line.take(3))
    assert await line.stored_bytes() == 0


async def test_duplicate_adds_no_bytes(world: World) -> None:
    line = await world.fifo()
    await line.send(MIDDLE, deduplication_id="x")
    await line.send(LARGE, deduplication_id="x")
    assert await line.stored_bytes() == _weights(MIDDLE)
    await asyncio.gather(*(line.send(MIDDLE, deduplication_id="y") for _ in range(5)))
    assert await line.stored_bytes() == _weights(MIDDLE, MIDDLE)


async def test_dropped_messages_free_their_bytes(world: World) -> None:
    line = await _filled(world)
    await line.take_one()
    await line.drop(count_max=2)
    assert await line.stored_bytes() == _weights(LARGE)
    await line.drop()
    assert await line.stored_bytes() == 0


async def test_expired_messages_free_their_bytes(world: World) -> None:
    line = await world.queue(retention_ms=60_000)
    await line.send(LARGE)
    world.clock.advance(30_000)
    await line.send(SMALL)
    world.clock.advance(30_000)
    assert await line.stored_bytes() == _weights(SMALL)


async def test_adopted_message_counts_its_bytes_once(world: World) -> None:
    line, dead = await _filled(world), await world.queue("dead")
    lease = await line.take_one()
    for _ in range(2):
        await dead.adopt(Transfer(lease.message))
    await line.settle(lease)
    assert await dead.stored_bytes() == _weights(SMALL)
    assert await line.stored_bytes() == _weights(MIDDLE, LARGE)


async def test_new_queue_with_the_name_of_a_removed_one_has_no_bytes(world: World) -> None:
    line = await _filled(world)
    await world.store.catalogue.remove(line.queue.key)
    assert await (await world.queue()).stored_bytes() == 0


async def test_sizes_survive_a_stop_and_a_crash(durable_world: World) -> None:
    world = durable_world
    line, dead = await _filled(world), await world.queue("dead")
    await dead.adopt(Transfer((await line.take_one()).message))
    await world.reopen()
    assert await line.stored_bytes() == _weights(SMALL, MIDDLE, LARGE)
    await world.crash()
    assert await line.stored_bytes() == _weights(SMALL, MIDDLE, LARGE)
    assert await dead.stored_bytes() == _weights(SMALL)
    await dead.settle(await dead.take_one())
    assert await dead.stored_bytes() == 0
