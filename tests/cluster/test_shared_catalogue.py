"""The shared catalogue: others see a change within a bound, and no two make the same thing."""

import asyncio

import msgspec
import pytest

from dovemq.cluster.catalogue import REFRESH_MS
from dovemq.cluster.misses import LOOK_UPS_PER_SECOND_MAX
from dovemq.core.accounts import Account
from dovemq.core.errors import QueueMissing, StoreUnreachable
from dovemq.core.queue import QueueKey
from tests.cluster.world import ACCOUNT, FrontEnds, in_virtual_time

BOUND_SECONDS = REFRESH_MS / 1_000 + 0.001
DELAY_MS_MAX = 50
READING_SECONDS = 8 * DELAY_MS_MAX / 1_000
"""The longest reading of the catalogue: four requests, with a delay before and after each."""
ONE, TWO = "111111111111", "222222222222"


@in_virtual_time
async def test_queue_created_through_one_front_end_is_found_at_once_through_another(
    front_ends: FrontEnds,
) -> None:
    one, two = await front_ends.start_many(2)
    queue = await one.create()
    assert await two.store.catalogue.find(queue.key) == queue


@in_virtual_time
async def test_changes_are_seen_by_others_within_the_bound(front_ends: FrontEnds) -> None:
    one, two = await front_ends.start_many(2)
    queue = await one.create()
    await two.store.catalogue.find(queue.key)
    assert await one.store.catalogue.replace(msgspec.structs.replace(queue, tags={"new": "tag"}))
    assert await one.store.catalogue.save_account(Account(ONE, "billing", 1_000))
    await asyncio.sleep(BOUND_SECONDS)
    changed = await two.store.catalogue.find(queue.key)
    assert changed is not None
    assert (changed.tags, changed.version) == ({"new": "tag"}, 2)
    assert [each.name for each in await two.store.catalogue.accounts()] == ["billing"]
    assert [each.key.name for each in await two.store.catalogue.page(None, "", "", 10)] == ["jobs"]


@in_virtual_time
async def test_change_starts_from_what_another_front_end_has_stored_a_moment_ago(
    front_ends: FrontEnds,
) -> None:
    one, two = await front_ends.start_many(2)
    queue = await one.create()
    await two.store.catalogue.find(queue.key)
    tagged = msgspec.structs.replace(queue, tags={"new": "tag"})
    assert await one.store.catalogue.replace(tagged)
    latest = await two.store.catalogue.latest(queue.key)
    assert latest is not None
    assert latest.tags == {"new": "tag"}
    assert await two.store.catalogue.find(queue.key) == latest
    await one.store.catalogue.remove(queue.key)
    assert await two.store.catalogue.latest(queue.key) is None


@in_virtual_time
async def test_removed_queue_is_gone_everywhere_within_the_bound(front_ends: FrontEnds) -> None:
    members = await front_ends.start_many(3)
    queue = await members[0].create()
    await members[0].send(queue, "a")
    partitions = [await member.partition(queue) for member in members]
    await members[1].store.catalogue.remove(queue.key)
    await asyncio.sleep(BOUND_SECONDS)
    for member, partition in zip(members, partitions, strict=True):
        assert await member.store.catalogue.find(queue.key) is None
        with pytest.raises(QueueMissing):
            await partition.counts(member.clock.now_ms())
        assert member.store.owned() == {}


@in_virtual_time
async def test_log_and_owner_of_a_removed_queue_are_removed_after_a_grace_period(
    front_ends: FrontEnds,
) -> None:
    members = await front_ends.start_many(2)
    queue = await members[0].create()
    await members[0].send(queue, "a")
    await members[1].store.catalogue.remove(queue.key)
    again = await members[1].create()
    await asyncio.sleep(BOUND_SECONDS)
    await members[0].send(again, "b")
    await asyncio.sleep(3)
    assert (queue.number, 0) in front_ends.state.logs
    await asyncio.sleep(15)
    assert set(front_ends.state.logs) == {(again.number, 0)}
    assert ("owner", f"{queue.number}/0") not in front_ends.state.records
    assert await members[0].bodies(again) == ["b"]
    await members[0].store.catalogue.remove(again.key)
    await asyncio.sleep(20)
    assert front_ends.state.logs == {}
    assert not [name for kind, name in front_ends.state.records if kind in ("queue", "owner")]


@pytest.mark.parametrize("seed", range(20))
@in_virtual_time
async def test_concurrent_creates_give_one_queue(front_ends: FrontEnds, seed: int) -> None:
    members = await front_ends.start_many(3)
    for number, member in enumerate(members):
        member.faults.seed(10 * seed + number)
        member.faults.delay_ms_max = 50
    names = ("a", "b", "a", "b", "c")
    creates = [member.create(name) for member in members for name in names]
    queues = await asyncio.gather(*creates)
    numbers = {queue.key.name: queue.number for queue in queues}
    assert all(queue.number == numbers[queue.key.name] for queue in queues)
    assert len(set(numbers.values())) == 3


@in_virtual_time
async def test_change_of_an_old_version_is_refused_and_the_new_one_read(
    front_ends: FrontEnds,
) -> None:
    one, two = await front_ends.start_many(2)
    queue = await one.create()
    await two.store.catalogue.find(queue.key)
    assert await one.store.catalogue.replace(msgspec.structs.replace(queue, modified_ms=1))
    assert not await two.store.catalogue.replace(msgspec.structs.replace(queue, modified_ms=2))
    found = await two.store.catalogue.find(queue.key)
    assert found is not None
    assert (found.modified_ms, found.version) == (1, 2)


@pytest.mark.parametrize("seed", range(40))
@in_virtual_time
async def test_two_accounts_never_have_the_same_name(front_ends: FrontEnds, seed: int) -> None:
    members = await front_ends.start_many(2)
    for number, member in enumerate(members):
        member.faults.seed(10 * seed + number)
        member.faults.delay_ms_max = DELAY_MS_MAX
    one, two = (member.store.catalogue for member in members)
    if seed % 2:
        # A crash has left a name without an account.
        await front_ends.members[0].store.catalogue.save_account(Account(ONE, "other", 1))
        await members[0].store.membership.look_again()
        await _reserve(front_ends, "same", ONE)
    version = seed % 2
    answers = await asyncio.gather(
        one.save_account(Account(ONE, "same", 1, version=version)),
        two.save_account(Account(TWO, "same", 2)),
    )
    await asyncio.sleep(BOUND_SECONDS + READING_SECONDS)
    named = [each.number for each in await one.accounts() if each.name == "same"]
    assert len(named) == sum(answers) <= 1
    if not any(answers):
        assert await two.save_account(Account(TWO, "same", 2))


async def _reserve(front_ends: FrontEnds, name: str, number: str) -> None:
    database = front_ends.observer()
    assert await database.records.put("account_name", name, number.encode(), 0)


@in_virtual_time
async def test_name_of_a_renamed_or_removed_account_is_free(front_ends: FrontEnds) -> None:
    one, two = [member.store.catalogue for member in await front_ends.start_many(2)]
    assert await one.save_account(Account(ONE, "a", 1))
    assert await one.save_account(Account(ONE, "b", 1, version=1))
    assert await two.save_account(Account(TWO, "a", 1))
    assert not await two.save_account(Account(TWO, "b", 1, version=1))
    assert await one.remove_account(ONE)
    assert await two.save_account(Account(TWO, "b", 1, version=1))


@in_virtual_time
async def test_account_with_a_queue_of_another_front_end_is_not_removed(
    front_ends: FrontEnds,
) -> None:
    one, two = await front_ends.start_many(2)
    await one.store.catalogue.save_account(Account(ACCOUNT, "mine", 1))
    await two.create()
    assert not await one.store.catalogue.remove_account(ACCOUNT)


@in_virtual_time
async def test_look_ups_of_unknown_queues_do_not_load_the_database(
    front_ends: FrontEnds,
) -> None:
    (member,) = await front_ends.start_many(1)
    await asyncio.sleep(0.5)
    before = member.faults.calls
    for _ in range(1_000):
        assert await member.store.catalogue.find(QueueKey(ACCOUNT, "missing")) is None
    assert member.faults.calls - before == 1
    for number in range(10_000):
        assert await member.store.catalogue.find(QueueKey(ACCOUNT, f"m{number}")) is None
    assert member.faults.calls - before <= LOOK_UPS_PER_SECOND_MAX


@in_virtual_time
async def test_queue_that_was_missing_is_found_within_the_bound(front_ends: FrontEnds) -> None:
    one, two = await front_ends.start_many(2)
    assert await two.store.catalogue.find(QueueKey(ACCOUNT, "jobs")) is None
    queue = await one.create()
    await asyncio.sleep(BOUND_SECONDS)
    assert await two.store.catalogue.find(queue.key) == queue


@in_virtual_time
async def test_all_front_ends_sign_receipts_with_the_same_key(front_ends: FrontEnds) -> None:
    members = [front_ends.prepare() for _ in range(3)]
    await asyncio.gather(*(member.store.start() for member in members))
    assert len({member.store.receipt_key for member in members}) == 1


@in_virtual_time
async def test_write_without_an_answer_is_reported_and_seen_later(front_ends: FrontEnds) -> None:
    one, two = await front_ends.start_many(2)
    one.faults.lose_answer("queue")
    with pytest.raises(StoreUnreachable):
        await one.create()
    found = await two.store.catalogue.find(QueueKey(ACCOUNT, "jobs"))
    assert found is not None
    assert await one.create() == found


@in_virtual_time
async def test_peer_that_knows_a_queue_earlier_is_served(front_ends: FrontEnds) -> None:
    members = await front_ends.start_many(3)
    queues = [await members[0].create(f"q{number}") for number in range(10)]
    for queue in queues:
        assert await members[0].send(queue, "a") == ["id-a"]
    assert any(not members[0].owns(queue) for queue in queues)
