"""Producers and consumers of the figures of joram, each pinned to one front end of the service.

A producer sends one message after the other, a consumer receives and deletes one at a time: the
paper's clients commit after each message. A front end prefers its own partitions, so that with one
partition for each the front end of a client decides on its partition.
"""

import asyncio
import itertools
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dovemq.client import ClientError, SqsClient
from dovemq.fabric.autonomic import ClientRole
from dovemq.sqs.shapes import SendMessageRequest

QUEUE: Final = "figure"
BODY_BYTES: Final = 1_000
WAIT_SECONDS: Final = 1
FAILURE_PAUSE_S: Final = 0.1
ANSWER_SECONDS_MAX: Final = 30.0
_NOTHING: Final = ()
_NO_ATTRIBUTES: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class CountSample:
    """Messages sent, and received and deleted, since the start of a run."""

    time_s: float
    produced: int
    consumed: int

    @property
    def waiting(self) -> int:
        return self.produced - self.consumed


Course = Sequence[CountSample]
"""The samples of one run, usually one a second."""


class PinnedClients:
    """`async with` ends all clients; requests that are under way are given up then."""

    def __init__(self, urls: Sequence[str]) -> None:
        """`urls` are those of the front ends; clients name one by its place."""
        self.produced = 0
        self.consumed = 0
        self.failures = 0
        self.samples: list[CountSample] = []
        self._urls = urls
        self._setup = SqsClient(urls[0])
        self._tasks: list[asyncio.Task[None]] = []
        self._began_s = time.monotonic()

    async def __aenter__(self) -> "PinnedClients":
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()
        await self._setup.close()

    async def stop(self) -> None:
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def create_queue(self, attributes: Mapping[str, str] = _NO_ATTRIBUTES) -> None:
        await self._setup.create_queue(QUEUE, dict(attributes), {})

    async def set_attributes(self, attributes: Mapping[str, str]) -> None:
        await self._setup.set_attributes(QUEUE, dict(attributes))

    async def purge(self) -> None:
        await self._setup.purge(QUEUE)

    def begin(self, produced: int = 0) -> None:
        """A run begins now; so many messages wait already."""
        self.produced, self.consumed, self.failures = produced, 0, 0
        self.samples = []
        self._began_s = time.monotonic()
        self._sample()

    def join(self, role: ClientRole, front_end: int) -> None:
        act = self._produce if role is ClientRole.PRODUCER else self._consume
        self._tasks.append(asyncio.create_task(act(self._urls[front_end])))

    async def watch(
        self,
        seconds: float,
        *,
        every_s: float = 1.0,
        produced: int | None = None,
        consumed: int | None = None,
    ) -> None:
        """Samples again and again; ends early when so many messages are produced or consumed."""
        end_s = time.monotonic() + seconds
        while (left_s := end_s - time.monotonic()) > 0:
            await asyncio.sleep(min(every_s, left_s))
            self._sample()
            enough = produced is not None and self.produced >= produced
            if enough or (consumed is not None and self.consumed >= consumed):
                return

    def _sample(self) -> None:
        passed_s = time.monotonic() - self._began_s
        self.samples.append(CountSample(passed_s, self.produced, self.consumed))

    async def _produce(self, url: str) -> None:
        message = SendMessageRequest(message_body="x" * BODY_BYTES)
        async with _client(url) as client:
            while True:
                try:
                    await client.send(QUEUE, message)
                    self.produced += 1
                except ClientError:
                    await self._failed()

    async def _consume(self, url: str) -> None:
        async with _client(url) as client:
            while True:
                try:
                    found = await client.receive(
                        QUEUE,
                        wait_seconds=WAIT_SECONDS,
                        names=_NOTHING,
                        attribute_names=_NOTHING,
                    )
                    for each in found:
                        await client.settle(QUEUE, each.receipt_handle)
                        self.consumed += 1
                except ClientError:
                    await self._failed()

    async def _failed(self) -> None:
        self.failures += 1
        await asyncio.sleep(FAILURE_PAUSE_S)


def _client(url: str) -> SqsClient:
    return SqsClient(url, connections_max=1, attempts_max=1, answer_seconds_max=ANSWER_SECONDS_MAX)


def produced_rate(course: Course, cut_s: float) -> float:
    """Messages a second without the first and the last `cut_s` seconds."""
    first, last = _kept(course, cut_s)
    return (last.produced - first.produced) / (last.time_s - first.time_s)


def consumed_rate(course: Course, cut_s: float) -> float:
    first, last = _kept(course, cut_s)
    return (last.consumed - first.consumed) / (last.time_s - first.time_s)


def _kept(course: Course, cut_s: float) -> tuple[CountSample, CountSample]:
    end_s = course[-1].time_s - cut_s
    inside = [each for each in course if cut_s <= each.time_s <= end_s]
    return (inside[0], inside[-1]) if len(inside) > 1 else (course[0], course[-1])


def rates_by_second(courses: Iterable[Course], counted: str) -> dict[float, tuple[float, ...]]:
    """The rate in each second of all runs, by the end of the second; `counted` is produced or
    consumed."""
    found: dict[float, list[float]] = {}
    for course in courses:
        for before, after in itertools.pairwise(course):
            passed_s = after.time_s - before.time_s
            if passed_s > 0:
                rate = (getattr(after, counted) - getattr(before, counted)) / passed_s
                found.setdefault(float(round(after.time_s)), []).append(rate)
    return {second: tuple(values) for second, values in sorted(found.items())}
