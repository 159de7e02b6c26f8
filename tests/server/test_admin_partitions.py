"""Queues of several partitions over the admin API."""

from pathlib import Path
from typing import Any

import pytest

from dovemq.core.commands import Lease, Receipt
from dovemq.core.message import Message
from dovemq.core.queue import QueueKey
from dovemq.server.control_audit import ControlAudit
from dovemq.server.metrics import Metrics
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
    assert dequeue["partitions"] == {"active": [0, 1, 2, 3], "marked": None, "draining": []}
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


async def sized(tmp_path: Path, **changes: Any) -> World:
    """A queue that sizes itself, after one second of upkeep."""
    world = World(tmp_path)
    world.fabric.sizing.controller.recorder = ControlAudit(world.audit, lambda: "id")
    queue = await world.queue("jobs", auto=True, **changes)
    await world.send(queue, "a")
    await world.fabric.keep_up(leads=True, scan=False)
    return world


async def explained(world: World) -> Any:
    return await world.get(f"/v1/queues/{ACCOUNT}/jobs/explanation")


async def test_queue_that_sizes_itself_is_explained(tmp_path: Path) -> None:
    world = await sized(tmp_path)
    found = await explained(world)
    assert (found["auto"], found["leads"], found["inhibited_ms"]) == (True, True, 0)
    (partition,) = found["partitions"]
    assert (partition["number"], partition["state"], partition["visible"]) == (0, "active", 1)
    assert (partition["producers"], partition["capacity"]) == (0, 12.0)
    assert partition["capacity_measured"] is None
    assert found["sentences"][0].startswith("number of partitions 1, from 1 to 16 allowed")
    assert "by bounds" in found["sentences"][1]
    assert len(found["sentences"]) == 2
    assert found["actions"] == []


async def test_shares_of_clients_exchanges_and_owners_are_shown(tmp_path: Path) -> None:
    world = await sized(tmp_path)
    world.context.metrics = Metrics(world.service, world.meter, 10, [])
    queue = await world.service.queues.find(QueueKey(ACCOUNT, "jobs"))
    message = Message("m", 1, "x", 0, ACCOUNT)
    leases = [Lease(message, Receipt(queue.number, 0, number, 1, 0), 1, 0) for number in range(3)]
    world.meter.exchanged(queue, leases, 1)
    world.meter.exchanged(queue, leases[:1], 2)
    found = await explained(world)
    assert found["flows"] == [
        {"source": 0, "target": 1, "messages": 3},
        {"source": 0, "target": 2, "messages": 1},
    ]
    (partition,) = found["partitions"]
    assert (partition["producer_share"], partition["consumer_share"]) == (0.0, 0.0)
    assert found["owners"] == {}, "this server shares its store with nobody"
    world.meter.removed(queue)
    assert (await explained(world))["flows"] == []


async def test_explanation_has_the_last_actions_of_the_controller(tmp_path: Path) -> None:
    world = await sized(tmp_path, partitions_min=3)
    await world.fabric.keep_up(leads=True, scan=False)
    found = await explained(world)
    assert [each["number"] for each in found["partitions"]] == [0, 1, 2]
    assert [each["partition"] for each in found["actions"]] == [2, 1]
    newest = found["actions"][0]
    assert (newest["action"], newest["rule"]) == ("add partition", "bounds")
    assert newest["reason"] == "the number of partitions, 2, is below 3"
    assert found["inhibited_ms"] == 30_000


async def test_action_of_the_controller_is_audited_without_an_account(tmp_path: Path) -> None:
    world = await sized(tmp_path, partitions_min=2)
    (entry,) = await world.audit.page(None, 10)
    assert (entry["account"], entry["key_id"], entry["peer"]) == (None, None, "")
    assert (entry["target"], entry["outcome"]) == (f"{ACCOUNT}/jobs", "ok")
    assert entry["details"]["partitions"] == 2
    assert entry["details"]["numbers"]["partitions_min"] == 2


async def test_queue_with_a_fixed_number_is_explained(tmp_path: Path) -> None:
    world = await spread(tmp_path)
    await world.service.queues.change(QueueKey(ACCOUNT, "jobs"), {"partitions": 3})
    found = await explained(world)
    assert found["sentences"] == ["number of partitions 3: the number is fixed by its owner"]
    states = [each["state"] for each in found["partitions"]]
    assert states == ["active", "active", "active", "draining"]
    assert sum(each["visible"] for each in found["partitions"]) == 6
    assert found["partitions"][0]["producers"] is None


async def test_queue_that_does_not_exist_is_not_explained(tmp_path: Path) -> None:
    world = World(tmp_path)
    answer: Any = await world.call("GET", f"/v1/queues/{ACCOUNT}/none/explanation")
    assert answer.status == 404
