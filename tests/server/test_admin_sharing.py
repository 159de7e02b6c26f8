"""Viewers share what is read for them: rows of queues at rest, the audit log, owners."""

import asyncio
import gc
from pathlib import Path
from typing import Any

import pytest

from dovemq.core.errors import Busy
from dovemq.core.queue import Redrive
from dovemq.server.audit import MemoryAudit
from dovemq.server.control_audit import FOUND_MAX, HINT_ACTION
from dovemq.server.sharing import INTERVAL_MS, REST_FACTOR, SharedRead
from dovemq.server.snapshots import POINT_MS
from dovemq.service.audit import OK, AuditEntry
from tests.server.admin_world import ACCOUNT, World

DEAD = "topic-scan-dead"


class CountedAudit(MemoryAudit):
    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    async def page(self, after: int | None, count_max: int) -> list[dict[str, Any]]:
        self.reads += 1
        await asyncio.sleep(0)
        return await super().page(after, count_max)


class CountedCluster:
    def __init__(self) -> None:
        self.reads = 0
        self.failure: Exception | None = None

    def unready_reason(self) -> str | None:
        return None

    async def status(self) -> dict[str, Any]:
        self.reads += 1
        await asyncio.sleep(0)
        if self.failure is not None:
            raise self.failure
        owned = {"queue": f"{ACCOUNT}/orders", "partition": 0, "front_end": 5, "epoch": 1}
        return {"front_ends": [], "partitions": [owned]}


def _entry(action: str, number: int, queue: str = "orders") -> AuditEntry:
    return AuditEntry(
        at_ms=number,
        request_id=f"r-{number}",
        account=None,
        key_id=None,
        peer="",
        action=action,
        target=f"{ACCOUNT}/{queue}",
        outcome=OK,
        details={"number": number},
    )


async def test_row_of_a_queue_at_rest_is_kept_and_its_age_is_not(tmp_path: Path) -> None:
    world = World(tmp_path)
    busy, resting = await world.queue("busy"), await world.queue("resting")
    await world.send(resting, "a")
    snapshots = world.context.snapshots
    assert snapshots is not None
    before = await snapshots.current()
    world.clock.advance(INTERVAL_MS)
    await world.send(busy, "a")
    after = await snapshots.current()
    assert after.rows[resting.key] is before.rows[resting.key]
    assert after.rows[busy.key] is not before.rows[busy.key]
    ages = {each.name: each.age_ms(after.at_ms) for each in after.rows.values()}
    assert ages == {"busy": 0, "resting": INTERVAL_MS}


async def test_change_of_settings_is_seen_though_the_counts_stay(tmp_path: Path) -> None:
    world = World(tmp_path)
    queue = await world.queue("orders")
    snapshots = world.context.snapshots
    assert snapshots is not None
    assert not (await snapshots.current()).rows[queue.key].paused
    world.clock.advance(INTERVAL_MS)
    await world.service.queues.change(queue.key, {"delivery_paused": True})
    assert (await snapshots.current()).rows[queue.key].paused


async def test_rate_returns_to_zero_when_a_queue_rests_again(tmp_path: Path) -> None:
    world = World(tmp_path)
    queue = await world.queue("orders")
    rates = []
    for sent in (0, 2, 0, 4):
        await world.send(queue, *"x" * sent)
        world.clock.advance(POINT_MS)
        rows = (await world.get("/v1/overview/queues"))["queues"]
        rates.append(rows[0]["rates"]["sent"])
    assert rates == [0, 0.4, 0, 0.8]


@pytest.mark.parametrize(("topic", "alerts"), [("topic-scan", ["dead-letters"]), ("scan", [])])
async def test_failed_tasks_of_a_topic_are_an_alert(
    tmp_path: Path, topic: str, alerts: list[str]
) -> None:
    world = World(tmp_path)
    await world.queue(topic)
    await world.send(await world.queue(DEAD), "task")
    found = (await world.get("/v1/overview"))["alerts"]
    assert [(each["name"], each["kind"]) for each in found] == [(DEAD, kind) for kind in alerts]
    assert all("retry their jobs" in each["text"] for each in found)
    rows = (await world.get("/v1/overview/queues", "contains=dead"))["queues"]
    assert [row["dead_letters"] for row in rows] == [bool(alerts)]


async def test_dead_letters_of_consumers_are_told_from_failed_tasks(tmp_path: Path) -> None:
    world = World(tmp_path)
    dead = await world.queue("dead")
    await world.queue("orders", redrive=Redrive(dead.key, 1))
    await world.send(dead, "a")
    [alert] = (await world.get("/v1/overview"))["alerts"]
    assert alert["text"] == "messages could not be handled by their consumers"


async def test_audit_log_is_read_when_it_has_new_entries_only(tmp_path: Path) -> None:
    audit = CountedAudit()
    world = World(tmp_path, audit=audit)
    await audit.add(_entry(HINT_ACTION, 1))
    audit.reads = 0

    async def look() -> list[int]:
        found = await asyncio.gather(*(world.get("/v1/decisions") for _ in range(20)))
        assert all(each == found[0] for each in found)
        return [each["number"] for each in found[0]["decisions"]]

    assert await look() == await look() == [1]
    assert audit.reads == 1
    await audit.add(_entry("create queue", 2))
    await audit.add(_entry(HINT_ACTION, 3, "copies"))
    assert await look() == await look() == [3, 1]
    assert audit.reads == 2
    of_queue = await world.get("/v1/decisions", f"queue={ACCOUNT}/orders")
    assert [each["number"] for each in of_queue["decisions"]] == [1]


async def test_newest_actions_are_shown_first_and_few(tmp_path: Path) -> None:
    audit = MemoryAudit(entries_max=5_000)
    world = World(tmp_path, audit=audit)
    for number in range(2_500):
        await audit.add(_entry(HINT_ACTION, number))
        if number in (0, 100):
            await world.get("/v1/decisions")
    found = (await world.get("/v1/decisions"))["decisions"]
    assert [each["number"] for each in found] == list(range(2_499, 2_499 - FOUND_MAX, -1))


async def test_owners_are_read_once_for_all_viewers(tmp_path: Path) -> None:
    world = World(tmp_path)
    await world.queue("orders")
    cluster = world.context.cluster = CountedCluster()
    paths = [f"/v1/queues/{ACCOUNT}/orders/explanation", "/v1/cluster"] * 10
    found = await asyncio.gather(*map(world.get, paths))
    assert found[0]["owners"] == {"0": 5}
    assert cluster.reads == 1
    world.clock.advance(INTERVAL_MS)
    await asyncio.gather(*map(world.get, paths))
    assert cluster.reads == 2


async def test_failed_read_of_owners_is_tried_again(tmp_path: Path) -> None:
    world = World(tmp_path)
    cluster = world.context.cluster = CountedCluster()
    cluster.failure = Busy("The database did not answer.")
    refused = await asyncio.gather(*(world.refused("GET", "/v1/cluster") for _ in range(3)))
    assert refused == [(503, "Busy")] * 3
    cluster.failure = None
    assert (await world.get("/v1/cluster"))["partitions"]


async def test_read_that_takes_long_is_made_less_often() -> None:
    times_ns = iter((0, 100_000_000, 0, 0))
    read_at: list[int] = []

    async def read(now_ms: int) -> int:
        read_at.append(now_ms)
        return now_ms

    shared = SharedRead(read, lambda: next(times_ns))
    pause_ms = 100 * REST_FACTOR
    found = [await shared.current(now_ms) for now_ms in (1, INTERVAL_MS + 1, pause_ms + 1)]
    assert found == [1, 1, pause_ms + 1]
    assert read_at == [1, pause_ms + 1]


async def test_failure_of_a_read_whose_viewers_have_gone_is_not_reported() -> None:
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))

    gone = asyncio.Event()

    async def fail(_: int) -> None:
        await gone.wait()
        raise Busy("the store is slow")

    viewer = asyncio.create_task(SharedRead(fail).current(0))
    await asyncio.sleep(0)
    viewer.cancel()
    await asyncio.wait([viewer])
    gone.set()
    await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()})
    del viewer
    gc.collect()
    assert reported == []
