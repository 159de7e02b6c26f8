"""Decisions of a resource manager over the admin API, and what happens in a workflow now."""

from pathlib import Path
from typing import Any

import pytest

from dovemq.core.accounts import Role
from dovemq.core.queue import QueueKey
from dovemq.service.recent import KEPT_MS
from dovemq.service.workflows.sizing_records import DECISIONS_KEPT
from tests.server.admin_world import ACCOUNT, World

DECISIONS = "/v1/sizing/decisions"
WORKFLOW = "/v1/workflows/report"


def report(cause: str = "slow", at_ms: int = 5, /, **consumers: tuple[int, int]) -> dict[str, Any]:
    """A decision that gives topics these consumers, before and after."""
    topics = {
        name: {
            "before": before,
            "after": after,
            "service_rate": 2.0,
            "service_scv": 1.0,
            "samples": 12,
            "waiting": 4,
            "running": 1,
            "utilisation_before": 1.2,
            "utilisation_after": round(1.2 * before / after, 3),
        }
        for name, (before, after) in (consumers or {"A": (1, 2), "B": (1, 1)}).items()
    }
    types = {
        "report": {
            "arrival_rate": 1.5,
            "arrival_scv": 1.0,
            "ended": 30,
            "running": 6,
            "overdue": 2,
            "measured_ms": 4_000.0,
            "predicted_before_ms": None,
            "predicted_after_ms": 900.0,
        }
    }
    return {
        "at_ms": at_ms,
        "cause": cause,
        "reason": "the mean response time is 4 s",
        "allocator": "local",
        "span_ms": 60_000,
        "measured_ms": 4_000.0,
        "predicted_before_ms": None,
        "predicted_after_ms": 900.0,
        "topics": topics,
        "types": types,
    }


CALM: dict[str, tuple[int, int]] = {"A": (2, 2), "B": (1, 1)}


async def test_decision_is_shown_as_it_was_published(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert await world.refused("GET", "/v1/sizing") == (404, "NotSized")
    assert await world.get(DECISIONS) == {"decisions": []}
    published = await world.done("POST", DECISIONS, body=report())
    assert published["changes"]
    assert published["topics"]["A"]["utilisation_after"] == 0.6
    assert published["predicted_before_ms"] is None
    assert (published["published_by"], published["rounds"]) == (ACCOUNT, 1)
    assert await world.get(DECISIONS) == {"decisions": [published]}
    assert await world.get("/v1/sizing") == {
        "consumers": {"A": 2, "B": 1},
        "decision": published,
    }


async def test_rounds_without_a_change_are_one_record_with_the_newest_figures(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    begun_ms = world.clock.now_ms()
    await world.done("POST", DECISIONS, body=report())
    for at_ms in (10, 11, 12):
        world.clock.advance(5_000)
        await world.done("POST", DECISIONS, body=report("in band", at_ms, **CALM))
    await world.done("POST", DECISIONS, body=report("getting calm", 13, **CALM))
    found = (await world.get(DECISIONS))["decisions"]
    assert [(each["cause"], each["rounds"]) for each in found] == [
        ("getting calm", 1),
        ("in band", 3),
        ("slow", 1),
    ]
    assert (found[1]["at_ms"], found[1]["first_ms"]) == (12, begun_ms + 5_000)


async def test_changes_are_never_joined(tmp_path: Path) -> None:
    world = World(tmp_path)
    for _ in range(2):
        await world.done("POST", DECISIONS, body=report())
    assert len((await world.get(DECISIONS))["decisions"]) == 2


async def test_only_the_newest_decisions_are_kept(tmp_path: Path) -> None:
    world = World(tmp_path)
    for at_ms in range(DECISIONS_KEPT + 30):
        await world.done("POST", DECISIONS, body=report("slow", at_ms))
    found = (await world.get(DECISIONS, f"limit={DECISIONS_KEPT}"))["decisions"]
    assert [each["at_ms"] for each in found] == list(range(DECISIONS_KEPT + 29, 29, -1))
    assert len((await world.get(DECISIONS, "limit=3"))["decisions"]) == 3
    assert await world.refused("GET", DECISIONS, query="limit=201") == (400, "InvalidValue")


async def test_old_decisions_are_forgotten(tmp_path: Path) -> None:
    world = World(tmp_path)
    for _ in range(3):
        await world.done("POST", DECISIONS, body=report())
    world.clock.advance(KEPT_MS)
    await world.service.workflows.sweeper.sweep()
    assert await world.get(DECISIONS) == {"decisions": []}


@pytest.mark.parametrize(
    "change",
    [{"cause": ""}, {"cause": "x" * 65}, {"at_ms": -1}, {"measured_ms": 1e16}, {"more": 1}],
    ids=str,
)
async def test_decision_out_of_bounds_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    world = World(tmp_path)
    body = {**report(), **change}
    assert await world.refused("POST", DECISIONS, body=body) == (400, "InvalidBody")
    many = {**report(), "topics": dict.fromkeys(map(str, range(101)), report()["topics"]["A"])}
    assert await world.refused("POST", DECISIONS, body=many) == (400, "InvalidBody")


async def test_accounts_see_their_own_decisions(tmp_path: Path) -> None:
    world = World(tmp_path, signed=True)
    somebody = await world.member("somebody", None)
    viewer = await world.member("viewer", Role.VIEWER)
    await world.done("POST", DECISIONS, body=report(), key=somebody)
    of_them = f"account={somebody.account}"
    assert len((await world.get(DECISIONS, of_them, key=viewer))["decisions"]) == 1
    assert await world.get(DECISIONS, key=viewer) == {"decisions": []}
    for method, body in (("GET", None), ("POST", report())):
        refused = await world.refused(
            method, DECISIONS, query=f"account={viewer.account}", key=somebody, body=body
        )
        assert refused == (403, "AccessDenied")
    refused = await world.refused("POST", DECISIONS, query=of_them, key=viewer, body=report())
    assert refused == (403, "AccessDenied")


async def test_activity_counts_messages_and_names_the_bottleneck(tmp_path: Path) -> None:
    world = World(tmp_path)
    await world.done("PUT", WORKFLOW, body={"path": ["A", "B"]})
    shown = await world.get(f"{WORKFLOW}/activity")
    assert shown["bottleneck"] is None
    for number in range(3):
        await world.done("POST", f"{WORKFLOW}/jobs", body={"input": number})
    dead = await world.service.queues.find(QueueKey(ACCOUNT, "topic-B-dead"))
    await world.send(dead, "x")
    world.clock.advance(60_000)
    shown = await world.get(f"{WORKFLOW}/activity")
    assert shown["bottleneck"] == {"topic": "A", "basis": "visible"}
    assert {name: (each["visible"], each["dead"]) for name, each in shown["topics"].items()} == {
        "A": (3, 0),
        "B": (0, 1),
    }
    assert shown["topics"]["A"]["utilisation"] is None
    await world.done("POST", DECISIONS, body=report(A=(2, 4), B=(1, 1)))
    shown = await world.get(f"{WORKFLOW}/activity")
    assert shown["bottleneck"] == {"topic": "B", "basis": "utilisation"}
    assert (shown["topics"]["A"]["workers"], shown["topics"]["A"]["utilisation"]) == (4, 0.6)
    world.clock.advance(3_600_000)
    shown = await world.get(f"{WORKFLOW}/activity")
    assert shown["bottleneck"]["basis"] == "visible", "the decision is old"
    assert await world.refused("GET", "/v1/workflows/none/activity") == (404, "WorkflowMissing")
