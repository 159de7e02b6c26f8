"""One job and the events that change it: the outbox, forks and joins, failures, retries."""

from typing import Any

import msgspec
import pytest

from dovemq.core.errors import JobRefused, TaskMissing, WorkflowInvalid
from dovemq.core.workflows.documents import (
    job_document,
    result_of,
    summary_document,
    task_message,
    timeline_document,
)
from dovemq.core.workflows.jobs import (
    RESULT_BYTES_MAX,
    Job,
    JobState,
    Publication,
    TaskState,
    decode_job,
    encode_job,
)
from dovemq.core.workflows.reading import read_specification
from dovemq.core.workflows.transitions import (
    DELIVERIES_MAX,
    REPAIR_MS,
    Cancelled,
    Ended,
    Event,
    Failed,
    Published,
    Retried,
    Reviewed,
    Started,
    advance,
    due_ms,
    new_job,
    wants,
)

FORK = read_specification(
    "report",
    {
        "tasks": {
            "fetch": {"topic": "A"},
            "text": {"topic": "B", "after": ["fetch"]},
            "image": {"topic": "C", "after": ["fetch"]},
            "join": {"topic": "D", "after": ["text", "image"]},
        },
        "attempts_max": 2,
        "backoff_seconds": 4,
        "patience_seconds": 100,
        "retention_seconds": 60,
    },
)


class Progress:
    """A job with a clock; each event is one millisecond after the one before."""

    def __init__(self) -> None:
        self.now_ms = 1_000
        self.job = new_job(FORK, "id", "000000000000", {"pages": 3}, self.now_ms)

    def take(self, event: Event) -> bool:
        """Whether the event has changed the job."""
        self.now_ms += 1
        before = self.job
        self.job = advance(before, event, FORK, self.now_ms)
        return self.job is not before

    def send(self) -> list[tuple[str, int]]:
        """Mark the outbox as sent, and say what was in it."""
        outbox = self.job.outbox
        self.take(Published(outbox))
        return [(each.task, each.attempt) for each in outbox]

    def end(self, task: str, attempt: int = 1, result: Any = None) -> list[tuple[str, int]]:
        self.take(Ended(task, attempt, "w", 2.5, result))
        return self.send()

    def fail(self, task: str, attempt: int = 1, *, final: bool = False) -> bool:
        return self.take(Failed(task, attempt, "w", 1.0, "broken", final))

    def states(self) -> dict[str, str]:
        return {task.name: task.state.value for task in self.job.tasks}


@pytest.fixture
def progress() -> Progress:
    return Progress()


def test_new_job_publishes_its_first_task(progress: Progress) -> None:
    assert progress.job.outbox == (Publication("fetch", 1, 1_000),)
    assert progress.states() == {
        "fetch": "published",
        "text": "waiting",
        "image": "waiting",
        "join": "waiting",
    }


def test_fork_publishes_every_branch_and_the_join_waits_for_all(progress: Progress) -> None:
    assert progress.send() == [("fetch", 1)]
    assert progress.end("fetch") == [("text", 1), ("image", 1)]
    assert progress.end("image") == []
    assert progress.end("text") == [("join", 1)]
    assert progress.end("join", result=7) == []
    assert progress.job.state is JobState.ENDED
    assert progress.job.ended_ms == progress.now_ms - 1
    assert result_of(progress.job, FORK) == 7


def test_second_end_of_a_task_changes_nothing(progress: Progress) -> None:
    progress.end("fetch", result="first")
    assert not progress.take(Ended("fetch", 1, "other", 1.0, "second"))
    assert job_document(progress.job, FORK)["results"] == {"fetch": "first"}


def test_end_of_an_earlier_attempt_counts_and_the_later_one_is_not_wanted(
    progress: Progress,
) -> None:
    progress.send()
    assert progress.fail("fetch")
    assert progress.job.outbox[0].attempt == 2
    assert progress.end("fetch", 1) == [("text", 1), ("image", 1)]
    assert not wants(progress.job, "fetch", 2)
    assert not progress.take(Ended("fetch", 2, "w", 1.0))


def test_failed_attempt_is_published_again_after_a_pause(progress: Progress) -> None:
    progress.send()
    progress.take(Started("fetch", 1, "w"))
    assert progress.states()["fetch"] == "running"
    progress.fail("fetch")
    assert progress.job.outbox == (Publication("fetch", 2, progress.now_ms, 4_000),)
    shown = summary_document(progress.job)["tasks"]["fetch"]
    assert (shown["attempt"], shown["state"]) == (2, "published")
    assert [each["error"] for each in shown["earlier"]] == ["broken"]
    assert not progress.fail("fetch", 1)


def test_task_out_of_attempts_fails_the_job_and_is_a_dead_letter(progress: Progress) -> None:
    progress.send()
    progress.fail("fetch")
    progress.send()
    progress.fail("fetch", 2)
    assert progress.job.state is JobState.FAILED
    assert progress.job.error == "fetch: broken"
    assert progress.job.outbox == (Publication("fetch", 2, progress.now_ms, dead=True),)
    assert not wants(progress.job, "fetch", 2)


def test_final_failure_needs_no_further_attempt(progress: Progress) -> None:
    progress.send()
    progress.fail("fetch", final=True)
    assert progress.job.state is JobState.FAILED


def test_retry_repeats_what_failed_and_what_was_dropped_but_nothing_that_ended(
    progress: Progress,
) -> None:
    progress.send()
    progress.end("fetch")
    progress.fail("text", final=True)
    progress.send()
    assert progress.take(Retried())
    assert progress.job.error is None
    assert sorted(progress.send()) == [("image", 2), ("text", 2)]
    # The attempts are counted anew.
    progress.fail("text", 2)
    assert progress.job.outbox[0].delay_ms == 4_000
    progress.send()
    progress.end("image", 2)
    assert progress.end("text", 3) == [("join", 1)]


def test_branch_that_ends_after_the_failure_is_not_repeated(progress: Progress) -> None:
    progress.send()
    progress.end("fetch")
    progress.fail("text", final=True)
    assert progress.end("image") != []
    progress.take(Retried())
    assert progress.send() == [("text", 2)]


def test_cancelled_job_takes_no_more_words(progress: Progress) -> None:
    progress.send()
    assert progress.take(Cancelled())
    assert not progress.take(Cancelled())
    assert not progress.take(Started("fetch", 1, "w"))
    assert not progress.take(Ended("fetch", 1, "w", 1.0))
    assert not progress.fail("fetch")
    assert not wants(progress.job, "fetch", 1)
    with pytest.raises(JobRefused, match="only failed jobs"):
        progress.take(Retried())


def test_job_that_has_ended_cannot_be_cancelled(progress: Progress) -> None:
    for task in ("fetch", "text", "image", "join"):
        progress.end(task)
    with pytest.raises(JobRefused, match="has ended already"):
        progress.take(Cancelled())


def test_message_that_killed_its_workers_fails_its_task(progress: Progress) -> None:
    progress.send()
    progress.take(Started("fetch", 1, "w", DELIVERIES_MAX))
    assert progress.states()["fetch"] == "running"
    progress.take(Started("fetch", 1, "w", DELIVERIES_MAX + 1))
    assert progress.job.state is JobState.FAILED


def test_publication_that_nobody_marked_is_due_and_begins_anew(progress: Progress) -> None:
    assert due_ms(progress.job, FORK) == 1_000 + REPAIR_MS
    progress.now_ms = 1_000 + REPAIR_MS
    assert progress.take(Reviewed())
    assert progress.job.outbox == (Publication("fetch", 1, progress.now_ms),)
    assert not progress.take(Reviewed())


def test_task_without_a_word_gets_another_attempt_and_then_fails(progress: Progress) -> None:
    progress.send()
    assert due_ms(progress.job, FORK) == 101_000
    progress.now_ms = 101_000
    progress.take(Reviewed())
    assert progress.send() == [("fetch", 2)]
    progress.take(Started("fetch", 2, "w"))
    progress.now_ms += 100_000
    progress.take(Reviewed())
    assert progress.job.state is JobState.FAILED
    assert progress.job.error == "fetch: no word for 100 seconds"


def test_job_is_due_for_removal_after_its_retention(progress: Progress) -> None:
    progress.take(Cancelled())
    assert due_ms(progress.job, FORK) == progress.now_ms + 60_000


def test_unknown_task_is_refused_by_name(progress: Progress) -> None:
    with pytest.raises(TaskMissing, match="no task nothing"):
        progress.take(Started("nothing", 1, "w"))


def test_result_beyond_the_bound_is_refused(progress: Progress) -> None:
    with pytest.raises(WorkflowInvalid, match="store it elsewhere"):
        progress.take(Ended("fetch", 1, "w", 1.0, "x" * RESULT_BYTES_MAX))
    assert progress.states()["fetch"] == "published"


def test_message_of_a_task_has_the_results_before_it(progress: Progress) -> None:
    for task in ("fetch", "text", "image"):
        progress.end(task, result=f"of {task}")
    message = task_message(progress.job, FORK.routes[0], Publication("join", 1, 0))
    assert (message.topic, message.input) == ("D", {"pages": 3})
    assert message.results == {"text": "of text", "image": "of image"}


def test_timeline_is_in_order_of_time(progress: Progress) -> None:
    progress.send()
    progress.take(Started("fetch", 1, "w"))
    progress.end("fetch")
    progress.take(Cancelled())
    told = [(event["event"], event["task"]) for event in timeline_document(progress.job)]
    assert told == [
        ("submitted", None),
        ("published", "fetch"),
        ("started", "fetch"),
        ("ended", "fetch"),
        ("published", "text"),
        ("published", "image"),
        ("job cancelled", None),
    ]


def test_job_is_stored_and_read_back_whole(progress: Progress) -> None:
    progress.end("fetch", result={"a": [1, 2.5, None, "grüße"]})
    stored: Job = decode_job(encode_job(progress.job))
    assert stored == progress.job
    assert msgspec.to_builtins(stored) == msgspec.to_builtins(progress.job)
    assert stored.task("fetch") is not None
    assert TaskState.ENDED in {task.state for task in stored.tasks}
