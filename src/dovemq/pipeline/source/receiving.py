"""An intake at work in a process of its own: its loop, its connections, its heartbeat, its lock."""

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from dovemq.client.blocking import LoopThread
from dovemq.client.patience import patiently
from dovemq.client.sqs import SqsClient
from dovemq.pipeline.source.errors import StagingBusy
from dovemq.pipeline.source.intake import Intake
from dovemq.pipeline.source.options import Pace, Server
from dovemq.pipeline.source.staging import Staging

LOCK_ATTEMPTS_MAX: Final = 60
LOCK_PAUSE_SECONDS: Final = 0.5


class Receiving:
    """Spark ends the process without a word, so nothing here relies on `close`."""

    def __init__(self, server: Server, folder: Path, pace: Pace) -> None:
        self._thread = LoopThread("dovemq-intake")
        try:
            self._client, self._staging, self._intake = self._thread.run(
                _opened(server, folder, pace)
            )
            self._beating = self._thread.run(_started(self._intake))
        except BaseException:
            self._thread.close()
            raise

    @property
    def settled(self) -> int:
        return self._intake.settled

    @property
    def last(self) -> int:
        return self._intake.last

    def allow_present(self) -> None:
        self._thread.run(self._intake.allow_present())

    def offer(self, start: int, count_max: int) -> int:
        return self._thread.run(self._intake.offer(start, count_max))

    def finish(self, epoch: int) -> None:
        self._thread.run(self._intake.finish(epoch))

    def close(self) -> None:
        self._beating.cancel()
        self._thread.run(self._client.close())
        self._thread.close()
        self._staging.close()


@contextlib.contextmanager
def receiving(server: Server, folder: Path, pace: Pace) -> Iterator[Receiving]:
    at_work = Receiving(server, folder, pace)
    try:
        yield at_work
    finally:
        at_work.close()


async def queue_url(client: SqsClient, queue: str) -> str:
    if urlsplit(queue).scheme in ("http", "https"):
        return queue
    return await patiently(lambda: client.queue_url(queue))


def queue_key(url: str) -> str:
    """Account and name: the host of a URL may change."""
    return urlsplit(url).path.strip("/")


async def _opened(server: Server, folder: Path, pace: Pace) -> tuple[SqsClient, Staging, Intake]:
    client = server.sqs()
    url = await queue_url(client, server.queue)
    staging = await _staging(folder, queue_key(url))
    return client, staging, Intake(client, url, staging, pace)


async def _staging(folder: Path, queue: str) -> Staging:
    """The process of a query that was stopped may live a little longer than the query."""
    for _ in range(LOCK_ATTEMPTS_MAX - 1):
        with contextlib.suppress(StagingBusy):
            return Staging(folder, queue)
        await asyncio.sleep(LOCK_PAUSE_SECONDS)
    return Staging(folder, queue)


async def _started(intake: Intake) -> "asyncio.Task[None]":
    return asyncio.create_task(intake.keep_leases())
