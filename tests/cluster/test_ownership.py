"""Owners of partitions: claims, hand-over, and what a lost owner can no longer do."""

import asyncio

import pytest

from dovemq.cluster.ownership import owner_of, wanted_owner
from dovemq.cluster.sightings import FrontEnd, FrontEndState, Heartbeat
from dovemq.core.errors import OwnerChanged, UnavailableError
from tests.cluster.world import FAILOVER_SECONDS, FrontEnds, in_virtual_time

PLACES = [(number, 0) for number in range(1, 301)]


def _serving(*numbers: int) -> list[FrontEnd]:
    return [
        FrontEnd(number, 1, Heartbeat(f"host-{number}:1", "1", 1, FrontEndState.SERVING))
        for number in numbers
    ]


def _wanted(front_ends: list[FrontEnd]) -> dict[tuple[int, int], int]:
    found = {place: wanted_owner(place, front_ends) for place in PLACES}
    return {place: each.incarnation for place, each in found.items() if each}


def test_front_end_that_joins_takes_its_share_and_moves_nothing_else() -> None:
    before, after = _wanted(_serving(1, 2, 3)), _wanted(_serving(1, 2, 3, 4))
    moved = [place for place in PLACES if before[place] != after[place]]
    assert all(after[place] == 4 for place in moved)
    assert 45 <= len(moved) <= 105


def test_front_end_that_leaves_gives_its_share_and_moves_nothing_else() -> None:
    before, after = _wanted(_serving(1, 2, 3)), _wanted(_serving(1, 3))
    assert all(before[place] == 2 for place in PLACES if before[place] != after[place])
    assert 2 not in after.values()


def test_restarted_front_end_gets_the_partitions_of_its_address_again() -> None:
    first = _serving(1, 2, 3)
    again = [*first[:2], FrontEnd(9, 1, first[2].heartbeat)]
    before, after = _wanted(first), _wanted(again)
    assert {place: 3 if owner == 9 else owner for place, owner in after.items()} == before
    assert 3 not in _wanted([*first, again[2]]).values()


@in_virtual_time
async def test_front_end_that_joins_gets_its_partitions_handed_over(
    front_ends: FrontEnds,
) -> None:
    one = await front_ends.start()
    queues = [await one.create(f"q{number}") for number in range(20)]
    for queue in queues:
        await one.send(queue, queue.key.name)
    two = await front_ends.start()
    await asyncio.sleep(5)
    moved = [queue for queue in queues if not one.owns(queue)]
    assert 4 <= len(moved) <= 16
    for queue in queues:
        assert await two.bodies(queue) == [queue.key.name]
        assert two.owns(queue) == (queue in moved)


@in_virtual_time
async def test_leaving_front_end_hands_over_without_waiting_for_its_lease(
    front_ends: FrontEnds,
) -> None:
    await front_ends.start_many(2)
    queue = await front_ends.members[0].create()
    await front_ends.members[0].send(queue, "a")
    owner = front_ends.owner(queue)
    other = front_ends.other(owner)
    await owner.store.close()
    began = front_ends.loop.time()
    assert await other.bodies(queue) == ["a"]
    assert front_ends.loop.time() - began < 1
    assert other.owns(queue)


@in_virtual_time
async def test_no_send_fails_while_front_ends_are_restarted_one_after_another(
    front_ends: FrontEnds,
) -> None:
    await front_ends.start_many(3)
    client = await front_ends.start("stays:7000")
    queues = [await client.create(f"q{number}") for number in range(6)]
    sent: list[str] = []

    async def sender() -> None:
        for number in range(300):
            body = f"m{number}"
            await client.send(queues[number % 6], body)
            sent.append(body)
            await asyncio.sleep(0.1)

    sending = asyncio.ensure_future(sender())
    for member in front_ends.members[:3]:
        await asyncio.sleep(5)
        await member.store.close()
        await asyncio.sleep(2)
        await front_ends.start(member.address)
    await sending
    received = [body for queue in queues for body in await client.bodies(queue, 100)]
    assert sorted(received) == sorted(sent)
    assert len(sent) == 300


@pytest.mark.parametrize("fences", [True, False])
@in_virtual_time
async def test_paused_owner_does_not_answer_after_its_lease(
    front_ends: FrontEnds, fences: bool
) -> None:
    front_ends.state.fences = fences
    await front_ends.start_many(2)
    queue = await front_ends.members[0].create()
    await front_ends.members[0].send(queue, "a")
    owner = front_ends.owner(queue)
    other = front_ends.other(owner)
    owner.faults.pause()
    late = asyncio.ensure_future(owner.send(queue, "late"))
    await asyncio.sleep(FAILOVER_SECONDS)
    assert await other.bodies(queue) == ["a"]
    owner.faults.resume()
    with pytest.raises(UnavailableError):
        await late
    await asyncio.sleep(5)
    assert await owner.send(queue, "b") == ["id-b"]
    assert await other.bodies(queue) == ["b"]


@in_virtual_time
async def test_owner_past_its_lease_gives_no_messages_away(front_ends: FrontEnds) -> None:
    await front_ends.start_many(2)
    queue = await front_ends.members[0].create()
    await front_ends.members[0].send(queue, "a")
    owner = front_ends.owner(queue)
    owner.faults.pause()
    await asyncio.sleep(5.5)
    asking = asyncio.ensure_future(owner.bodies(queue))
    await asyncio.sleep(FAILOVER_SECONDS)
    assert await front_ends.other(owner).bodies(queue) == ["a"]
    owner.faults.resume()
    with pytest.raises(UnavailableError):
        assert await asking == ["a"]


@pytest.mark.parametrize("seed", range(30))
@in_virtual_time
async def test_two_takers_have_one_winner(front_ends: FrontEnds, seed: int) -> None:
    members = await front_ends.start_many(3)
    queues = [await members[0].create(f"q{number}") for number in range(5)]
    for queue in queues:
        await members[0].send(queue, "a")
    front_ends.kill(members[0])
    for number, member in enumerate(members[1:]):
        member.faults.seed(10 * seed + number)
        member.faults.delay_ms_max = 200
        member.faults.lost = 0.02
    deadline = front_ends.loop.time() + 60
    for queue in queues:
        while front_ends.loop.time() < deadline:
            answers = await asyncio.gather(
                *(member.bodies(queue) for member in members[1:]), return_exceptions=True
            )
            if ["a"] in answers:
                break
            await asyncio.sleep(0.5)
        assert ["a"] in answers
        assert sum(member.owns(queue) for member in members[1:]) <= 1
    assert len(set(front_ends.opened)) == len(front_ends.opened)


@in_virtual_time
async def test_no_epoch_is_opened_twice_by_a_front_end_that_lost_its_partition(
    front_ends: FrontEnds,
) -> None:
    (member,) = await front_ends.start_many(1)
    queue = await member.create()
    await member.send(queue, "a")
    front_ends.state.logs[queue.number, 0].epoch = 2
    with pytest.raises(OwnerChanged):
        await member.send(queue, "b")
    assert await member.bodies(queue) == ["a"]
    epochs = [epoch for _, epoch in front_ends.opened]
    assert epochs == sorted(set(epochs))


@in_virtual_time
async def test_claim_with_a_lost_answer_is_read_back(front_ends: FrontEnds) -> None:
    (member,) = await front_ends.start_many(1)
    queue = await member.create()
    member.faults.lose_answer("owner")
    assert await member.send(queue, "a") == ["id-a"]
    assert front_ends.opened == [((queue.number, 0), 1)]


@in_virtual_time
async def test_verbs_wait_together_for_one_opening(front_ends: FrontEnds) -> None:
    (member,) = await front_ends.start_many(1)
    queue = await member.create()
    member.faults.delay_ms_max = 100
    await asyncio.gather(*(member.send(queue, f"m{number}") for number in range(50)))
    assert len(front_ends.opened) == 1


@in_virtual_time
async def test_opening_that_takes_too_long_is_refused_and_goes_on(front_ends: FrontEnds) -> None:
    (member,) = await front_ends.start_many(1)
    queue = await member.create()
    member.openings.seconds = 15
    with pytest.raises(UnavailableError, match="being opened"):
        await member.send(queue, "a")
    await asyncio.sleep(6)
    assert await member.send(queue, "a") == ["id-a"]
    assert len(front_ends.opened) == 1


@in_virtual_time
async def test_cut_link_stops_only_what_needs_it(front_ends: FrontEnds) -> None:
    one, two = await front_ends.start_many(2)
    queue = await one.create()
    await one.send(queue, "a")
    owner = front_ends.owner(queue)
    other = front_ends.other(owner)
    front_ends.network.cut("host-1:7000", "host-2:7000")
    with pytest.raises(UnavailableError, match="cannot be reached"):
        await other.send(queue, "b")
    assert await owner.bodies(queue) == ["a"]
    front_ends.network.mend()
    assert await other.send(queue, "c") == ["id-c"]
    assert {one.store.membership.incarnation, two.store.membership.incarnation} == {1, 2}


@in_virtual_time
async def test_clocks_that_differ_by_minutes_lose_nothing(front_ends: FrontEnds) -> None:
    ahead = await front_ends.start("ahead:7000", ahead_ms=300_000)
    behind = await front_ends.start("behind:7000", ahead_ms=-300_000)
    await asyncio.sleep(4)
    queues = [await ahead.create(f"q{number}") for number in range(8)]
    for number, queue in enumerate(queues):
        await (ahead, behind)[number % 2].send(queue, queue.key.name)
    for number, queue in enumerate(queues):
        reader = (behind, ahead)[number % 2]
        leased = await reader.lease(queue, lease_ms=2_000)
        assert [each.message.body for each in leased.messages] == [queue.key.name]
        empty = await reader.lease(queue)
        assert empty.next_due_ms == reader.clock.now_ms() + 2_000
    await asyncio.sleep(2)
    for queue in queues:
        assert await ahead.bodies(queue) == [queue.key.name]
    assert any(behind.owns(queue) for queue in queues)
    assert any(ahead.owns(queue) for queue in queues)


@in_virtual_time
async def test_status_tells_front_ends_owners_and_openings(front_ends: FrontEnds) -> None:
    one, two = await front_ends.start_many(2)
    queue = await one.create()
    await one.send(queue, "a")
    status = await two.store.status()
    assert [each.address for each in status.front_ends] == [one.address, two.address]
    owner = front_ends.owner(queue)
    assert status.owners[queue.number, 0].epoch == 1
    assert status.owners[queue.number, 0].incarnation == owner.store.membership.incarnation
    assert owner.store.statistics.opened == 1
    record = front_ends.state.records["owner", f"{queue.number}/0"]
    assert owner_of(record) == status.owners[queue.number, 0]
