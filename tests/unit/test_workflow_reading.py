"""Specifications of workflows: three forms of a route, and what is refused with its place."""

from typing import Any

import pytest

from dovemq.core.errors import WorkflowInvalid
from dovemq.core.workflows.broker import last_tasks, route_of, table_of
from dovemq.core.workflows.reading import read_file, read_specification
from dovemq.core.workflows.specification import TaskSpec

FORK = {
    "fetch": {"topic": "A"},
    "text": {"topic": "B", "after": ["fetch"]},
    "image": {"topic": "C", "after": ["fetch"]},
    "join": {"topic": "D", "after": ["text", "image"]},
}
JOBS = 20_000


def test_path_visits_a_topic_twice_as_two_tasks() -> None:
    spec = read_specification("2", {"path": ["A", "D", "D"]})
    assert spec.routes[0].tasks == (
        TaskSpec("A", "A"),
        TaskSpec("D", "D", ("A",)),
        TaskSpec("D#2", "D", ("D",)),
    )
    assert [topic.queue for topic in spec.topics] == ["topic-A", "topic-D"]


def test_flow_is_the_same_as_the_tasks_it_stands_for() -> None:
    flow = {"start": ["A"], "A": ["B", "C"], "B": ["D"], "C": ["D"]}
    spec = read_specification("x", {"flow": flow, "joins": ["D"]})
    tasks: dict[str, Any] = {name: {"topic": name, "after": []} for name in "ABCD"}
    tasks |= {"B": {"topic": "B", "after": ["A"]}, "C": {"topic": "C", "after": ["A"]}}
    tasks["D"]["after"] = ["B", "C"]
    assert spec.same_as(read_specification("x", {"tasks": tasks}))


def test_broker_answers_what_comes_after_a_task() -> None:
    route = read_specification("report", {"tasks": FORK}).routes[0]
    assert table_of(route) == {
        "": ("fetch",),
        "fetch": ("text", "image"),
        "text": ("join",),
        "image": ("join",),
        "join": (),
    }
    assert last_tasks(route) == ["join"]


def test_jobs_take_routes_by_their_shares_and_always_the_same() -> None:
    routes = [{"share": share, "path": [topic]} for share, topic in ((0.2, "A"), (0.8, "B"))]
    spec = read_specification("x", {"routes": [*routes, {"share": 0, "path": ["C"]}]})
    taken = [route_of(spec, f"job-{number}") for number in range(JOBS)]
    assert taken == [route_of(spec, f"job-{number}") for number in range(JOBS)]
    assert taken.count(0) / JOBS == pytest.approx(0.2, abs=0.01)
    assert 2 not in taken


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "jobs.x: one of path, tasks, flow and routes is needed"),
    ({"path": []}, "jobs.x.path: 1 to 64 tasks are needed"),
    ({"path": ["A"], "tasks": FORK}, "jobs.x: one of path, tasks, flow and routes is needed"),
    ({"path": ["a b"]}, "jobs.x.path.a b: a t"),
    ({"pith": ["A"]}, "jobs.x.pith: unknown key"),
    ({"path": "A"}, "jobs.x.path: Expected `array | null`, got `str`"),
    ({"tasks": {"a": {}}}, "jobs.x.tasks[...].topic: missing"),
    (
        {"tasks": {"a": {"topic": "A", "after": ["b"]}}},
        "jobs.x.tasks.a.after: b is unknown",
    ),
    (
        {"tasks": {"a": {"topic": "A", "after": ["b", "b"]}, "b": {"topic": "A"}}},
        "jobs.x.tasks.a.after: a task is named twice",
    ),
    (
        {
            "tasks": {
                "first": {"topic": "A"},
                "a": {"topic": "A", "after": ["first", "b"]},
                "b": {"topic": "B", "after": ["a"]},
            }
        },
        "jobs.x.tasks.a: its tasks wait in a circle: a → b → a",
    ),
    ({"flow": {"A": ["B"]}}, "jobs.x.flow.start: the first tasks are missing"),
    (
        {"flow": {"start": ["A"], "A": ["B"], "C": ["D"]}},
        "jobs.x.flow.C: no task leads here: it is unreachable",
    ),
    (
        {"flow": {"start": ["A", "B"], "A": ["C"], "B": ["C"]}},
        "jobs.x.flow.C: A, B lead to it: name it in joins, or give each its own task",
    ),
    (
        {"flow": {"start": ["A"], "A": ["B"]}, "joins": ["B"]},
        "jobs.x.joins.B: fewer than two tasks lead to this join",
    ),
    (
        {"flow": {"start": ["A"], "A": ["B"], "B": ["A"]}, "joins": ["A"]},
        "jobs.x.flow.A: it cannot be first and after other tasks",
    ),
    ({"path": ["A"], "joins": ["A"]}, "jobs.x.joins: joins belong to flow"),
    ({"path": ["A"], "topics": {"B": {}}}, "jobs.x.topics.B: no task has this topic"),
    (
        {"path": ["A"], "topics": {"A": {"lease_seconds": 0}}},
        "jobs.x.topics.A.lease_seconds: 0 is not from 1 to 43200",
    ),
    ({"path": ["A"], "attempts_max": 21}, "jobs.x.attempts_max: 21 is not from 1 to 20"),
    (
        {"routes": [{"share": 0.5, "path": ["A"]}, {"share": 0.4, "path": ["B"]}]},
        "jobs.x.routes: the shares add up to 0.9, not to 1",
    ),
    (
        {"routes": [{"share": 1.5, "path": ["A"]}]},
        "jobs.x.routes.1.share: 1.5 is not from 0 to 1",
    ),
    ({"routes": []}, "jobs.x.routes: 1 to 16 routes are needed"),
    (
        {"routes": [{"path": ["A"]}], "path": ["A"]},
        "jobs.x: routes exclude path, tasks, flow and joins",
    ),
]


@pytest.mark.parametrize(("content", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_wrong_specification_is_refused_with_its_place(content: dict[str, Any], text: str) -> None:
    with pytest.raises(WorkflowInvalid) as refused:
        read_specification("x", content)
    assert str(refused.value).startswith(text)


def test_type_that_is_no_name_is_refused() -> None:
    with pytest.raises(WorkflowInvalid, match="a type has 1 to 64"):
        read_specification("a/b", {"path": ["A"]})


def test_file_gives_each_type_the_topics_that_it_uses() -> None:
    content: dict[str, Any] = {
        "topics": {"A": {"lease_seconds": 5}, "B": {"lease_seconds": 7}},
        "jobs": {"1": {"path": ["A"]}, "2": {"path": ["A", "B"]}},
    }
    bodies = read_file(content)
    assert bodies["1"]["topics"] == {"A": {"lease_seconds": 5}}
    assert set(bodies["2"]["topics"]) == {"A", "B"}
    content["topics"]["C"] = {}
    with pytest.raises(WorkflowInvalid, match=r"topics\.C: no task has this topic"):
        read_file(content)
