"""Observing: a store reports each change of a message once."""

import asyncio

from dovemq.core.commands import Transfer
from tests.contract.world import World


async def test_send_is_observed_before_it_is_answered(world: World) -> None:
    line = await world.queue()
    answers = await line.send("a", "b")
    assert world.witness.told == [("sent", "jobs", [answer.sequence for answer in answers])]


async def test_send_whose_caller_went_away_is_observed(world: World) -> None:
    line = await world.queue()
    sending = asyncio.ensure_future(line.send("a"))
    await asyncio.sleep(0)
    sending.cancel()
    await asyncio.wait([sending])
    await line.send("b")
    told = [sequences for what, _, sequences in world.witness.told if what == "sent"]
    assert sum(map(len, told)) == sum(await line.counts())


async def test_duplicate_is_not_observed(world: World) -> None:
    line = await world.fifo()
    [first] = await line.send("a", deduplication_id="same")
    await line.send("a", deduplication_id="same")
    assert world.witness.told == [("sent", "jobs.fifo", [first.sequence])]


async def test_settle_is_observed_once(world: World) -> None:
    line = await world.queue()
    [sent] = await line.send("a")
    lease = await line.take_one()
    await line.settle(lease, lease)
    await line.settle(lease)
    assert world.witness.told[1:] == [("settled", "jobs", [sent.sequence])]


async def test_settle_whose_caller_went_away_is_observed(world: World) -> None:
    line = await world.queue()
    [sent] = await line.send("a")
    lease = await line.take_one()
    settling = asyncio.ensure_future(line.settle(lease))
    await asyncio.sleep(0)
    settling.cancel()
    await asyncio.wait([settling])
    await line.counts()
    assert world.witness.told[1:] == [("settled", "jobs", [sent.sequence])]


async def test_refused_settle_is_not_observed(world: World) -> None:
    line = await world.fifo()
    await line.send("a")
    lease = await line.take_one(lease_ms=1_000)
    world.clock.advance(1_000)
    await line.settle(lease)
    assert [what for what, _, _ in world.witness.told] == ["sent"]


async def test_adoption_and_the_settle_after_it_are_not_observed(
    world: World,
) -> None:
    source, target = await world.queue("source"), await world.queue("target")
    await source.send("a")
    lease = await source.take_one()
    await target.adopt(Transfer(lease.message))
    await source.partition.settle([lease.receipt], source.now_ms, moved=True)
    assert [what for what, _, _ in world.witness.told] == ["sent"]


async def test_expiry_is_observed(world: World) -> None:
    line = await world.queue(retention_ms=60_000)
    [sent] = await line.send("a")
    world.clock.advance(60_000)
    await line.counts()
    await line.counts()
    assert world.witness.told[1:] == [("expired", "jobs", [sent.sequence])]


async def test_drop_is_observed(world: World) -> None:
    line = await world.queue()
    answers = await line.send("a", "b")
    await line.drop()
    assert world.witness.told[1:] == [("expired", "jobs", [answer.sequence for answer in answers])]
