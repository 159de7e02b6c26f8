"""A worker: it receives the messages of topics, does their tasks, and says what came of them.

For each message:

    start    the server says whether the task is still wanted, and notes the worker
    execute  while the lease of the message is renewed
    end      the result, or the failure, is reported until the server has it
    settle   the message is deleted, while the next one is received

A worker that dies anywhere leaves the message to its lease, and the task is delivered again. The
server takes the first end of a task alone, so a task that was done twice has one effect on its job.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from dovemq.client.errors import ClientError, Refused
from dovemq.client.heartbeat import kept_lease
from dovemq.client.retrying import is_transient
from dovemq.client.sqs import SqsClient
from dovemq.client.workflows import WorkflowClient
from dovemq.core.workflows.documents import TaskMessage
from dovemq.core.workflows.jobs import ERROR_LENGTH_MAX
from dovemq.core.workflows.specification import dead_queue_name, queue_name
from dovemq.sqs.shapes import ReceivedMessage, SendMessageRequest
from dovemq.workflows.calls import GiveUp, TaskCall
from dovemq.workflows.executing import Execution

log = logging.getLogger(__name__)

RECEIVED_MAX: Final = 10
WAIT_SECONDS: Final = 20
GRACE_SECONDS: Final = 30.0
PAUSE_SECONDS: Final = 0.2
PAUSE_SECONDS_MAX: Final = 5.0
SAID_TIMES_MAX: Final = 120
"""How often a word to the server is repeated, for up to ten minutes, while the lease is kept."""
LEASE_SECONDS_DEFAULT: Final = 60
_RECEIVE_COUNT: Final = "ApproximateReceiveCount"
_LEASE: Final = "VisibilityTimeout"

T = TypeVar("T")


class WorkerCounts(msgspec.Struct):
    """Counts of the work of a worker so far."""

    ended: int = 0
    failed: int = 0
    unwanted: int = 0
    """Messages whose task needed no more work: repeated ones, and those of cancelled jobs."""
    given_back: int = 0
    """Messages that were visible again at once when the worker stopped."""


class _Topic(msgspec.Struct, frozen=True, eq=False):
    """A topic as it is served. A consumer has a place for a task and one for a deletion."""

    name: str
    url: str
    lease_seconds: int
    tasks: asyncio.Semaphore
    deletions: asyncio.Semaphore


class TopicWorker:
    """Serves topics with `concurrency` consumers each, until it is stopped.

    `executions` has a way to do the tasks of each topic.
    """

    def __init__(
        self,
        sqs: SqsClient,
        workflows: WorkflowClient,
        executions: Mapping[str, Execution],
        *,
        name: str,
        concurrency: int = 1,
        grace_seconds: float = GRACE_SECONDS,
        report: Callable[[str], None] = log.warning,
    ) -> None:
        self.counts = WorkerCounts()
        self.name = name
        self._sqs = sqs
        self._workflows = workflows
        self._executions = executions
        self._concurrency = concurrency
        self._grace_seconds = grace_seconds
        self._report = report
        self._running: set[asyncio.Task[None]] = set()
        self._troubles: set[str] = set()

    @property
    def in_hand(self) -> int:
        return len(self._running)

    async def run(self, stopped: Awaitable[object]) -> None:
        """Serve until `stopped` is done; then finish what runs within the grace period.

        What is left after that is given back: its messages are visible again at once.
        """
        ending = asyncio.ensure_future(stopped)
        consumers = [asyncio.create_task(self._consume(topic)) for topic in self._executions]
        try:
            await asyncio.wait([ending, *consumers], return_when=asyncio.FIRST_COMPLETED)
        finally:
            # A receive that is cancelled leaves no message leased.
            await _end(consumers)
            ending.cancel()
            if self._running:
                await asyncio.wait(self._running, timeout=self._grace_seconds)
            await _end(list(self._running))
            for execution in self._executions.values():
                execution.close()
        for consumer in consumers:
            if not consumer.cancelled():
                consumer.result()

    async def _consume(self, name: str) -> None:
        topic = await self._topic(name)
        while True:
            free = await _taken(topic.tasks, min(self._concurrency, RECEIVED_MAX))
            messages: list[ReceivedMessage] = []
            try:
                messages = await self._received(topic, free)
                for message in messages:
                    task = asyncio.create_task(self._serve(topic, message))
                    self._running.add(task)
                    task.add_done_callback(self._done)
            finally:
                for _ in range(free - len(messages)):
                    topic.tasks.release()

    async def _serve(self, topic: _Topic, message: ReceivedMessage) -> None:
        try:
            await self._work(topic, message)
            await topic.deletions.acquire()
        finally:
            # The next message is received while this one is deleted.
            topic.tasks.release()
        try:
            with contextlib.suppress(ClientError):
                # If this fails, the message comes back, and its task is not wanted then.
                await self._sqs.settle(topic.url, message.receipt_handle)
        finally:
            topic.deletions.release()

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._report(f"a task could not be reported: {error}")

    async def _topic(self, name: str) -> _Topic:
        """The topic, once its queue is there."""

        async def found() -> tuple[str, int]:
            url = await self._sqs.queue_url(queue_name(name))
            values = await self._sqs.attributes(url, [_LEASE])
            return url, int(values.get(_LEASE, LEASE_SECONDS_DEFAULT)) or LEASE_SECONDS_DEFAULT

        place = await self._until_done(f"topic {name}", found, _is_passing_or_missing)
        tasks, deletions = (asyncio.Semaphore(self._concurrency) for _ in range(2))
        return _Topic(name, *place, tasks, deletions)

    async def _received(self, topic: _Topic, free: int) -> list[ReceivedMessage]:
        return await self._until_done(
            f"topic {topic.name}",
            lambda: self._sqs.receive(
                topic.url,
                free,
                wait_seconds=WAIT_SECONDS,
                lease_seconds=topic.lease_seconds,
                names=[_RECEIVE_COUNT],
            ),
            _is_passing_or_missing,
        )

    async def _work(self, topic: _Topic, message: ReceivedMessage) -> None:
        url, receipt = topic.url, message.receipt_handle
        try:
            asked = msgspec.json.decode(message.body, type=TaskMessage)
        except msgspec.DecodeError:
            await self._refuse(topic.name, message)
            return
        try:
            async with kept_lease(self._sqs, url, receipt, topic.lease_seconds):
                await self._do(topic.name, asked, message)
        except asyncio.CancelledError:
            self.counts.given_back += 1
            with contextlib.suppress(ClientError):
                await asyncio.shield(self._sqs.extend(url, receipt, 0))
            raise

    async def _do(self, topic: str, asked: TaskMessage, message: ReceivedMessage) -> None:
        place = (asked.job_id, asked.task, asked.attempt)
        deliveries = int((message.attributes or {}).get(_RECEIVE_COUNT, "1"))
        try:
            started = await self._said(
                lambda: self._workflows.start_task(*place, worker=self.name, deliveries=deliveries)
            )
        except Refused:
            # The job is gone: its retention has ended, or it is of another server.
            self.counts.unwanted += 1
            return
        if not started["wanted"]:
            self.counts.unwanted += 1
            return
        call = TaskCall(
            asked.job_id,
            asked.type,
            asked.task,
            asked.topic,
            asked.attempt,
            asked.input,
            asked.results,
        )
        begun = time.perf_counter()
        try:
            result = await self._executions[topic].run(call)
        except Exception as error:
            await self._failed(place, begun, _text_of(error), final=isinstance(error, GiveUp))
        else:
            await self._ended(place, begun, result)

    async def _ended(self, place: tuple[str, str, int], begun: float, result: Any) -> None:
        service_ms = (time.perf_counter() - begun) * 1_000
        try:
            await self._said(
                lambda: self._workflows.end_task(
                    *place, result, worker=self.name, service_ms=service_ms
                )
            )
        except (Refused, TypeError, ValueError, msgspec.EncodeError) as error:
            # The result is too large, or JSON cannot hold it: it would be the same next time.
            text = f"the result was refused: {error}"
            await self._failed(place, begun, text, final=True)
        else:
            self.counts.ended += 1

    async def _failed(
        self, place: tuple[str, str, int], begun: float, error: str, *, final: bool
    ) -> None:
        service_ms = (time.perf_counter() - begun) * 1_000
        self.counts.failed += 1
        with contextlib.suppress(Refused):
            await self._said(
                lambda: self._workflows.fail_task(
                    *place, error, worker=self.name, service_ms=service_ms, final=final
                )
            )

    async def _refuse(self, topic: str, message: ReceivedMessage) -> None:
        """Move a message that is no task's to the dead-letter topic."""
        self.counts.unwanted += 1
        self._report(f"topic {topic}: a message is not that of a task; it goes to the dead letters")
        dead = await self._sqs.queue_url(dead_queue_name(topic))
        await self._sqs.send(dead, SendMessageRequest(message_body=message.body))

    async def _said(self, say: Callable[[], Awaitable[T]]) -> T:
        """Say it until the server answers; a task that is done must not be lost for a restart."""
        pause = PAUSE_SECONDS
        for _ in range(SAID_TIMES_MAX):
            try:
                return await say()
            except ClientError as error:
                if not is_transient(error):
                    raise
            await asyncio.sleep(pause)
            pause = min(pause * 2, PAUSE_SECONDS_MAX)
        return await say()

    async def _until_done(
        self, what: str, ask: Callable[[], Awaitable[T]], passes: Callable[[ClientError], bool]
    ) -> T:
        pause = PAUSE_SECONDS
        while True:
            try:
                answer = await ask()
            except ClientError as error:
                if not passes(error):
                    raise
                if what not in self._troubles:
                    self._troubles.add(what)
                    self._report(f"{what}: {error}; trying again")
            else:
                if what in self._troubles:
                    self._troubles.discard(what)
                    self._report(f"{what}: served again")
                return answer
            await asyncio.sleep(pause)
            pause = min(pause * 2, PAUSE_SECONDS_MAX)


def _is_passing_or_missing(error: ClientError) -> bool:
    """A queue may not exist yet: the specification may be put after the worker has started."""
    missing = isinstance(error, Refused) and error.code.endswith("NonExistentQueue")
    return missing or is_transient(error)


def _text_of(error: Exception) -> str:
    text = str(error)
    name = type(error).__name__
    return (f"{name}: {text}" if text else name)[:ERROR_LENGTH_MAX]


async def _taken(places: asyncio.Semaphore, count_max: int) -> int:
    """Wait for a place, and take as many as are free; the number of those."""
    await places.acquire()
    taken = 1
    while taken < count_max and not places.locked():
        await places.acquire()
        taken += 1
    return taken


async def _end(tasks: "list[asyncio.Task[None]]") -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
