"""The account of a soak's jobs finds what must not happen."""

from typing import Any

from bench.soak.jobs import judge

Document = dict[str, Any]


def result(token: str, **before: Document) -> Document:
    return {"token": token, "before": before}


def job(**changes: Any) -> Document:
    """A job of the type `fork` that has ended as it should."""
    a = result("a")
    b, c = result("b", A=a), result("c", A=a)
    results = {"A": a, "B": b, "C": c, "D": result("d", B=b, C=c)}
    return {
        "job_id": "j",
        "type": "fork",
        "state": "ended",
        "ended_ms": 7,
        "tasks": {name: {"state": "ended"} for name in results},
        "results": results,
        "timeline": [{"event": "submitted"}, {"event": "job ended"}],
        **changes,
    }


def findings(ended: Document, later: Document | None = None, *others: str) -> str:
    """The findings if this job has ended so, and was so at the second look."""
    looks = {"j": later} if later else {}
    return "; ".join(judge({"j": ended}, looks, {"j", *others}))


def test_job_that_ends_as_it_should_has_no_finding() -> None:
    assert findings(job(), job()) == ""


def test_second_end_is_found() -> None:
    again = [{"event": "job ended"}, {"event": "job ended"}]
    assert "has not ended once" in findings(job(timeline=again))
    assert "then was ended" in findings(job(), job(ended_ms=9))
    assert "then was running" in findings(job(), job(state="running"))


def test_job_that_nobody_submitted_is_found() -> None:
    assert "1 jobs more" in findings(job(), job(), "other")


def test_job_that_is_gone_is_found() -> None:
    assert "NotFound" in findings(job(), {"state": "NotFound", "ended_ms": None})


def test_task_that_saw_another_result_is_found() -> None:
    wrong = job()
    wrong["results"]["D"]["before"]["B"] = result("x")
    assert "D saw another result of B" in findings(wrong)


def test_join_that_did_not_wait_is_found() -> None:
    wrong = job()
    del wrong["results"]["D"]["before"]["C"]
    assert "did not wait" in findings(wrong)


def test_end_before_the_tasks_is_found() -> None:
    assert "before its tasks" in findings(job(tasks={"A": {"state": "running"}}))
