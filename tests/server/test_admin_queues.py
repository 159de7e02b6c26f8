"""Queues are created, changed and removed, and dead letters moved back, by the admin API."""

from pathlib import Path
from typing import Any

import pytest

from dovemq.core.commands import Draft
from dovemq.core.queue import QueueKey, Redrive
from tests.server.admin_world import ACCOUNT, World

ORDERS = f"/v1/queues/{ACCOUNT}/orders"


async def test_queue_is_created_changed_and_removed(tmp_path: Path) -> None:
    world = World(tmp_path)
    body = {"attributes": {"VisibilityTimeout": "45"}, "tags": {"team": "a"}}
    created = await world.done("PUT", ORDERS, body=body)
    assert (created["settings"]["lease_ms"], created["tags"]) == (45_000, {"team": "a"})
    assert await world.done("PUT", ORDERS, body=body) == created
    changes = {"attributes": {"DeliveryPaused": "true", "Partitions": "3"}}
    changed = (await world.done("PATCH", ORDERS, body=changes))["attributes"]
    assert (changed["DeliveryPaused"], changed["Partitions"]) == ("true", "3")
    assert changed["VisibilityTimeout"] == "45"
    assert (await world.get(ORDERS))["attributes"] == changed
    await world.done("DELETE", ORDERS)
    assert await world.refused("GET", ORDERS) == (404, "QueueMissing")
    actions = [each["action"] for each in await world.recorded()]
    assert actions == ["create queue", "create queue", "change queue", "remove queue"]


async def test_name_of_a_fifo_queue_says_what_it_is(tmp_path: Path) -> None:
    world = World(tmp_path)
    created = await world.done("PUT", ORDERS + ".fifo", body={})
    assert created["fifo"] is True
    wrong = {"attributes": {"FifoQueue": "true"}}
    assert await world.refused("PUT", ORDERS, body=wrong) == (400, "InvalidValue")


@pytest.mark.parametrize(
    "attributes",
    [
        {"VisibilityTimeout": "43201"},
        {"VisibilityTimeout": "soon"},
        {"NoSuchAttribute": "1"},
        {"RedrivePolicy": "{"},
        {"RedrivePolicy": '{"deadLetterTargetArn": "arn:aws:sqs:us-east-1:1:x"}'},
        {"OrderHint": "0"},
        {"Policy": "[]"},
    ],
)
async def test_invalid_attribute_is_refused_and_changes_nothing(
    tmp_path: Path, attributes: dict[str, str]
) -> None:
    world = World(tmp_path)
    await world.queue("orders")
    before = await world.get(ORDERS)
    body = {"attributes": {"DelaySeconds": "9", **attributes}}
    status, document = await world.ask("PATCH", ORDERS, body=body)
    assert status == 400, document
    assert await world.get(ORDERS) == before
    status, _ = await world.ask("PUT", f"/v1/queues/{ACCOUNT}/fresh", body=body)
    assert status == 400
    missing = await world.refused("GET", f"/v1/queues/{ACCOUNT}/fresh")
    assert missing == (404, "QueueMissing")


async def test_refusal_names_the_attribute_as_the_request_does(tmp_path: Path) -> None:
    world = World(tmp_path)
    await world.queue("orders")
    body = {"attributes": {"VisibilityTimeout": "99999"}}
    _, document = await world.ask("PATCH", ORDERS, body=body)
    assert document["error"]["code"] == "InvalidAttribute"
    assert "VisibilityTimeout" in document["error"]["message"]
    assert "lease_ms" not in document["error"]["message"]


async def test_queue_needs_an_account_that_exists(tmp_path: Path) -> None:
    world = World(tmp_path)
    refused = await world.refused("PUT", "/v1/queues/999999999999/x", body={})
    assert refused == (404, "AccountMissing")


async def test_every_attribute_is_listed_with_its_form_and_range(tmp_path: Path) -> None:
    world = World(tmp_path)
    listed = {each["name"]: each for each in (await world.get("/v1/attributes"))["attributes"]}
    timeout = listed["VisibilityTimeout"]
    assert (timeout["form"], timeout["least"], timeout["most"]) == ("seconds", 0, 43_200)
    assert listed["DequeueStrategy"]["choices"] == ["conventional", "pms", "rds"]
    assert listed["ContentBasedDeduplication"]["fifo"] is True


async def _dead_letters(world: World, count: int) -> str:
    """The path of the moves of a dead-letter queue with so many messages."""
    dead = await world.queue("dead")
    queue = await world.queue("orders", redrive=Redrive(dead.key, 1))
    drafts = [Draft(f"m-{number}", "x", ACCOUNT) for number in range(count)]
    await world.service.messages.send(queue, drafts)
    for _ in range(2):
        for _ in range(count):
            await world.service.messages.receive(queue, 10, lease_ms=0)
    return f"/v1/queues/{dead.key}/moves"


async def test_dead_letters_are_moved_back_at_a_rate(tmp_path: Path) -> None:
    world = World(tmp_path)
    moves = await _dead_letters(world, 3)
    started = await world.done("POST", moves, body={"rate_per_second": 500})
    assert (started["status"], started["to_move"], started["rate_per_second"]) == (
        "RUNNING",
        3,
        500,
    )
    await world.service.moves.idle()
    [listed] = (await world.get(moves))["moves"]
    assert (listed["status"], listed["moved"]) == ("COMPLETED", 3)
    assert (await world.get(ORDERS))["counts"]["visible"] == 3


async def test_move_is_cancelled_while_it_runs(tmp_path: Path) -> None:
    world = World(tmp_path)
    moves = await _dead_letters(world, 30)
    move_id = (await world.done("POST", moves, body={"rate_per_second": 1}))["move_id"]
    assert await world.refused("POST", moves, body={}) == (400, "MoveRefused")
    cancelled = await world.done("DELETE", f"{moves}/{move_id}")
    assert cancelled["status"] in ("CANCELLING", "CANCELLED")
    await world.service.moves.idle()
    [listed] = (await world.get(moves))["moves"]
    assert listed["status"] == "CANCELLED"
    assert listed["moved"] < 30
    assert (await world.ask("DELETE", f"{moves}/{move_id}"))[0] == 400
    assert await world.refused("DELETE", f"{moves}/none") == (404, "MoveMissing")


@pytest.mark.parametrize(
    "body", [{"rate_per_second": 0}, {"rate_per_second": 501}, {"target": "999999999999/x"}]
)
async def test_move_beyond_its_bounds_is_refused(tmp_path: Path, body: dict[str, Any]) -> None:
    world = World(tmp_path)
    moves = await _dead_letters(world, 1)
    assert (await world.ask("POST", moves, body=body))[0] == 400
    assert (await world.get(moves))["moves"] == []


async def test_usage_counts_queues_messages_and_bytes_of_an_account(tmp_path: Path) -> None:
    world = World(tmp_path, signed=True)
    key = await world.member("ann", None)
    for name in "ab":
        queue = await world.service.queues.create(QueueKey(key.account, name), {}, {})
        await world.send(queue, "x" * 100)
    used = await world.get(f"/v1/accounts/{key.account}/usage", key=key)
    assert used["used"]["queues"] == 2
    assert used["used"]["messages"] == 2
    assert used["used"]["bytes"] >= 200
    assert used["quotas"]["queues_max"] is None
