"""Queues of several partitions over the admin API."""

from pathlib import Path
from typing import Any

import pytest

from tests.server.admin_world import ACCOUNT, World


async def spread(tmp_path: Path) -> World:
    world = World(tmp_path)
    queue = await world.queue("jobs", partitions=4, dequeue_fanout=4)
    for body in "abcdef":
        await world.send(queue, body)
    return world


async def test_queue_shows_its_partitions_and_what_receives_cost(tmp_path: Path) -> None:
    world = await spread(tmp_path)
    shown = await world.get(f"/v1/queues/{ACCOUNT}/jobs")
    assert shown["settings"]["partitions"] == 4
    assert shown["counts"]["visible"] == 6
    dequeue = shown["dequeue"]
    assert dequeue["partitions"] == {"active": [0, 1, 2, 3], "draining": []}
    assert set(dequeue["cost"]) == {"send", "hit", "message", "miss", "look"}


async def test_pages_of_a_peek_follow_each_other(tmp_path: Path) -> None:
    world = await spread(tmp_path)
    path = f"/v1/queues/{ACCOUNT}/jobs/messages"
    first = await world.get(path, "limit=4")
    assert [each["body"] for each in first["messages"]] == list("abcd")
    assert [each["partition"] for each in first["messages"]] == [0, 1, 2, 3]
    last = first["messages"][-1]
    assert first["next"] == f"{last['sequence']}.3"
    second = await world.get(path, f"limit=4&after={first['next']}")
    assert [each["body"] for each in second["messages"]] == list("ef")
    assert second["next"] is None


@pytest.mark.parametrize("after", ["1.", "1.256", "1.x", ".1.2", "x.1"])
async def test_place_that_is_none_is_refused(tmp_path: Path, after: str) -> None:
    world = await spread(tmp_path)
    answer: Any = await world.call("GET", f"/v1/queues/{ACCOUNT}/jobs/messages", f"after={after}")
    assert answer.status == 400
