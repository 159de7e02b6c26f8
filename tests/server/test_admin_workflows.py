"""Workflows and their jobs over the admin API: who may do what, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from dovemq.core.access import AccessKey
from dovemq.core.accounts import Role
from tests.server.admin_world import KEY, World

FORK = {
    "flow": {"start": ["A"], "A": ["B", "C"], "B": ["D"], "C": ["D"]},
    "joins": ["D"],
    "attempts_max": 1,
}


@pytest.fixture
async def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    await made.done("PUT", "/v1/workflows/report", body=FORK)
    return made


async def _submitted(world: World, **body: Any) -> str:
    job = await world.done("POST", "/v1/workflows/report/jobs", body=body)
    return f"/v1/jobs/{job['job_id']}"


async def _ended(world: World, job: str, task: str, result: Any = None) -> dict[str, Any]:
    body = {"attempt": 1, "worker": "w", "service_ms": 12.5, "result": result}
    answer: dict[str, Any] = await world.done("POST", f"{job}/tasks/{task}/end", body=body)
    return answer


async def test_specification_is_shown_as_it_was_put(world: World) -> None:
    spec = await world.get("/v1/workflows/report")
    assert (spec["type"], spec["version"], spec["attempts_max"]) == ("report", 1, 1)
    [route] = spec["routes"]
    assert route["tasks"]["D"] == {"topic": "D", "after": ["B", "C"]}
    assert spec["topics"]["A"] == {
        "queue": "topic-A",
        "dead_queue": "topic-A-dead",
        "lease_seconds": 60,
    }
    assert await world.get("/v1/workflows") == {"workflows": [spec]}
    assert await world.get("/v1/workflows/report", "version=1") == spec
    assert await world.refused("GET", "/v1/workflows/other") == (404, "WorkflowMissing")


async def test_wrong_specification_is_refused_with_its_place(world: World) -> None:
    status, answer = await world.ask("PUT", "/v1/workflows/x", body={"path": ["a b"]})
    assert status == 400
    assert answer["error"]["code"] == "WorkflowInvalid"
    assert answer["error"]["message"].startswith("jobs.x.path.a b: ")
    assert await world.refused("PUT", "/v1/workflows/x", body={"pith": []}) == (400, "InvalidBody")


async def test_job_runs_through_its_tasks_to_its_result(world: World) -> None:
    job = await _submitted(world, input={"pages": 3})
    assert await world.refused("GET", f"{job}/result") == (409, "NotEnded")
    started = await world.done(
        "POST", f"{job}/tasks/A/start", body={"attempt": 1, "worker": "w", "deliveries": 1}
    )
    assert started == {"wanted": True, "state": "running"}
    assert await _ended(world, job, "A", 1) == {
        "accepted": True,
        "state": "running",
        "task_state": "ended",
    }
    assert (await _ended(world, job, "A", 2))["accepted"] is False
    for task in "BCD":
        await _ended(world, job, task, task)
    shown = await world.get(job)
    assert (shown["state"], shown["result"], shown["input"]) == ("ended", "D", {"pages": 3})
    assert shown["results"] == {"A": 1, "B": "B", "C": "C", "D": "D"}
    assert shown["tasks"]["A"]["service_ms"] == 12.5
    assert (await world.get(f"{job}/result"))["result"] == "D"
    events = (await world.get(f"{job}/timeline"))["events"]
    assert (events[0]["event"], events[-1]["event"]) == ("submitted", "job ended")


async def test_failed_job_is_retried_and_cancelled(world: World) -> None:
    job = await _submitted(world)
    failure = {"attempt": 1, "worker": "w", "service_ms": 1, "error": "broken"}
    answer = await world.done("POST", f"{job}/tasks/A/failure", body=failure)
    assert answer == {"accepted": True, "state": "failed", "task_state": "failed"}
    assert (await world.get(job))["error"] == "A: broken"
    assert (await world.done("POST", f"{job}/retry"))["state"] == "running"
    assert (await world.done("POST", f"{job}/cancellation"))["state"] == "cancelled"
    assert await world.refused("POST", f"{job}/retry") == (409, "JobRefused")
    started = await world.done("POST", f"{job}/tasks/A/start", body={"attempt": 2})
    assert started == {"wanted": False, "state": "cancelled"}


async def test_jobs_are_listed_page_by_page_and_by_state(world: World) -> None:
    paths = []
    for number in range(5):
        world.clock.advance(1)
        paths.append(await _submitted(world, input=number))
    await world.done("POST", f"{paths[1]}/cancellation")
    first = await world.get("/v1/jobs", "limit=3")
    assert [f"/v1/jobs/{job['job_id']}" for job in first["jobs"]] == paths[:1:-1]
    second = await world.get("/v1/jobs", f"limit=3&after={first['next']}")
    assert [f"/v1/jobs/{job['job_id']}" for job in second["jobs"]] == paths[1::-1]
    found = await world.get("/v1/jobs", "state=cancelled&type=report")
    assert [f"/v1/jobs/{job['job_id']}" for job in found["jobs"]] == paths[1:2]
    assert "input" not in found["jobs"][0]
    for query in ("state=odd", "type=a%00b", "after=a/b"):
        assert await world.refused("GET", "/v1/jobs", query=query) == (400, "InvalidValue")


async def test_same_key_gives_the_same_job(world: World) -> None:
    assert await _submitted(world, key="k") == await _submitted(world, key="k")


@pytest.mark.parametrize(
    ("path", "body", "refusal"),
    [
        ("/v1/jobs/none/retry", None, (404, "JobMissing")),
        ("/v1/jobs/a%00b/retry", None, (404, "JobMissing")),
        ("{job}/tasks/none/start", {"attempt": 1}, (404, "TaskMissing")),
        ("{job}/tasks/A/start", {"attempt": 0}, (400, "InvalidBody")),
        ("{job}/tasks/A/end", {"attempt": 1, "service_ms": -1}, (400, "InvalidBody")),
        ("{job}/tasks/A/failure", {"attempt": 1}, (400, "InvalidBody")),
        ("/v1/workflows/none/jobs", {}, (404, "WorkflowMissing")),
        ("/v1/workflows/report/jobs", {"inputs": 1}, (400, "InvalidBody")),
        ("/v1/workflows/report/jobs", {"input": "x" * 70_000}, (400, "InvalidValue")),
    ],
)
async def test_wrong_request_is_refused_by_name(
    world: World, path: str, body: Any, refusal: tuple[int, str]
) -> None:
    job = await _submitted(world)
    assert await world.refused("POST", path.format(job=job), body=body) == refusal


async def test_account_without_a_role_has_its_own_workflows_alone(tmp_path: Path) -> None:
    world = World(tmp_path, signed=True)
    keys = {}
    for name, role in (("mine", None), ("viewer", Role.VIEWER), ("operator", Role.OPERATOR)):
        number = (await world.accounts.add(name, role=role)).number
        made = await world.done("POST", f"/v1/accounts/{number}/credentials", key=KEY, body={})
        keys[name] = AccessKey(made["key_id"], made["secret"], number)
    mine = keys["mine"]
    await world.done("PUT", "/v1/workflows/x", key=mine, body={"path": ["A"]})
    job = (await world.done("POST", "/v1/workflows/x/jobs", key=mine, body={}))["job_id"]
    assert (await world.done("GET", f"/v1/jobs/{job}", key=mine))["account"] == mine.account
    others = f"account={mine.account}"

    async def status(name: str, method: str, path: str, query: str = "", body: Any = None) -> int:
        return (await world.ask(method, path, query, key=keys[name], body=body))[0]

    assert await status("viewer", "GET", f"/v1/jobs/{job}") == 404
    assert await status("viewer", "GET", f"/v1/jobs/{job}", others) == 200
    assert await status("viewer", "POST", f"/v1/jobs/{job}/cancellation", others) == 403
    assert await status("operator", "POST", f"/v1/jobs/{job}/cancellation", others) == 200
    body = {"path": ["B"]}
    assert await status("operator", "PUT", "/v1/workflows/x", others, body) == 403
    assert await status("mine", "GET", "/v1/jobs", f"account={keys['viewer'].account}") == 403
