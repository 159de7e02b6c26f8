"""The quota of queues that an account may own."""

import asyncio

import pytest

from dovemq.core.accounts import Quotas
from dovemq.core.errors import QueueExists, QuotaReached
from dovemq.core.queue import Queue, QueueKey
from tests.service.account_world import AccountWorld, in_loop

NUMBER = "111122223333"


async def _create(world: AccountWorld, name: str, **changes: object) -> Queue:
    return await world.service.queues.create(QueueKey(NUMBER, name), changes, {})


async def _names(world: AccountWorld) -> list[str]:
    return [queue.key.name for queue in await world.service.queues.page(NUMBER, "", "", 100)]


@in_loop
async def test_queue_beyond_the_quota_is_refused_with_quota_and_use(world: AccountWorld) -> None:
    await world.accounts.add("a", number=NUMBER, quotas=Quotas(queues_max=2))
    for name in "ab":
        await _create(world, name)
    with pytest.raises(QuotaReached, match="queues_max=2: 2 in use, 1 more asked for"):
        await _create(world, "c")
    assert await _names(world) == ["a", "b"]


@in_loop
async def test_account_with_no_place_for_queues_gets_none(world: AccountWorld) -> None:
    await world.accounts.add("a", number=NUMBER, quotas=Quotas(queues_max=0))
    with pytest.raises(QuotaReached):
        await _create(world, "a")


@in_loop
async def test_queue_that_exists_is_created_again_at_the_quota(world: AccountWorld) -> None:
    await world.accounts.add("a", number=NUMBER, quotas=Quotas(queues_max=1))
    first = await _create(world, "a", lease_ms=1_000)
    assert await _create(world, "a", lease_ms=1_000) == first
    with pytest.raises(QueueExists):
        await _create(world, "a", lease_ms=2_000)


@in_loop
async def test_removed_queue_makes_room(world: AccountWorld) -> None:
    await world.accounts.add("a", number=NUMBER, quotas=Quotas(queues_max=1))
    await _create(world, "a")
    await world.service.queues.remove(QueueKey(NUMBER, "a"))
    await _create(world, "b")
    assert await _names(world) == ["b"]


@in_loop
async def test_creates_at_the_same_time_do_not_exceed_the_quota(world: AccountWorld) -> None:
    await world.accounts.add("a", number=NUMBER, quotas=Quotas(queues_max=3))
    world.catalogue.yields = True
    asked = [f"q{number % 5}" for number in range(20)]
    outcomes = await asyncio.gather(
        *(_create(world, name) for name in asked), return_exceptions=True
    )
    assert len(await _names(world)) == 3
    made = [outcome.key.name for outcome in outcomes if isinstance(outcome, Queue)]
    assert set(made) == set(await _names(world))
    assert all(isinstance(outcome, Queue | QuotaReached) for outcome in outcomes)


@in_loop
async def test_quotas_of_others_do_not_matter(world: AccountWorld) -> None:
    await world.accounts.add("a", number=NUMBER, quotas=Quotas(queues_max=1))
    other = await world.accounts.add("b")
    await _create(world, "a")
    for name in "ab":
        await world.service.queues.create(QueueKey(other.number, name), {}, {})


@in_loop
async def test_quota_that_was_lowered_keeps_queues_and_refuses_more(world: AccountWorld) -> None:
    await world.accounts.add("a", number=NUMBER)
    for name in "abc":
        await _create(world, name)
    await world.accounts.change(NUMBER, quotas=Quotas(queues_max=1))
    assert await _names(world) == ["a", "b", "c"]
    with pytest.raises(QuotaReached, match="queues_max=1: 3 in use"):
        await _create(world, "d")
    await world.accounts.change(NUMBER, quotas=Quotas())
    await _create(world, "d")
