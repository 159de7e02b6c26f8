"""One step at a time: what front ends without an owner do, and what they leave behind."""

from collections.abc import Sequence

import pytest

from dovemq.core.commands import Ask, Extension, Settlement, Transfer
from dovemq.core.drawing import IndexTuple
from dovemq.core.errors import StoreUnreachable
from dovemq.stores.shared_index.buckets import BUCKET_MS, CLOSE_MS, ClockWrong
from dovemq.stores.shared_index.ports import ClaimRow, Swapped, TupleKey
from dovemq.testing.memory_tables import MemoryIndexTables
from tests.shared_index.world import LEASE_MS, IndexWorld


class LostSwaps(MemoryIndexTables):
    """The answers of the next compare-and-sets are lost, before or after they were done."""

    lose: Sequence[str] = ()

    async def swap(
        self, queue: int, sequence: int, expected: ClaimRow | None, wanted: ClaimRow, keep_ms: int
    ) -> Swapped | None:
        lose, self.lose = self.lose[:1], self.lose[1:]
        if "before" in lose:
            return None
        swapped = await super().swap(queue, sequence, expected, wanted, keep_ms)
        return None if lose else swapped

    def at_quorum(self) -> "LostSwaps":
        return self


class DiesBeforeRemoval(MemoryIndexTables):
    """A front end that dies when it has inserted a new tuple."""

    async def remove(self, queue: int, bucket: int, keys: Sequence[TupleKey]) -> None:
        raise StoreUnreachable("tables", "the front end is dead")


class DiesBeforeInsertion(MemoryIndexTables):
    """A front end that dies when it has changed the claim row."""

    def at_quorum(self) -> "DiesBeforeInsertion":
        return self

    async def insert(
        self, queue: int, bucket: int, tuples: Sequence[IndexTuple], keep_ms: int
    ) -> None:
        raise StoreUnreachable("tables", "the front end is dead")


async def test_any_front_end_receives_and_settles_what_another_has_taken() -> None:
    world = IndexWorld()
    one, other = world.front_end(), world.front_end()
    await world.send(one, "a", "b", "c")
    assert await world.bodies(other, 2) == ["a", "b"]
    (lease,) = await world.take(one, 5)
    assert lease.message.body == "c"
    receipts = [lease.receipt]
    assert await other.settle(receipts, world.clock.now_ms()) == [Settlement.SETTLED]
    world.clock.advance(LEASE_MS + 1)
    assert await world.bodies(one) == ["a", "b"]


async def test_claim_that_was_lost_before_it_was_done_is_made_again() -> None:
    world = IndexWorld("serial")
    tables = LostSwaps(world.replicas)
    front_end = world.front_end(tables)
    await world.send(front_end, "a")
    tables.lose = ["before"]
    # The claim is read back, is not there, and is made again by the next look.
    assert await world.bodies(front_end) == ["a"]
    assert front_end.statistics.unknown == 1
    assert await world.bodies(world.front_end()) == []


async def test_claim_after_a_lease_that_was_lost_before_it_was_done_is_made_again() -> None:
    world = IndexWorld("serial")
    tables = LostSwaps(world.replicas)
    front_end = world.front_end(tables)
    await world.send(front_end, "a")
    with pytest.raises(StoreUnreachable):
        await world.take(world.front_end(DiesBeforeInsertion(world.replicas)))
    world.clock.advance(LEASE_MS + 1)
    assert await world.bodies(front_end) == ["a"]
    world.clock.advance(LEASE_MS + 1)
    tables.lose = ["before", "before"]
    assert await world.bodies(front_end) == ["a"]
    assert front_end.statistics.unknown == 2


async def test_claim_that_was_lost_after_it_was_done_is_recognised() -> None:
    world = IndexWorld("serial")
    tables = LostSwaps(world.replicas)
    front_end = world.front_end(tables)
    await world.send(front_end, "a")
    tables.lose = ["after"]
    assert await world.bodies(front_end) == ["a"]
    assert front_end.statistics.unknown == 1
    assert await world.bodies(world.front_end()) == []


async def test_message_of_a_claimer_that_died_halfway_comes_back_when_its_lease_ends() -> None:
    world = IndexWorld("serial")
    await world.send(world.front_end(), "a")
    with pytest.raises(StoreUnreachable):
        await world.take(world.front_end(DiesBeforeInsertion(world.replicas)))
    living = world.front_end()
    assert await world.bodies(living) == []
    world.clock.advance(LEASE_MS + 1)
    (lease,) = await world.take(living)
    assert (lease.message.body, lease.receive_count) == ("a", 2)


async def test_front_end_that_dies_between_two_tuples_leaves_a_second_delivery() -> None:
    world = IndexWorld()
    await world.send(world.front_end(), "a")
    with pytest.raises(StoreUnreachable):
        await world.take(world.front_end(DiesBeforeRemoval(world.replicas)))
    living = world.front_end()
    (lease,) = await world.take(living)
    assert await living.settle([lease.receipt], world.clock.now_ms())
    world.clock.advance(LEASE_MS + 1)
    assert await world.bodies(living) == []
    assert await world.bodies(world.front_end()) == []
    assert (await living.counts(world.clock.now_ms())).visible == 0


async def test_tuple_of_an_extended_lease_does_not_bring_a_settled_message_back() -> None:
    world = IndexWorld()
    one, other = world.front_end(), world.front_end()
    await world.send(one, "a")
    (lease,) = await world.take(one)
    now_ms = world.clock.now_ms()
    assert await one.extend([(lease.receipt, 90_000)], now_ms) == [Extension.EXTENDED]
    await other.settle([lease.receipt], now_ms)
    world.clock.advance(90_001)
    third = world.front_end()
    assert await world.bodies(third) == []
    assert third.statistics.stale == 1


async def test_lease_can_be_extended_at_another_front_end() -> None:
    world = IndexWorld()
    one, other = world.front_end(), world.front_end()
    await world.send(one, "a")
    (lease,) = await world.take(one)
    for front_end in (one, other, one):
        asked = [(lease.receipt, LEASE_MS)]
        assert await front_end.extend(asked, world.clock.now_ms()) == [Extension.EXTENDED]
        world.clock.advance(LEASE_MS - 1)
        assert await world.bodies(world.front_end()) == []


async def test_older_receipt_does_not_change_a_newer_lease() -> None:
    world = IndexWorld()
    front_end = world.front_end()
    await world.send(front_end, "a")
    (old,) = await world.take(front_end)
    world.clock.advance(LEASE_MS + 1)
    (new,) = await world.take(front_end)
    now_ms = world.clock.now_ms()
    assert await front_end.extend([(old.receipt, 90_000)], now_ms) == [Extension.STALE]
    assert await front_end.extend([(new.receipt, 90_000)], now_ms) == [Extension.EXTENDED]


async def test_literal_receive_finds_nothing_when_it_draws_a_hidden_message() -> None:
    world = IndexWorld(order_hint=2, receive_draw="literal")
    front_end = world.front_end()
    await world.send(front_end, "a", "b", "c")
    await world.take(front_end, 3, 5_000)
    await world.send(front_end, "d")
    found = [len(await world.take(front_end, 1, 0)) for _ in range(40)]
    assert {0, 1} == set(found)


async def test_receive_with_any_order_draws_among_all_messages() -> None:
    world = IndexWorld(order_hint=0)
    front_end = world.front_end()
    await world.send(front_end, *(str(number) for number in range(50)))
    assert await world.bodies(front_end, 10) != [str(number) for number in range(10)]


async def test_buckets_are_dropped_when_they_are_over_and_empty() -> None:
    world = IndexWorld()
    front_end = world.front_end()
    for _ in range(3):
        await world.send(front_end, "a")
        (lease,) = await world.take(front_end)
        await front_end.settle([lease.receipt], world.clock.now_ms())
        world.clock.advance(BUCKET_MS)
    world.clock.advance(CLOSE_MS + LEASE_MS + BUCKET_MS)
    for _ in range(3):
        assert await world.bodies(front_end) == []
        await front_end.close_old_buckets()
        world.clock.advance(3_000)
    assert front_end.statistics.closed >= 3
    assert await world.tables.buckets(7, 0) == []
    assert await world.tables.lower_bound(7) > 0
    await world.send(world.front_end(), "b")
    assert await world.bodies(world.front_end()) == ["b"]


async def test_front_end_with_a_wrong_clock_takes_nothing() -> None:
    world = IndexWorld()

    class SlowNode(MemoryIndexTables):
        async def node_ms(self) -> int:
            return world.clock.now_ms() + 11_000

    front_end = world.front_end(SlowNode(world.replicas))
    with pytest.raises(ClockWrong, match="synchronise the clocks"):
        await world.send(front_end, "a")


async def test_repeated_move_adopts_a_message_once() -> None:
    world = IndexWorld()
    one, other = world.front_end(), world.front_end()
    source = IndexWorld()
    await source.send(source.front_end(), "a")
    (lease,) = await source.take(source.front_end())
    transfer = Transfer(lease.message, 3, lease.first_received_ms)
    for front_end in (one, other, one):
        await front_end.adopt([transfer], world.clock.now_ms())
        world.clock.advance(61_000)
    (adopted,) = await world.take(other, 10)
    assert (adopted.message.body, adopted.receive_count) == ("a", 4)
    await other.settle([adopted.receipt], world.clock.now_ms())
    await one.adopt([transfer], world.clock.now_ms())
    assert await world.bodies(other) == []


async def test_exhausted_message_is_handed_out_to_be_moved() -> None:
    world = IndexWorld()
    front_end = world.front_end()
    await world.send(front_end, "a", "b")
    await world.take(front_end, 1, 100)
    world.clock.advance(101)
    leased = await front_end.lease(Ask(2, LEASE_MS, receives_max=1), world.clock.now_ms())
    assert [each.message.body for each in leased.messages] == ["b"]
    assert [each.message.body for each in leased.exhausted] == ["a"]
