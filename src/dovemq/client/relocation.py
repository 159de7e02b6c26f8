"""Moving all queues of an account with their messages to another server.

Queues that the target lacks are created there; one that it has is left as it is. Then the messages
of each queue are moved as `QueueMover` does. Everything may be repeated: a run that was interrupted
is resumed by the next one.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Final, TypeVar

from msgspec import Struct

from dovemq.client.delivering import QueueSide
from dovemq.client.errors import ClientError, Refused
from dovemq.client.moving import MoveOptions, MoveSummary, QueueMover, remaining
from dovemq.client.pool import CONNECTIONS_MAX
from dovemq.client.relocating import (
    PAUSED,
    UNFINISHED,
    RelocatedQueue,
    differences,
    first_attributes,
    first_tags,
    in_levels,
    links_at,
    settable,
)
from dovemq.client.retrying import Pause, retried
from dovemq.client.sqs import SqsClient
from dovemq.sqs.attributes import ALL, ALL_EXTENDED

QUEUES_AT_A_TIME: Final = 4
"""Queues whose messages are moved at the same time."""
READS_AT_A_TIME: Final = 8
_UNKNOWN_NAME: Final = "InvalidAttributeName"

A = TypeVar("A")
T = TypeVar("T")


class QueueOutcome(Struct, frozen=True):
    """The result for one queue. `problem` says what somebody must correct.

    The numbers are those of `MoveSummary`.
    """

    queue: str
    created: bool
    differences: list[str]
    moved: int
    refused: int
    undeleted: int
    remaining: int
    problem: str | None

    @property
    def done(self) -> bool:
        return not (self.refused or self.undeleted or self.remaining or self.problem)


class _Work(Struct, eq=False):
    """One queue on its way."""

    source: RelocatedQueue
    target: RelocatedQueue | None = None
    created: bool = False
    differences: list[str] = []
    problems: list[str] = []
    summary: MoveSummary | None = None

    def outcome(self) -> QueueOutcome:
        summary = self.summary or MoveSummary(0, 0, 0, 0, stopped=True)
        return QueueOutcome(
            self.source.name,
            self.created,
            self.differences,
            summary.moved,
            summary.refused,
            summary.undeleted,
            summary.remaining,
            "; ".join(self.problems) or None,
        )


@dataclass(slots=True)
class AccountMover:
    """Moves the queues of the source's account. `report` gets a line for each thing to know."""

    source: SqsClient
    target: SqsClient
    report: Callable[[str], None]
    options: MoveOptions = field(default_factory=MoveOptions)
    _: KW_ONLY
    keep_ids: bool = False
    pause: Pause = asyncio.sleep
    stopped: bool = False
    _work: list[_Work] = field(default_factory=list)
    _movers: dict[str, QueueMover] = field(default_factory=dict)
    _failure: ClientError | None = None

    @property
    def moved(self) -> int:
        finished = sum(each.summary.moved for each in self._work if each.summary)
        return finished + sum(mover.moved for mover in self._movers.values())

    @property
    def progress(self) -> str:
        done = sum(each.summary is not None for each in self._work)
        return f"{done} of {len(self._work)} queues done, {self.moved} messages moved"

    def stop(self) -> None:
        """Start no further queue, and finish the messages that were received."""
        self.stopped = True
        for mover in self._movers.values():
            mover.stop()

    async def run(self) -> list[QueueOutcome]:
        queues = await self._read(self.source)
        self._work = [_Work(queue) for queue in queues]
        await self._make_queues()
        of_name = {each.source.name: each for each in self._work}
        for level in in_levels(queues):
            await self._move_level([of_name[queue.name] for queue in level])
        if self._failure is not None:
            raise self._failure
        for each in self._work:
            if each.summary is None:
                left = await self._remaining(each)
                each.summary = MoveSummary(0, 0, 0, left, stopped=self.stopped)
        return [each.outcome() for each in self._work]

    async def _read(
        self, client: SqsClient, names: Iterable[str] | None = None
    ) -> list[RelocatedQueue]:
        """The queues of an account, or those of these names."""
        urls = await retried(client.queue_urls, self.pause)
        wanted = None if names is None else set(names)
        chosen = [url for url in urls if wanted is None or url.rpartition("/")[2] in wanted]
        asked = await _names_known(client, chosen[0]) if chosen else ()

        async def read(url: str) -> RelocatedQueue:
            found = await retried(lambda: client.attributes(url, asked), self.pause)
            tags = await retried(lambda: client.tags(url), self.pause)
            name = url.rpartition("/")[2]
            return RelocatedQueue(name, url, found["QueueArn"], settable(found), tags)

        return await _each(chosen, read, READS_AT_A_TIME)

    async def _make_queues(self) -> None:
        there = await self._read(self.target, (each.source.name for each in self._work))
        found = {queue.name: queue for queue in there}
        for each in self._work:
            each.target = found.get(each.source.name)
            if each.target is None and not self.stopped:
                with self._noted(each):
                    each.target = await self._created(each.source)
                    each.created = True
        for each in self._work:
            if each.target is None:
                continue
            if each.created or UNFINISHED in each.target.tags:
                await self._finish(each, each.target)
            else:
                self._compare(each, each.target)

    async def _created(self, queue: RelocatedQueue) -> RelocatedQueue:
        attributes, tags = first_attributes(queue), first_tags(queue)
        url = await retried(
            lambda: self.target.create_queue(queue.name, attributes, tags), self.pause
        )
        found = await retried(lambda: self.target.attributes(url, ["QueueArn"]), self.pause)
        return RelocatedQueue(queue.name, url, found["QueueArn"], attributes, tags)

    async def _finish(self, work: _Work, target: RelocatedQueue) -> None:
        """Set what needs other queues. The tag stays if something is refused."""
        problems = len(work.problems)
        for name, text in links_at(work.source, target.arn).items():
            with self._noted(work, f"{name} was not set at the target: "):
                await retried(
                    lambda name=name, text=text: self.target.set_attributes(  # type: ignore[misc]
                        target.url, {name: text}
                    ),
                    self.pause,
                )
        if UNFINISHED in target.tags and len(work.problems) == problems:
            await retried(lambda: self.target.untag(target.url, [UNFINISHED]), self.pause)

    def _compare(self, work: _Work, target: RelocatedQueue) -> None:
        work.differences = differences(work.source, target)
        for each in work.differences:
            self.report(f"{work.source.name} was at the target already and was not changed: {each}")
        if work.source.fifo != target.fifo:
            self._note(work, "it is a FIFO queue at one end only, so its messages stay")
            work.target = None

    async def _move_level(self, level: Sequence[_Work]) -> None:
        ready = [each for each in level if each.target is not None]
        full = await self._without_empty(ready)
        at_a_time = max(1, min(QUEUES_AT_A_TIME, CONNECTIONS_MAX // self.options.workers))
        await _each(full, self._move, at_a_time)

    async def _without_empty(self, works: Sequence[_Work]) -> list[_Work]:
        """The queues with messages. The others are counted twice: some servers count roughly."""
        counts = await _each(works, self._remaining, READS_AT_A_TIME)
        if 0 in counts and not self.stopped:
            await self.pause(self.options.empty_seconds)
            counts = [
                count or await self._remaining(work)
                for work, count in zip(works, counts, strict=True)
            ]
        for work, count in zip(works, counts, strict=True):
            if not count:
                work.summary = MoveSummary(0, 0, 0, 0, stopped=False)
        return [work for work, count in zip(works, counts, strict=True) if count]

    async def _remaining(self, work: _Work) -> int:
        return await remaining(QueueSide(self.source, work.source.url), self.pause)

    async def _move(self, work: _Work) -> None:
        source, target = work.source, work.target
        if self.stopped or target is None:
            return
        if source.attributes.get(PAUSED) == "true":
            remedy = f"resume it by: dovemq queue set {source.name} {PAUSED}=false"
            paused = "its delivery is paused at the source, so its messages stay"
            self._note(work, f"{paused}; {remedy}")
            return
        mover = QueueMover(
            QueueSide(self.source, source.url),
            QueueSide(self.target, target.url),
            lambda problem: self.report(f"{source.name}: refused by the target: {problem}"),
            options=self.options,
            keep_ids=self.keep_ids,
            pause=self.pause,
        )
        self._movers[source.name] = mover
        try:
            with self._noted(work):
                work.summary = await mover.run()
        except ClientError as error:
            self._failure = self._failure or error
            self.stop()
        finally:
            del self._movers[source.name]

    @contextlib.contextmanager
    def _noted(self, work: _Work, start: str = "") -> Iterator[None]:
        """A refusal is a problem of this queue alone."""
        try:
            yield
        except Refused as error:
            self._note(work, f"{start}{error}")

    def _note(self, work: _Work, problem: str) -> None:
        work.problems = [*work.problems, problem]
        self.report(f"{work.source.name}: {problem}")


async def _names_known(client: SqsClient, url: str) -> Sequence[str]:
    """The names that ask for all attributes: a server that is not DoveMQ refuses one of them."""
    try:
        await retried(lambda: client.attributes(url, (ALL, ALL_EXTENDED)))
    except Refused as error:
        if _UNKNOWN_NAME not in error.code:
            raise
        return (ALL,)
    return (ALL, ALL_EXTENDED)


async def _each(items: Sequence[A], work: Callable[[A], Awaitable[T]], at_a_time: int) -> list[T]:
    """The results in the order of the items."""
    places = asyncio.Semaphore(at_a_time)

    async def one(item: A) -> T:
        async with places:
            return await work(item)

    return list(await asyncio.gather(*(one(item) for item in items)))
