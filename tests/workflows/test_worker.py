"""A worker on a service without faults: what it does with each kind of message, and at its end."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

from dovemq.core.queue import QueueKey
from dovemq.core.workflows.jobs import JobState
from dovemq.core.workflows.transitions import Cancelled
from dovemq.sqs.shapes import SendMessageRequest
from dovemq.testing.clock import VirtualLoop, run_virtually
from dovemq.testing.nasty import CALM
from dovemq.workflows.calls import GiveUp, TaskCall
from dovemq.workflows.worker import TopicWorker
from tests.workflows.schedule import ACCOUNT, FakeClients, JobSchedule

Body = Callable[[TaskCall], Coroutine[Any, Any, Any]]


class Stage:
    """One service, one type of jobs with one task, and a worker for it."""

    def __init__(self, loop: VirtualLoop, body: Body, grace_seconds: float = 5.0) -> None:
        schedule = JobSchedule(1, CALM, loop)
        self.rng = random.Random(1)
        self.service = schedule.services[0]
        self.jobs = self.service.workflows.jobs
        self.clients = FakeClients(self.service, schedule.new_id)
        self.calls: list[TaskCall] = []
        self.stopped = asyncio.Event()
        self.body = body
        either: Any = self.clients
        self.worker = TopicWorker(
            either, either, {"A": self}, name="w", grace_seconds=grace_seconds, concurrency=2
        )

    async def run(self, call: TaskCall) -> Any:
        self.calls.append(call)
        return await self.body(call)

    def close(self) -> None:
        pass

    async def start(self) -> "asyncio.Task[None]":
        topics = {"A": {"lease_seconds": 10}}
        table = {"path": ["A"], "topics": topics, "attempts_max": 2}
        await self.service.workflows.specs.put(ACCOUNT, "x", table)
        return asyncio.ensure_future(self.worker.run(self.stopped.wait()))

    async def submit(self, content: Any = None) -> str:
        return (await self.jobs.submit(ACCOUNT, "x", content)).job_id

    async def end(self, running: "asyncio.Task[None]") -> None:
        self.stopped.set()
        await running
        self.service.polls.drain()

    async def state(self, job_id: str) -> JobState:
        return (await self.jobs.job(ACCOUNT, job_id)).state

    async def counts(self, name: str) -> tuple[int, int]:
        queue = await self.service.queues.find(QueueKey(ACCOUNT, name))
        counts = await self.service.queues.counts(queue)
        return counts.visible, counts.leased


def _staged(
    body: Body, act: Callable[[Stage], Coroutine[Any, Any, None]], grace_seconds: float = 5.0
) -> None:
    loop = VirtualLoop()

    async def main() -> None:
        await act(Stage(loop, body, grace_seconds))

    run_virtually(main(), loop)


async def _slowly(_: TaskCall) -> str:
    await asyncio.sleep(60.0)
    return "done"


def test_long_task_keeps_its_lease_and_is_done_once() -> None:
    async def act(stage: Stage) -> None:
        running = await stage.start()
        job_id = await stage.submit()
        await asyncio.sleep(70)
        assert await stage.state(job_id) is JobState.ENDED
        assert len(stage.calls) == 1
        assert await stage.counts("topic-A") == (0, 0)
        await stage.end(running)

    _staged(_slowly, act)


def test_worker_that_is_stopped_finishes_what_runs_and_takes_nothing_new() -> None:
    async def act(stage: Stage) -> None:
        running = await stage.start()
        jobs = [await stage.submit(number) for number in range(4)]
        await asyncio.sleep(1)
        await stage.end(running)
        assert len(stage.calls) == 2
        states = [await stage.state(job_id) for job_id in jobs]
        assert states.count(JobState.ENDED) == 2
        assert await stage.counts("topic-A") == (2, 0)
        assert stage.worker.counts.given_back == 0

    _staged(_slowly, act, grace_seconds=100.0)


def test_task_beyond_the_grace_is_given_back_at_once() -> None:
    async def act(stage: Stage) -> None:
        running = await stage.start()
        job_id = await stage.submit()
        await asyncio.sleep(1)
        await stage.end(running)
        assert await stage.state(job_id) is JobState.RUNNING
        assert await stage.counts("topic-A") == (1, 0)
        assert stage.worker.counts.given_back == 1

    _staged(_slowly, act, grace_seconds=1.0)


def test_task_of_a_cancelled_job_is_not_done() -> None:
    async def act(stage: Stage) -> None:
        running = await stage.start()
        stage.body = _slowly
        job_id = await stage.submit()
        others = [await stage.submit() for _ in range(2)]
        await stage.jobs.change(ACCOUNT, others[1], Cancelled())
        await asyncio.sleep(200)
        assert await stage.state(job_id) is JobState.ENDED
        assert others[1] not in {call.job_id for call in stage.calls}
        assert stage.worker.counts.unwanted == 1
        await stage.end(running)

    _staged(_slowly, act)


def test_exception_is_another_attempt_and_giving_up_is_the_end() -> None:
    async def fails(call: TaskCall) -> Any:
        if call.input == "give up":
            raise GiveUp("no use")
        if call.attempt == 1:
            raise ValueError("bad luck")
        return call.attempt

    async def act(stage: Stage) -> None:
        running = await stage.start()
        lucky, hopeless = await stage.submit(), await stage.submit("give up")
        await asyncio.sleep(10)
        job = await stage.jobs.job(ACCOUNT, lucky)
        assert (job.state, job.tasks[0].result) == (JobState.ENDED, 2)
        assert job.tasks[0].attempts[0].error == "ValueError: bad luck"
        job = await stage.jobs.job(ACCOUNT, hopeless)
        assert (job.state, job.error) == (JobState.FAILED, "A: GiveUp: no use")
        assert await stage.counts("topic-A-dead") == (1, 0)
        await stage.end(running)

    _staged(fails, act)


def test_result_that_json_cannot_hold_fails_the_task() -> None:
    async def odd(_: TaskCall) -> Any:
        return "x" * 100_000

    async def act(stage: Stage) -> None:
        running = await stage.start()
        job_id = await stage.submit()
        await asyncio.sleep(5)
        job = await stage.jobs.job(ACCOUNT, job_id)
        assert job.state is JobState.FAILED
        assert "the result was refused" in str(job.error)
        await stage.end(running)

    _staged(odd, act)


def test_next_task_is_done_while_the_message_of_the_last_is_deleted() -> None:
    """Two consumers do two tasks and two deletions at a time, and no more."""
    settled: list[str] = []

    async def at_once(_: TaskCall) -> str:
        return "done"

    async def act(stage: Stage) -> None:
        settle = stage.clients.settle

        async def settle_slowly(url: str, receipt: str) -> None:
            await asyncio.sleep(5)
            await settle(url, receipt)
            settled.append(receipt)

        stage.clients.settle = settle_slowly  # type: ignore[method-assign]
        running = await stage.start()
        jobs = [await stage.submit() for _ in range(6)]
        await asyncio.sleep(4)
        assert (len(stage.calls), len(settled)) == (4, 0)
        await asyncio.sleep(30)
        assert len(stage.calls) == len(settled) == len(jobs)
        assert {await stage.state(job_id) for job_id in jobs} == {JobState.ENDED}
        assert await stage.counts("topic-A") == (0, 0)
        await stage.end(running)

    _staged(at_once, act)


def test_message_that_is_no_task_goes_to_the_dead_letters() -> None:
    async def act(stage: Stage) -> None:
        running = await stage.start()
        await stage.clients.send("topic-A", SendMessageRequest(message_body="hello"))
        await asyncio.sleep(5)
        assert await stage.counts("topic-A") == (0, 0)
        assert await stage.counts("topic-A-dead") == (1, 0)
        await stage.end(running)

    _staged(_slowly, act)
