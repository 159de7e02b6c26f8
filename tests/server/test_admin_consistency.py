"""Measurements that a monitor reports over the admin API, and the roles that can read them."""

from pathlib import Path
from typing import Any

import pytest

from dovemq.core.accounts import Role
from dovemq.core.queue import QueueKey
from dovemq.server.consistency_history import POINT_MS, POINTS_KEPT
from dovemq.server.measurements import Measurement, Measurements, PublishedMeasurement
from dovemq.server.metrics import Metrics
from tests.server.admin_world import ACCOUNT, World

PATH = f"/v1/queues/{ACCOUNT}/jobs/consistency"
COUNTS: dict[str, Any] = {
    "source": "monitor",
    "from_ms": 1_000,
    "to_ms": 9_000,
    "messages": 10,
    "received": 8,
    "duplicates": 1,
    "lost": 2,
    "open": 0,
    "ordered": 8,
    "out_of_order": 2,
    "displacement": 4,
}


async def test_what_was_told_is_shown_with_its_rates(tmp_path: Path) -> None:
    world = World(tmp_path, signed=True)
    await world.queue("jobs")
    operator = await world.member("monitor", Role.OPERATOR)
    viewer = await world.member("reader", Role.VIEWER)
    assert await world.refused("GET", PATH, key=viewer) == (404, "NotMeasured")
    await world.done("PUT", PATH, body=COUNTS, key=operator)
    assert await world.get(PATH, key=viewer) == {
        **COUNTS,
        "duplication_rate": 0.1,
        "loss_rate": 0.2,
        "out_of_order_rate": 0.25,
        "average_displacement": 0.5,
        "published_ms": world.clock.now_ms(),
        "published_by": operator.account,
    }
    await world.done("PUT", PATH, body={**COUNTS, "lost": 0}, key=operator)
    assert (await world.get(PATH, key=viewer))["loss_rate"] == 0


@pytest.mark.parametrize(
    "change",
    [
        {"lost": -1},
        {"lost": 1.5},
        {"lost": 2**63},
        {"source": ""},
        {"source": "x" * 129},
        {"to_ms": 999},
        {"open": 9},
        {"ordered": 9},
        {"out_of_order": 9},
        {"more": 1},
    ],
    ids=str,
)
async def test_counts_that_cannot_be_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    world = World(tmp_path)
    await world.queue("jobs")
    body = {**COUNTS, **change}
    assert await world.refused("PUT", PATH, body=body) == (400, "InvalidBody")
    assert await world.refused("GET", PATH) == (404, "NotMeasured")


async def test_queue_that_is_created_again_has_no_measurement(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert await world.refused("PUT", PATH, body=COUNTS) == (404, "QueueMissing")
    await world.queue("jobs")
    await world.done("PUT", PATH, body=COUNTS)
    await world.service.queues.remove(QueueKey(ACCOUNT, "jobs"))
    assert await world.refused("GET", PATH) == (404, "QueueMissing")
    world.clock.advance(600_000)
    await world.queue("jobs")
    assert await world.refused("GET", PATH) == (404, "NotMeasured")


async def test_history_shows_what_happened_at_each_k(tmp_path: Path) -> None:
    world = World(tmp_path)
    await world.queue("jobs")
    assert await world.get(f"{PATH}/history") == {"points": [], "by_k": []}
    await world.done("PUT", PATH, body=COUNTS)
    world.clock.advance(POINT_MS)
    place = PATH.removesuffix("/consistency")
    await world.done("PATCH", place, body={"attributes": {"OrderHint": "20"}})
    more = {"messages": 30, "received": 28, "ordered": 28, "out_of_order": 12, "displacement": 44}
    await world.done("PUT", PATH, body={**COUNTS, **more})
    shown = await world.get(f"{PATH}/history")
    first, second = shown["points"]
    assert (first["k"], first["recent"]) == (1, first["total"])
    assert (second["k"], second["order_hint"], second["messages"]) == (20, 20, 20)
    assert second["recent"] == {
        "duplication_rate": 0.0,
        "loss_rate": 0.0,
        "out_of_order_rate": 0.5,
        "average_displacement": 2.0,
    }
    assert second["total"]["out_of_order_rate"] == 12 / 28
    assert [(each["k"], each["out_of_order_rate"]) for each in shown["by_k"]] == [
        (1, 0.25),
        (20, 0.5),
    ]


async def test_history_has_few_points_and_begins_anew_with_another_monitor(tmp_path: Path) -> None:
    world = World(tmp_path)
    await world.queue("jobs")
    for number in range(12):
        await world.done("PUT", PATH, body={**COUNTS, "messages": 10 + number})
        world.clock.advance(POINT_MS // 6)
    points = (await world.get(f"{PATH}/history"))["points"]
    assert [each["messages"] for each in points] == [15, 6]
    await world.done("PUT", PATH, body={**COUNTS, "source": "another"})
    points = (await world.get(f"{PATH}/history"))["points"]
    assert points[-1]["recent"] == points[-1]["total"], "nothing is known of the time before"
    await world.done("PUT", PATH, body={**COUNTS, "source": "another"})
    assert (await world.get(f"{PATH}/history"))["points"][-1]["messages"] == 10


async def test_history_is_bounded_and_as_old_as_the_queue(tmp_path: Path) -> None:
    world = World(tmp_path)
    await world.queue("jobs")
    for _ in range(POINTS_KEPT + 5):
        await world.done("PUT", PATH, body=COUNTS)
        world.clock.advance(POINT_MS)
    assert len((await world.get(f"{PATH}/history"))["points"]) == POINTS_KEPT
    await world.service.queues.remove(QueueKey(ACCOUNT, "jobs"))
    world.clock.advance(600_000)
    await world.queue("jobs")
    assert (await world.get(f"{PATH}/history"))["points"] == []


async def test_the_queue_told_of_longest_ago_is_forgotten_first(tmp_path: Path) -> None:
    world = World(tmp_path)
    queues = [await world.queue(f"q{number}") for number in range(3)]
    measured = PublishedMeasurement(Measurement(**COUNTS), 0, ACCOUNT)
    board = Measurements(queues_max=2)
    for queue in (queues[0], queues[1], queues[0], queues[2]):
        board.put(queue, measured)
    assert [board.get(queue) is not None for queue in queues] == [True, False, True]


async def test_rates_are_among_the_metrics_of_the_queue(tmp_path: Path) -> None:
    world = World(tmp_path)
    board = Measurements()
    metrics = Metrics(world.service, world.meter, 10, [], board)
    queue = await world.queue("jobs")
    assert b"dovemq_queue_consistency{" not in await metrics.text()
    board.put(queue, PublishedMeasurement(Measurement(**COUNTS), 0, ACCOUNT))
    labels = f'account="{ACCOUNT}",figure="loss_rate",queue="jobs"'
    assert f"dovemq_queue_consistency{{{labels}}} 0.2\n".encode() in await metrics.text()
