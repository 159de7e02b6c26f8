"""The catalogue: queues are created, found, changed by compare-and-set, listed and removed."""

import asyncio

import msgspec
import pytest

from dovemq.core.errors import QueueMissing
from dovemq.core.queue import Queue, QueueKey, QueueSettings, Redrive, RedriveAllow
from tests.contract.world import ACCOUNT, World

OTHER_ACCOUNT = "111111111111"


def _queue(name: str, account: str = ACCOUNT, **settings: object) -> Queue:
    changed = msgspec.structs.replace(QueueSettings(), **settings)
    return Queue(0, QueueKey(account, name), changed, 1_000, 2_000, {"team": "blue"})


async def _names(world: World, account: str | None = ACCOUNT, prefix: str = "") -> list[str]:
    return [queue.key.name for queue in await world.store.catalogue.page(account, prefix, "", 99)]


async def test_created_queue_has_a_number(world: World) -> None:
    created = await world.store.catalogue.create(_queue("jobs"))
    assert created.number > 0
    assert msgspec.structs.replace(created, number=0) == _queue("jobs")


async def test_created_queue_is_found_by_its_key(world: World) -> None:
    created = await world.store.catalogue.create(_queue("jobs"))
    assert await world.store.catalogue.find(QueueKey(ACCOUNT, "jobs")) == created


async def test_queue_that_was_never_created_is_not_found(world: World) -> None:
    assert await world.store.catalogue.find(QueueKey(ACCOUNT, "jobs")) is None


async def test_every_setting_is_kept(world: World) -> None:
    settings = QueueSettings(
        fifo=True,
        lease_ms=1_000,
        delay_ms=2_000,
        retention_ms=70_000,
        wait_ms=3_000,
        message_bytes_max=2_048,
        content_deduplication=True,
        deduplication_scope="messageGroup",
        throughput_limit="perMessageGroupId",
        redrive=Redrive(QueueKey(ACCOUNT, "dead.fifo"), 5),
        redrive_allow=RedriveAllow("byQueue", (QueueKey(ACCOUNT, "a.fifo"),)),
        policy='{"Version":"2008-10-17"}',
        encryption_key="alias/key",
        encryption_reuse_seconds=60,
        encryption_managed=False,
        order_hint=1,
        delivery_paused=True,
        long_delay=True,
        group_concurrency=7,
        group_rate_per_second=8,
    )
    queue = Queue(0, QueueKey(ACCOUNT, "jobs.fifo"), settings, 1, 2, {"a": "", "b": "ü"})
    await world.store.catalogue.create(queue)
    found = await world.store.catalogue.find(queue.key)
    assert found is not None
    assert msgspec.structs.replace(found, number=0) == queue


async def test_creating_again_answers_the_queue_that_is_there(world: World) -> None:
    first = await world.store.catalogue.create(_queue("jobs", delay_ms=1_000))
    second = await world.store.catalogue.create(_queue("jobs", delay_ms=2_000))
    assert second == first


async def test_queue_created_twice_at_the_same_time_is_one(world: World) -> None:
    create = world.store.catalogue.create
    first, second = await asyncio.gather(create(_queue("jobs")), create(_queue("jobs")))
    assert first == second


async def test_accounts_have_names_of_their_own(world: World) -> None:
    mine = await world.store.catalogue.create(_queue("jobs"))
    theirs = await world.store.catalogue.create(_queue("jobs", OTHER_ACCOUNT))
    assert mine.number != theirs.number


async def test_replace_stores_the_change_as_the_next_version(world: World) -> None:
    queue = await world.store.catalogue.create(_queue("jobs"))
    changed = msgspec.structs.replace(queue, modified_ms=9_000, tags={"new": "tag"})
    assert await world.store.catalogue.replace(changed) is True
    found = await world.store.catalogue.find(queue.key)
    assert found == msgspec.structs.replace(changed, version=queue.version + 1)


async def test_replace_of_an_old_version_changes_nothing(world: World) -> None:
    queue = await world.store.catalogue.create(_queue("jobs"))
    await world.store.catalogue.replace(msgspec.structs.replace(queue, modified_ms=1))
    before = await world.store.catalogue.find(queue.key)
    assert await world.store.catalogue.replace(queue) is False
    assert await world.store.catalogue.find(queue.key) == before


async def test_one_of_two_changes_at_the_same_time_wins(world: World) -> None:
    queue = await world.store.catalogue.create(_queue("jobs"))
    changes = [msgspec.structs.replace(queue, modified_ms=number) for number in (1, 2)]
    answers = await asyncio.gather(*map(world.store.catalogue.replace, changes))
    assert sorted(answers) == [False, True]


async def test_replace_of_a_queue_that_is_not_there_is_refused(world: World) -> None:
    assert await world.store.catalogue.replace(_queue("jobs")) is False
    assert await world.store.catalogue.find(QueueKey(ACCOUNT, "jobs")) is None


async def test_replace_does_not_touch_a_later_queue_of_the_same_name(world: World) -> None:
    old = await world.store.catalogue.create(_queue("jobs"))
    await world.store.catalogue.remove(old.key)
    new = await world.store.catalogue.create(_queue("jobs"))
    assert await world.store.catalogue.replace(old) is False
    assert await world.store.catalogue.find(old.key) == new


async def test_removed_queue_is_not_found(world: World) -> None:
    queue = await world.store.catalogue.create(_queue("jobs"))
    assert await world.store.catalogue.remove(queue.key) is True
    assert await world.store.catalogue.find(queue.key) is None
    assert await _names(world) == []


async def test_removing_a_missing_queue_returns_false(world: World) -> None:
    assert await world.store.catalogue.remove(QueueKey(ACCOUNT, "jobs")) is False


async def test_number_of_a_removed_queue_is_not_used_again(world: World) -> None:
    numbers = []
    for _ in range(3):
        queue = await world.store.catalogue.create(_queue("jobs"))
        numbers.append(queue.number)
        await world.store.catalogue.remove(queue.key)
    assert len(set(numbers)) == 3


async def test_messages_go_with_their_queue(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await world.store.catalogue.remove(line.queue.key)
    line = await world.queue()
    assert await line.counts() == (0, 0, 0)


async def test_removed_queue_takes_no_messages(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    partition = line.partition
    await world.store.catalogue.remove(line.queue.key)
    with pytest.raises(QueueMissing):
        await partition.send([line.draft("b")], world.clock.now_ms())


async def test_page_lists_the_queues_of_an_account_by_name(world: World) -> None:
    for name in ("b", "a", "c"):
        await world.store.catalogue.create(_queue(name))
    await world.store.catalogue.create(_queue("theirs", OTHER_ACCOUNT))
    assert await _names(world) == ["a", "b", "c"]


async def test_page_of_all_accounts_goes_by_account_first(world: World) -> None:
    await world.store.catalogue.create(_queue("a", OTHER_ACCOUNT))
    await world.store.catalogue.create(_queue("b"))
    assert await _names(world, None) == ["b", "a"]


async def test_page_keeps_to_the_prefix(world: World) -> None:
    for name in ("jobs-a", "jobs_b", "job", "other", "Jobs-c"):
        await world.store.catalogue.create(_queue(name))
    assert await _names(world, ACCOUNT, "jobs") == ["jobs-a", "jobs_b"]


async def test_prefix_is_taken_literally(world: World) -> None:
    for name in ("a_b", "axb", "a-b"):
        await world.store.catalogue.create(_queue(name))
    assert await _names(world, ACCOUNT, "a_") == ["a_b"]


async def test_pages_follow_on_one_another(world: World) -> None:
    for name in "edcba":
        await world.store.catalogue.create(_queue(name))
    names: list[str] = []
    after = ""
    while page := await world.store.catalogue.page(ACCOUNT, "", after, 2):
        assert len(page) <= 2
        names += [queue.key.name for queue in page]
        after = str(page[-1].key)
    assert names == list("abcde")


async def test_pages_of_all_accounts_follow_on_one_another(world: World) -> None:
    for account in (OTHER_ACCOUNT, ACCOUNT):
        for name in "ba":
            await world.store.catalogue.create(_queue(name, account))
    keys: list[str] = []
    while page := await world.store.catalogue.page(None, "", keys[-1] if keys else "", 1):
        keys.append(str(page[0].key))
    assert keys == [f"{account}/{name}" for account in (ACCOUNT, OTHER_ACCOUNT) for name in "ab"]


async def test_sources_are_the_queues_that_send_their_dead_letters_here(world: World) -> None:
    dead = QueueKey(ACCOUNT, "dead")
    await world.store.catalogue.create(_queue("dead"))
    for name in ("b", "a"):
        await world.store.catalogue.create(_queue(name, redrive=Redrive(dead, 3)))
    await world.store.catalogue.create(
        _queue("c", redrive=Redrive(QueueKey(OTHER_ACCOUNT, "dead"), 3))
    )
    await world.store.catalogue.create(_queue("plain"))
    assert [queue.key.name for queue in await world.store.catalogue.sources(dead)] == ["a", "b"]


async def test_queue_without_sources_has_none(world: World) -> None:
    queue = await world.store.catalogue.create(_queue("dead"))
    assert await world.store.catalogue.sources(queue.key) == []


async def test_changed_redrive_changes_the_sources(world: World) -> None:
    dead = QueueKey(ACCOUNT, "dead")
    line = await world.queue(redrive=Redrive(dead, 3))
    await line.change(redrive=None)
    assert await world.store.catalogue.sources(dead) == []
