"""Runs a keeper in the process beside the driver: its loop, connections, heartbeat and claim."""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, TypeVar

from dovemq.client.sqs import SqsClient
from dovemq.pipeline.source.folders import CLAIM_SECONDS_MAX, StagingFolder, staging_folder
from dovemq.pipeline.source.keeping import Keeper
from dovemq.pipeline.source.options import ReceiveOptions
from dovemq.pipeline.source.servers import QueueServer, queue_key, queue_url
from dovemq.pipeline.source.staging import Staging
from dovemq.service.clock import SystemClock

T = TypeVar("T")


class Driver:
    """Spark ends the process without notice, so nothing relies on `close`."""

    def __init__(self, server: QueueServer, location: str, pace: ReceiveOptions) -> None:
        self._server = server
        self._open = contextlib.ExitStack()
        try:
            place = staging_folder(location)
            self._open.callback(place.close)
            self._thread, client = self._open.enter_context(server.connected())
            self.keeper = self.run(_keeper(server, client, place, pace))
            self._beating = self.run(_started(self.keeper, place))
        except BaseException:
            self.close()
            raise

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        with self._server.naming():
            return self._thread.run(work)

    def close(self) -> None:
        self._open.close()


async def _keeper(
    server: QueueServer, client: SqsClient, place: StagingFolder, pace: ReceiveOptions
) -> Keeper:
    url = await queue_url(client, server.queue)
    staging = await asyncio.to_thread(Staging, place, queue_key(url))
    return Keeper(client, url, staging, pace, SystemClock())


async def _started(keeper: Keeper, place: StagingFolder) -> "list[asyncio.Task[None]]":
    """Returns the tasks, because the loop keeps only weak references to them."""
    return [asyncio.create_task(keeper.keep_leases()), asyncio.create_task(_keep_claim(place))]


async def _keep_claim(place: StagingFolder) -> None:
    """Renews the claim until it is cancelled; a lost claim is reported with the next batch."""
    while True:
        await asyncio.sleep(CLAIM_SECONDS_MAX)
        try:
            place.keep_claim()
        except Exception:
            continue
