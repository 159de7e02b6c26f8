"""The use cases of workflows on the store in memory, step by step."""

import json
from typing import Any

import pytest

from dovemq.core.errors import InvalidValue, JobMissing, WorkflowMissing
from dovemq.core.limits import DAY_MS
from dovemq.core.queue import QueueKey
from dovemq.core.workflows.jobs import INPUT_BYTES_MAX, Job, JobState
from dovemq.core.workflows.transitions import REPAIR_MS, Cancelled, Ended, Failed, Started
from dovemq.service.attempts import Delivery
from tests.service.world import ACCOUNT, World

PATH = {"path": ["A", "B"], "attempts_max": 2, "retention_seconds": 100}


class Jobs:
    def __init__(self) -> None:
        self.world = World()
        self.specs = self.world.service.workflows.specs
        self.jobs = self.world.service.workflows.jobs
        self.sweeper = self.world.service.workflows.sweeper

    async def put(self, content: dict[str, Any] | None = None, account: str = ACCOUNT) -> int:
        return (await self.specs.put(account, "x", content or PATH)).version

    async def submit(self, content: Any = None, key: str | None = None) -> Job:
        return await self.jobs.submit(ACCOUNT, "x", content, key)

    async def received(self, topic: str) -> list[Delivery]:
        queue = await self.world.queues.find(QueueKey(ACCOUNT, f"topic-{topic}"))
        return await self.world.messages.receive(queue, 10)

    async def tasks(self, topic: str) -> list[tuple[str, int]]:
        """The tasks and attempts of the messages that can be received."""
        found = [json.loads(each.lease.message.body) for each in await self.received(topic)]
        return [(each["task"], each["attempt"]) for each in found]

    async def end(self, job: Job, task: str, result: Any = None) -> Job:
        return (await self.jobs.change(ACCOUNT, job.job_id, Ended(task, 1, "w", 1.0, result)))[0]

    async def pass_time(self, ms: int) -> None:
        self.world.clock.advance(ms)
        await self.sweeper.sweep()


@pytest.fixture
async def jobs() -> Jobs:
    made = Jobs()
    await made.put()
    return made


async def test_job_goes_from_topic_to_topic(jobs: Jobs) -> None:
    job = await jobs.submit({"pages": 3})
    [delivery] = await jobs.received("A")
    assert json.loads(delivery.lease.message.body) == {
        "job_id": job.job_id,
        "account": ACCOUNT,
        "type": "x",
        "version": 1,
        "task": "A",
        "topic": "A",
        "attempt": 1,
        "input": {"pages": 3},
        "results": {},
    }
    attributes = delivery.lease.message.attributes
    assert attributes["dovemq.job_id"].value == job.job_id
    assert await jobs.tasks("B") == []
    await jobs.end(job, "A", "unpacked")
    assert await jobs.tasks("B") == [("B", 1)]
    ended = await jobs.end(job, "B", 7)
    assert ended.state is JobState.ENDED
    assert not ended.outbox


async def test_same_specification_keeps_its_version_and_another_gets_the_next(jobs: Jobs) -> None:
    assert await jobs.put() == 1
    assert await jobs.put({**PATH, "attempts_max": 3}) == 2
    assert await jobs.put() == 3
    assert [spec.version for spec in await jobs.specs.listing(ACCOUNT)] == [3]
    assert (await jobs.specs.version(ACCOUNT, "x", 2)).attempts_max == 3
    with pytest.raises(WorkflowMissing, match="no workflow x of version 4"):
        await jobs.specs.version(ACCOUNT, "x", 4)


async def test_running_job_finishes_on_the_version_it_began_with(jobs: Jobs) -> None:
    job = await jobs.submit()
    await jobs.put({"path": ["A", "C"]})
    newer = await jobs.submit()
    assert (job.version, newer.version) == (1, 2)
    await jobs.end(job, "A")
    await jobs.end(newer, "A")
    assert await jobs.tasks("B") == [("B", 1)]
    assert await jobs.tasks("C") == [("C", 1)]


async def test_lease_of_a_topic_is_that_of_the_specification(jobs: Jobs) -> None:
    await jobs.put({**PATH, "topics": {"A": {"lease_seconds": 7}}})
    queue = await jobs.world.queues.find(QueueKey(ACCOUNT, "topic-A"))
    assert queue.settings.lease_ms == 7_000
    dead = await jobs.world.queues.find(QueueKey(ACCOUNT, "topic-A-dead"))
    assert dead.settings.lease_ms == 30_000


async def test_same_key_gives_the_same_job_for_a_day(jobs: Jobs) -> None:
    job = await jobs.submit(1, "order 5")
    assert (await jobs.submit(2, "order 5")).job_id == job.job_id
    assert await jobs.tasks("A") == [("A", 1)]
    assert (await jobs.submit(2, "order 6")).job_id != job.job_id
    await jobs.pass_time(DAY_MS)
    assert (await jobs.submit(2, "order 5")).job_id != job.job_id


@pytest.mark.parametrize("key", ["", "x" * 257])
async def test_key_out_of_bounds_is_refused(jobs: Jobs, key: str) -> None:
    with pytest.raises(InvalidValue, match="key"):
        await jobs.submit(1, key)


async def test_input_beyond_the_bound_is_refused(jobs: Jobs) -> None:
    with pytest.raises(InvalidValue, match="input"):
        await jobs.submit("x" * INPUT_BYTES_MAX)


async def test_input_with_characters_that_no_message_has_reaches_the_task(jobs: Jobs) -> None:
    await jobs.submit("\uffff\u0001")
    [delivery] = await jobs.received("A")
    assert json.loads(delivery.lease.message.body)["input"] == "\uffff\u0001"


async def test_job_of_an_unknown_type_is_refused(jobs: Jobs) -> None:
    with pytest.raises(WorkflowMissing, match="no workflow y"):
        await jobs.jobs.submit(ACCOUNT, "y", None)
    with pytest.raises(JobMissing):
        await jobs.jobs.job(ACCOUNT, "nothing")


async def test_another_account_has_other_jobs_and_topics(jobs: Jobs) -> None:
    job = await jobs.submit()
    with pytest.raises(JobMissing):
        await jobs.jobs.job("1" * 12, job.job_id)
    await jobs.put(account="1" * 12)
    assert await jobs.specs.listing("2" * 12) == []
    assert (await jobs.jobs.page("1" * 12, None, None, "", 10)) == ([], None)


async def test_pages_have_the_newest_jobs_first(jobs: Jobs) -> None:
    ids = []
    for number in range(5):
        jobs.world.clock.advance(1)
        ids.append((await jobs.submit(number)).job_id)
    await jobs.jobs.change(ACCOUNT, ids[3], Cancelled())
    first, after = await jobs.jobs.page(ACCOUNT, "x", None, "", 3)
    assert [job.job_id for job in first] == ids[:1:-1]
    assert after is not None
    rest, _ = await jobs.jobs.page(ACCOUNT, "x", None, after, 3)
    assert [job.job_id for job in rest] == ids[1::-1]
    cancelled, _ = await jobs.jobs.page(ACCOUNT, None, "cancelled", "", 3)
    assert [job.job_id for job in cancelled] == [ids[3]]


async def test_failed_task_comes_again_after_its_pause_and_then_is_a_dead_letter(
    jobs: Jobs,
) -> None:
    job = await jobs.submit()
    await jobs.tasks("A")
    await jobs.jobs.change(ACCOUNT, job.job_id, Failed("A", 1, "w", 1.0, "broken"))
    assert await jobs.tasks("A") == []
    jobs.world.clock.advance(1_000)
    assert await jobs.tasks("A") == [("A", 2)]
    failed, _ = await jobs.jobs.change(ACCOUNT, job.job_id, Failed("A", 2, "w", 1.0, "broken"))
    assert failed.state is JobState.FAILED
    assert await jobs.tasks("A-dead") == [("A", 2)]


async def test_topic_that_was_removed_is_made_again(jobs: Jobs) -> None:
    await jobs.world.queues.remove(QueueKey(ACCOUNT, "topic-B"))
    job = await jobs.submit()
    await jobs.end(job, "A")
    assert await jobs.tasks("B") == [("B", 1)]


async def test_publication_that_failed_is_sent_by_the_review(jobs: Jobs) -> None:
    """The quota of the account stands for any reason for which a message cannot be sent."""
    await jobs.world.service.accounts.load()
    queue = await jobs.world.queues.find(QueueKey(ACCOUNT, "topic-A"))
    await jobs.world.queues.change(queue.key, {"message_bytes_max": 1_024})
    job = await jobs.submit("x" * 2_000)
    assert len(job.outbox) == 1
    await jobs.pass_time(REPAIR_MS - 1)
    await jobs.world.queues.change(queue.key, {"message_bytes_max": 1_048_576})
    assert await jobs.tasks("A") == []
    await jobs.pass_time(1)
    assert await jobs.tasks("A") == [("A", 1)]
    assert not (await jobs.jobs.job(ACCOUNT, job.job_id)).outbox


async def test_lost_message_is_published_again_when_patience_ends(jobs: Jobs) -> None:
    await jobs.put({**PATH, "patience_seconds": 60})
    job = await jobs.submit()
    await jobs.world.queues.purge(QueueKey(ACCOUNT, "topic-A"))
    await jobs.pass_time(59_999)
    assert await jobs.tasks("A") == []
    await jobs.pass_time(1)
    jobs.world.clock.advance(1_000)
    assert await jobs.tasks("A") == [("A", 2)]
    assert (await jobs.jobs.job(ACCOUNT, job.job_id)).state is JobState.RUNNING


async def test_ended_job_is_removed_after_its_retention(jobs: Jobs) -> None:
    job = await jobs.submit()
    await jobs.jobs.change(ACCOUNT, job.job_id, Cancelled())
    await jobs.pass_time(99_999)
    assert (await jobs.jobs.job(ACCOUNT, job.job_id)).state is JobState.CANCELLED
    await jobs.pass_time(1)
    with pytest.raises(JobMissing):
        await jobs.jobs.job(ACCOUNT, job.job_id)


async def test_start_is_noted_with_its_worker(jobs: Jobs) -> None:
    job = await jobs.submit()
    jobs.world.clock.advance(5)
    started, changed = await jobs.jobs.change(ACCOUNT, job.job_id, Started("A", 1, "w-1"))
    assert changed
    attempt = started.tasks[0].attempt
    assert attempt is not None
    assert (attempt.worker, attempt.started_ms) == ("w-1", jobs.world.clock.now_ms())
