"""Operators send, find, delete, release and move single messages by the admin API."""

import base64
from pathlib import Path
from typing import Any

import pytest

from dovemq.core.queue import Queue, QueueKey, Redrive
from tests.server.admin_world import ACCOUNT, World


def _at(queue: Queue, place: str = "") -> str:
    return f"/v1/queues/{queue.key}/messages" + (f"/{place}" if place else "")


async def _places(world: World, queue: Queue) -> list[str]:
    page = await world.get(_at(queue), "limit=100")
    return [f"{each['sequence']}.{each['partition']}" for each in page["messages"]]


async def test_message_is_sent_with_attributes_group_and_delay(tmp_path: Path) -> None:
    world = World(tmp_path)
    queue = await world.queue("orders")
    attributes = {
        "n": {"type": "Number", "value": "7"},
        "raw": {"type": "Binary", "base64": base64.b64encode(b"\0\1").decode()},
    }
    wanted = {"body": "hello", "attributes": attributes, "group": "g", "delay_ms": 5_000}
    [sent] = (await world.done("POST", _at(queue), body={"messages": [wanted]}))["sent"]
    assert not sent["duplicate"]
    [found] = (await world.get(_at(queue)))["messages"]
    assert {name: found[name] for name in ("body", "attributes", "group", "visibility")} == {
        "body": "hello",
        "attributes": attributes,
        "group": "g",
        "visibility": "delayed",
    }
    assert found["visible_ms"] == world.clock.now_ms() + 5_000
    assert found["sender"] == ACCOUNT
    [entry] = [each for each in await world.recorded() if each["action"] == "send messages"]
    assert entry["details"] == {"messages": 1}, "no body is recorded"


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"body": ""}, "MissingValue"),
        ({"body": "\0"}, "InvalidContents"),
        ({"body": "x", "delay_ms": 10**9}, "InvalidValue"),
        ({"body": "x", "delay_ms": -1}, "InvalidBody"),
        ({"body": "x", "secret": 1}, "InvalidBody"),
        ({"body": "x", "deduplication_id": "d"}, "InvalidValue"),
        (
            {"body": "x", "attributes": {"a": {"type": "Odd", "value": "1"}}},
            "InvalidMessageAttribute",
        ),
        (
            {"body": "x", "attributes": {"a": {"type": "Binary", "base64": "%"}}},
            "InvalidMessageAttribute",
        ),
    ],
)
async def test_invalid_message_is_refused_with_all_others_of_its_request(
    tmp_path: Path, message: dict[str, Any], code: str
) -> None:
    world = World(tmp_path)
    queue = await world.queue("orders")
    body = {"messages": [{"body": "good"}, message]}
    assert await world.refused("POST", _at(queue), body=body) == (400, code)
    assert await _places(world, queue) == []


async def test_too_many_messages_or_bytes_are_refused(tmp_path: Path) -> None:
    world = World(tmp_path)
    queue = await world.queue("orders")
    many = {"messages": [{"body": "x"}] * 101}
    assert await world.refused("POST", _at(queue), body=many) == (400, "InvalidBody")
    large = {"messages": [{"body": "x" * 600_000}] * 2}
    assert await world.refused("POST", _at(queue), body=large) == (400, "BatchTooLong")
    huge = {"messages": [{"body": "x" * (5 << 20)}]}
    assert await world.refused("POST", _at(queue), body=huge) == (413, "BodyTooLong")
    other = {"attributes": {"Policy": "x" * (65 << 10)}}
    path = f"/v1/queues/{queue.key}"
    assert await world.refused("PATCH", path, body=other) == (413, "BodyTooLong")


@pytest.mark.parametrize("name", ["orders", "orders.fifo"])
async def test_message_is_deleted_whether_visible_or_leased(tmp_path: Path, name: str) -> None:
    world = World(tmp_path)
    queue = await world.queue(name)
    for body in "ab":
        await world.send(queue, body, group="g", deduplication_id=body if queue.key.fifo else None)
    await world.service.messages.receive(queue, 1)
    for place in await _places(world, queue):
        assert await world.done("DELETE", _at(queue, place)) == {"deleted": place}
        missing = (404, "MessageMissing")
        assert await world.refused("DELETE", _at(queue, place)) == missing
        assert await world.refused("GET", _at(queue, place)) == missing
    assert (await world.service.queues.counts(queue)).leased == 0


async def test_leased_message_is_released_and_received_again(tmp_path: Path) -> None:
    world = World(tmp_path)
    queue = await world.queue("orders")
    await world.send(queue, "a")
    [place] = await _places(world, queue)
    release = _at(queue, place) + "/release"
    assert await world.refused("POST", release) == (409, "MessageVisible")
    await world.service.messages.receive(queue, 1)
    shown = await world.get(_at(queue, place))
    assert (shown["visibility"], shown["receive_count"]) == ("leased", 1)
    assert shown["visible_ms"] == world.clock.now_ms() + 30_000
    await world.done("POST", release)
    [again] = await world.service.messages.receive(queue, 1)
    assert again.lease.receive_count == 2


async def test_delayed_message_has_no_lease_to_end(tmp_path: Path) -> None:
    world = World(tmp_path)
    queue = await world.queue("orders")
    await world.send(queue, "a", delay_ms=9_000)
    [place] = await _places(world, queue)
    refused = await world.refused("POST", _at(queue, place) + "/release")
    assert refused == (409, "MessageDelayed")


async def test_dead_letter_returns_to_its_queue_with_a_new_start(tmp_path: Path) -> None:
    world = World(tmp_path)
    dead = await world.queue("dead")
    queue = await world.queue("orders", redrive=Redrive(dead.key, 1))
    await world.send(queue, "a")
    await world.service.messages.receive(queue, 1, lease_ms=0)
    assert await world.service.messages.receive(queue, 1) == []
    [place] = await _places(world, dead)
    move = _at(dead, place) + "/move"
    assert await world.done("POST", move, body={}) == {"moved": place}
    [found] = (await world.get(_at(queue)))["messages"]
    assert (found["body"], found["receive_count"], found["source"]) == ("a", 0, None)
    assert await _places(world, dead) == []


async def test_message_moves_only_where_it_may(tmp_path: Path) -> None:
    world = World(tmp_path)
    queue, other = await world.queue("orders"), await world.queue("other")
    await world.queue("lanes.fifo")
    await world.send(queue, "a", "b")
    first, second = await _places(world, queue)
    move = _at(queue, first) + "/move"
    assert await world.refused("POST", move, body={}) == (409, "OriginUnknown")
    for name in ("none", "orders", "lanes.fifo"):
        body = {"target": f"{ACCOUNT}/{name}"}
        assert await world.refused("POST", move, body=body) == (409, "TargetInvalid")
    for target in ("111111111111/other", "other"):
        body = {"target": target}
        assert await world.refused("POST", move, body=body) == (400, "TargetInvalid")
    to_other = {"target": str(other.key)}
    await world.service.messages.receive(queue, 1)
    assert await world.refused("POST", move, body=to_other) == (409, "MessageLeased")
    await world.done("POST", _at(queue, second) + "/move", body=to_other)
    assert [each["body"] for each in (await world.get(_at(other)))["messages"]] == ["b"]


async def test_search_looks_at_a_bounded_window_and_goes_on_after_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    queue = await world.queue("orders")
    await world.send(
        queue, *(f"{number:03} {'red' if number % 50 == 7 else 'blue'}" for number in range(200))
    )
    page = await world.get(_at(queue), "contains=red&window=100")
    assert [each["body"][:3] for each in page["messages"]] == ["007", "057"]
    assert page["looked"] == 100
    rest = await world.get(_at(queue), f"contains=red&after={page['next']}")
    assert [each["body"][:3] for each in rest["messages"]] == ["107", "157"]
    assert (rest["looked"], rest["next"]) == (100, None)
    first = await world.get(_at(queue), "contains=red&limit=1")
    then = await world.get(_at(queue), f"contains=red&limit=1&after={first['next']}")
    assert [each["messages"][0]["body"][:3] for each in (first, then)] == ["007", "057"]


async def test_search_finds_messages_by_state_attribute_and_group(tmp_path: Path) -> None:
    world = World(tmp_path)
    queue = await world.queue("orders")
    messages = [
        {"body": "a", "attributes": {"color": {"type": "String", "value": "green"}}},
        {"body": "b", "group": "tenant-9"},
        {"body": "c", "delay_ms": 1_000},
    ]
    await world.done("POST", _at(queue), body={"messages": messages})
    for query, bodies in (
        ("contains=green", ["a"]),
        ("contains=color", ["a"]),
        ("contains=tenant-9", ["b"]),
        ("visibility=delayed", ["c"]),
        ("visibility=leased", []),
    ):
        found = (await world.get(_at(queue), query))["messages"]
        assert [each["body"] for each in found] == bodies, query
    for query in ("visibility=odd", f"contains={'x' * 1001}", "window=0", "window=1001"):
        status, _ = await world.ask("GET", _at(queue), query)
        assert status == 400, query


@pytest.mark.parametrize("place", ["x", "1.x", "1.999", "-1", "1.1.1", ""])
async def test_place_that_is_none_is_refused(tmp_path: Path, place: str) -> None:
    world = World(tmp_path)
    queue = await world.queue("orders")
    status, _ = await world.ask("GET", f"{_at(queue)}/{place}")
    assert status in (400, 404)


async def test_single_messages_of_several_partitions_are_found_by_place(tmp_path: Path) -> None:
    world = World(tmp_path)
    key = QueueKey(ACCOUNT, "wide")
    queue = await world.service.queues.create(key, {"partitions": 3}, {})
    for number in range(9):
        await world.send(queue, str(number))
    places = await _places(world, queue)
    assert {place.partition(".")[2] for place in places} == {"0", "1", "2"}
    for place in places[::2]:
        shown = await world.get(_at(queue, place))
        assert f"{shown['sequence']}.{shown['partition']}" == place
        await world.done("DELETE", _at(queue, place))
    assert await _places(world, queue) == places[1::2]
