"""Readers of queues for Spark: as a stream, as a view of the queue, and as a drained part.

Spark plans in a process beside the driver, where `Driver` runs a keeper, and reads in executors. A
reader is sent to both, with the key.
"""

import asyncio
import contextlib
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from dovemq.client.sqs import SqsClient
from dovemq.pipeline.source.folders import CLAIM_SECONDS_MAX, StagingFolder, staging_folder
from dovemq.pipeline.source.keeping import Keeper
from dovemq.pipeline.source.options import (
    MESSAGES,
    QueueServer,
    ReceiveOptions,
    queue_key,
    queue_url,
)
from dovemq.pipeline.source.peeking import peeked, spans
from dovemq.pipeline.source.slots import read_slot
from dovemq.pipeline.source.staging import Promise, Staging
from dovemq.system.clock import SystemClock

T = TypeVar("T")


class Driver:
    """Spark ends the process without notice, so nothing relies on `close`."""

    def __init__(self, server: QueueServer, location: str, options: ReceiveOptions) -> None:
        self._server = server
        self._open = contextlib.ExitStack()
        try:
            place = staging_folder(location)
            self._open.callback(place.close)
            self._thread, client = self._open.enter_context(server.connected())
            self.keeper = self.run(_keeper(server, client, place, options))
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
    server: QueueServer, client: SqsClient, place: StagingFolder, options: ReceiveOptions
) -> Keeper:
    url = await queue_url(client, server.queue)
    staging = await asyncio.to_thread(Staging, place, queue_key(url))
    return Keeper(client, url, staging, options, SystemClock())


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


Offset = dict[str, Any]


class ReadPlan(NamedTuple):
    server: QueueServer
    location: str
    options: ReceiveOptions
    columns: list[str]

    def driver(self) -> Driver:
        return Driver(self.server, self.location, self.options)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Reads a slot; if none was planned, Spark asks for a partition without a value."""
        slot = partition.value
        if slot is not None:
            yield from read_slot(self.server, self.location, self.options, slot, self.columns)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Spark calls it in one long-lived process beside the driver, except for `read`."""

    def __init__(self, plan: ReadPlan) -> None:
        self._plan = plan
        self._running: Driver | None = None

    def initialOffset(self) -> Offset:
        return msgspec.structs.asdict(self._driver.keeper.settled)

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self._plan.options.count_max)

    def prepareForTriggerAvailableNow(self) -> None:
        self._driver.run(self._driver.keeper.allow_present())

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        count_max = limit.max_rows if isinstance(limit, ReadMaxRows) else MESSAGES.most
        offered = self._driver.keeper.offer(_promise(start), count_max)
        return msgspec.structs.asdict(self._driver.run(offered))

    def reportLatestOffset(self) -> Offset:
        return self._driver.run(self._driver.keeper.report())

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        # A repeated batch starts here, and its leases must be extended from now on.
        self._driver.keeper.staging.check(_promise(end))
        return _slots(_promise(end)) if start != end else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._plan.read(partition)

    def commit(self, end: Offset) -> None:
        self._driver.run(self._driver.keeper.finish(_promise(end)))

    @property
    def _driver(self) -> Driver:
        if self._running is None:
            self._running = self._plan.driver()
        return self._running


@dataclass
class DrainReader(DataSourceReader):
    """Reads one epoch, the same until it is settled; planned once for a DataFrame."""

    plan: ReadPlan

    def partitions(self) -> Sequence[InputPartition]:
        with closing(self.plan.driver()) as driver:
            start = driver.keeper.settled
            end = driver.run(driver.keeper.offer(start, self.plan.options.count_max))
        return _slots(end) if end != start else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self.plan.read(partition)


@dataclass
class PeekReader(DataSourceReader):
    """Reads the messages in the queue, leased or not, through the admin API."""

    server: QueueServer
    count_max: int
    readers: int
    columns: list[str]

    def partitions(self) -> Sequence[InputPartition]:
        return list(map(InputPartition, spans(self.server, self.count_max, self.readers)))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        for batch in peeked(self.server, partition.value):
            yield batch.select(self.columns)


def _slots(promise: Promise) -> list[InputPartition]:
    return list(map(InputPartition, promise.shares()))


def _promise(offset: Offset) -> Promise:
    return msgspec.convert(offset, Promise)
