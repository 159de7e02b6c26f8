"""Several front ends serve the same queues: any front end takes any request."""

import asyncio

from tests.cluster.world import FAILOVER_SECONDS, FrontEnds, in_virtual_time


@in_virtual_time
async def test_message_sent_through_one_front_end_is_received_through_another(
    front_ends: FrontEnds,
) -> None:
    one, two, three = await front_ends.start_many(3)
    queue = await one.create()
    await one.send(queue, "a")
    assert await two.bodies(queue) == ["a"]
    await three.send(queue, "b")
    assert await one.bodies(queue) == ["b"]
    assert len(front_ends.opened) == 1


@in_virtual_time
async def test_one_front_end_owns_a_partition_that_all_ask_for_at_once(
    front_ends: FrontEnds,
) -> None:
    members = await front_ends.start_many(3)
    for member in members:
        member.faults.delay_ms_max = 20
    queue = await members[0].create()
    sends = [member.send(queue, f"{i}-{j}") for i, member in enumerate(members) for j in range(5)]
    await asyncio.gather(*sends)
    assert len(front_ends.opened) == 1
    assert sorted(await members[1].bodies(queue, 20)) == sorted(
        f"{i}-{j}" for i in range(3) for j in range(5)
    )


@in_virtual_time
async def test_partitions_spread_over_the_front_ends(front_ends: FrontEnds) -> None:
    members = await front_ends.start_many(3)
    queues = [await members[0].create(f"q{number}") for number in range(30)]
    for queue in queues:
        await members[0].send(queue, "a")
    shares = [sum(member.owns(queue) for queue in queues) for member in members]
    assert sum(shares) == 30
    assert min(shares) >= 4


@in_virtual_time
async def test_verb_makes_one_hop_at_most(front_ends: FrontEnds) -> None:
    members = await front_ends.start_many(3)
    queue = await members[0].create()
    for member in members:
        await member.send(queue, f"from {member.address}")
    before = front_ends.network.hops
    for member in members:
        await member.bodies(queue, 1)
    assert front_ends.network.hops - before == 2


@in_virtual_time
async def test_killed_owner_is_replaced_and_nothing_is_lost(front_ends: FrontEnds) -> None:
    one, two = await front_ends.start_many(2)
    queue = await one.create()
    await one.send(queue, "a")
    owner = front_ends.owner(queue)
    survivor = front_ends.other(owner)
    front_ends.kill(owner)
    await asyncio.sleep(FAILOVER_SECONDS)
    assert await survivor.bodies(queue) == ["a"]
    assert survivor.owns(queue)
    assert [epoch for _, epoch in front_ends.opened] == [1, 2]
    assert two in (owner, survivor)
