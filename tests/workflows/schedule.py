"""Jobs on services over a nasty store, done by real workers that die; the time is virtual.

Several services stand for the front ends of one store. The clients of the workers are faces of a
service without HTTP: what a lost answer does to them, it does here. A witness at the ledger sees
every change that was stored.
"""

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from dovemq.client.errors import Refused, TimedOut
from dovemq.core.errors import DoveError, UnavailableError
from dovemq.core.ledger import LedgerEntry
from dovemq.core.message import Attribute
from dovemq.core.queue import QueueKey
from dovemq.core.sending import new_draft
from dovemq.core.workflows.jobs import Job, JobState, TaskState, decode_job
from dovemq.core.workflows.transitions import Ended, Failed, Started, wants
from dovemq.service import Service, build_service
from dovemq.sqs.shapes import ReceivedMessage, SendMessageRequest
from dovemq.stores.memory import MemoryStore
from dovemq.testing.clock import VirtualLoop, run_virtually
from dovemq.testing.nasty import CALM, NastyStore, Nature
from dovemq.workflows.calls import TaskCall
from dovemq.workflows.worker import TopicWorker
from tests.workflows.sample_jobs import TYPES

ACCOUNT = "000000000000"
LEASE_SECONDS = 10
TOPICS = ("A", "B", "C", "D")
SWEEP_SECONDS = 5
SECONDS_MAX = 3_600
"""Virtual time after which a job that still runs is stuck."""


class Witness(MemoryStore):
    """A store in memory that notes what each stored version of a job has added."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng, b"receipt key of a schedule")
        self.ends: Counter[tuple[str, str]] = Counter()
        self.first_publications: Counter[tuple[str, str]] = Counter()
        self.finals: Counter[str] = Counter()
        inner = self.ledger.put

        async def put(entry: LedgerEntry) -> bool:
            before = await self.ledger.get(entry.kind, entry.name)
            done = await inner(entry)
            after = await self.ledger.get(entry.kind, entry.name)
            if done and entry.kind == "job" and after != before and after is not None:
                self._note(decode_job(before.value) if before else None, decode_job(after.value))
            return done

        self.ledger.put = put  # type: ignore[method-assign]

    def _note(self, before: Job | None, after: Job) -> None:
        for task in after.tasks:
            old = before.task(task.name) if before else None
            was = old.state if old else TaskState.WAITING
            key = (after.job_id, task.name)
            if task.state is TaskState.ENDED and was is not TaskState.ENDED:
                self.ends[key] += 1
            if task.state is not TaskState.WAITING and was is TaskState.WAITING:
                self.first_publications[key] += 1
        if after.state is not JobState.RUNNING and (
            before is None or before.state is JobState.RUNNING
        ):
            self.finals[after.job_id] += 1


class Gone(asyncio.CancelledError):
    """The process of this worker was killed."""


class FakeClients:
    """Both clients of a worker, over a service; `killed` ends every call for good."""

    def __init__(self, service: Service, new_id: Callable[[], str]) -> None:
        self._service = service
        self._new_id = new_id
        self.killed = False

    async def queue_url(self, name: str) -> str:
        await self._called(self._service.queues.find(QueueKey(ACCOUNT, name)))
        return name

    async def attributes(self, url: str, names: list[str]) -> dict[str, str]:
        queue = await self._called(self._service.queues.find(QueueKey(ACCOUNT, url)))
        return {names[0]: str(queue.settings.lease_ms // 1_000)}

    async def receive(
        self,
        url: str,
        count_max: int,
        *,
        wait_seconds: int,
        lease_seconds: int,
        names: list[str],
    ) -> list[ReceivedMessage]:
        queue = await self._service.queues.find(QueueKey(ACCOUNT, url))
        deliveries = await self._called(
            self._service.messages.receive(
                queue, count_max, lease_seconds * 1_000, wait_seconds * 1_000
            )
        )
        return [
            ReceivedMessage(
                message_id=each.lease.message.message_id,
                receipt_handle=each.receipt,
                md5_of_body="",
                body=each.lease.message.body,
                attributes={names[0]: str(each.lease.receive_count)},
            )
            for each in deliveries
        ]

    async def extend(self, url: str, receipt: str, seconds: int) -> None:
        queue = await self._service.queues.find(QueueKey(ACCOUNT, url))
        changes = [(receipt, seconds * 1_000)]
        (refusal,) = await self._called(self._service.messages.extend(queue, changes))
        if refusal is not None:
            raise Refused(400, type(refusal).__name__, str(refusal), "")

    async def settle(self, url: str, receipt: str) -> None:
        queue = await self._service.queues.find(QueueKey(ACCOUNT, url))
        await self._called(self._service.messages.settle(queue, [receipt]))

    async def send(self, url: str, message: SendMessageRequest) -> None:
        queue = await self._service.queues.find(QueueKey(ACCOUNT, url))
        draft = new_draft(
            queue,
            message_id=self._new_id(),
            body=message.message_body or "",
            sender=ACCOUNT,
            attributes={"x": Attribute("String", "y")},
        )
        await self._called(self._service.messages.send(queue, [draft]))

    async def start_task(
        self, job_id: str, task: str, attempt: int, *, worker: str, deliveries: int
    ) -> dict[str, Any]:
        event = Started(task, attempt, worker, deliveries)
        job, _ = await self._called(self._service.workflows.jobs.change(ACCOUNT, job_id, event))
        return {"wanted": wants(job, task, attempt), "state": job.state.value}

    async def end_task(
        self, job_id: str, task: str, attempt: int, result: Any, *, worker: str, service_ms: float
    ) -> dict[str, Any]:
        event = Ended(task, attempt, worker, service_ms, result)
        return await self._told(job_id, event)

    async def fail_task(
        self,
        job_id: str,
        task: str,
        attempt: int,
        error: str,
        *,
        worker: str,
        service_ms: float,
        final: bool,
    ) -> dict[str, Any]:
        return await self._told(job_id, Failed(task, attempt, worker, service_ms, error, final))

    async def _told(self, job_id: str, event: Ended | Failed) -> dict[str, Any]:
        jobs = self._service.workflows.jobs
        _, accepted = await self._called(jobs.change(ACCOUNT, job_id, event))
        return {"accepted": accepted}

    async def _called(self, call: Awaitable[Any]) -> Any:
        if self.killed:
            call.close()  # type: ignore[attr-defined]
            raise Gone
        try:
            answer = await call
        except UnavailableError:
            raise TimedOut("the service", 1.0) from None
        except DoveError as error:
            raise Refused(400, type(error).__name__, str(error), "") from None
        if self.killed:
            raise Gone
        return answer


class Doing:
    """Does tasks in random time, and fails sometimes."""

    def __init__(self, rng: random.Random, failures: float, clients: FakeClients) -> None:
        self._rng = rng
        self._failures = failures
        self._clients = clients
        self.calls: Counter[tuple[str, str]] = Counter()

    async def run(self, call: TaskCall) -> Any:
        self.calls[call.job_id, call.task] += 1
        await asyncio.sleep(self._rng.uniform(0.0, 3.0))
        if self._clients.killed:
            raise Gone
        if call.input is not None and self._rng.random() < self._failures:
            raise ValueError("bad luck")
        return call.task

    def close(self) -> None:
        pass


class JobSchedule:
    """`front_ends` services over one store, and workers that are killed now and then."""

    def __init__(
        self,
        seed: int,
        nature: Nature,
        clock: VirtualLoop,
        *,
        jobs: int = 8,
        front_ends: int = 2,
        kills: int = 6,
        failures: float = 0.1,
    ) -> None:
        self.rng = random.Random(seed)
        self.clock = clock
        self.witness = Witness(self.rng)
        self.store = NastyStore(self.witness, CALM, self.rng, clock)
        self._nature = nature
        self._ids = itertools.count(seed * 1_000_003)
        self.services = [build_service(self.store, clock, self.new_id) for _ in range(front_ends)]
        self._jobs = jobs
        self._kills = kills
        self._failures = failures
        self.ended: list[Job] = []

    async def run(self) -> None:
        for type_, content in TYPES.items():
            topics = {task.topic for task in (await self._put(type_, content)).tasks()}
            leases = {topic: {"lease_seconds": LEASE_SECONDS} for topic in topics}
            table = {**content, "topics": leases, "attempts_max": 20, "patience_seconds": 600}
            await self._put(type_, table)
        self.store.nature = self._nature
        sweeping = asyncio.ensure_future(self._sweep())
        killing = asyncio.ensure_future(self._work_and_die())
        ids = [await self._submit(number) for number in range(self._jobs)]
        try:
            async with asyncio.timeout(SECONDS_MAX):
                while await self._running(ids):
                    await asyncio.sleep(5)
        finally:
            self.store.nature = CALM
            killing.cancel()
            sweeping.cancel()
            await asyncio.wait([killing, sweeping])
            if not killing.cancelled():
                killing.result()
        jobs = self.services[0].workflows.jobs
        self.ended = [await jobs.job(ACCOUNT, job_id) for job_id in ids]
        for service in self.services:
            service.polls.drain()

    async def _put(self, type_: str, content: dict[str, Any]) -> Any:
        return await self.services[0].workflows.specs.put(ACCOUNT, type_, content)

    async def _submit(self, number: int) -> str:
        """Submit with a key until an answer comes, at any front end."""
        type_ = list(TYPES)[number % len(TYPES)]
        await asyncio.sleep(self.rng.uniform(0.0, 2.0))
        while True:
            service = self.rng.choice(self.services)
            try:
                jobs = service.workflows.jobs
                return (await jobs.submit(ACCOUNT, type_, number, f"key {number}")).job_id
            except UnavailableError:
                await asyncio.sleep(0.2)

    async def _running(self, ids: list[str]) -> bool:
        for job_id in ids:
            held = await self.witness.ledger.get("job", f"{ACCOUNT}/{job_id}")
            if (
                held is None
                or held.state == JobState.RUNNING.value
                or decode_job(held.value).outbox
            ):
                return True
        return False

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            try:
                await self.services[0].workflows.sweeper.sweep()
            except DoveError:
                continue

    async def _work_and_die(self) -> None:
        """Two workers at a time; each in turn is killed, and another one comes."""
        alive = [self._start(), self._start()]
        try:
            for _ in range(self._kills):
                await asyncio.sleep(self.rng.uniform(0.0, 8.0))
                clients, running = alive.pop(0)
                clients.killed = True
                running.cancel()
                alive.append(self._start())
            await asyncio.Event().wait()
        finally:
            for clients, running in alive:
                clients.killed = True
                running.cancel()
            for _, running in alive:
                await asyncio.wait([running])
                if not running.cancelled():
                    running.result()

    def _start(self) -> tuple[FakeClients, "asyncio.Task[None]"]:
        clients = FakeClients(self.rng.choice(self.services), self.new_id)
        doing = Doing(self.rng, self._failures, clients)
        either: Any = clients
        worker = TopicWorker(
            either,
            either,
            dict.fromkeys(TOPICS, doing),
            name="w",
            concurrency=2,
            grace_seconds=0.0,
            report=lambda _: None,
        )
        return clients, asyncio.ensure_future(worker.run(asyncio.Event().wait()))

    def new_id(self) -> str:
        return f"{next(self._ids):032x}"[::-1]


def played(nature: Nature, seed: int, **options: Any) -> JobSchedule:
    loop = VirtualLoop()
    schedule = JobSchedule(seed, nature, loop, **options)
    run_virtually(schedule.run(), loop)
    return schedule


def judge(run: JobSchedule) -> None:
    """Every job has ended once, every task once, and no join has fired twice."""
    for job in run.ended:
        assert job.state is JobState.ENDED, job
        assert {task.state for task in job.tasks} == {TaskState.ENDED}
        assert not job.outbox
        assert run.witness.finals[job.job_id] == 1
        for task in job.tasks:
            assert run.witness.ends[job.job_id, task.name] == 1
            assert run.witness.first_publications[job.job_id, task.name] == 1
