"""Queues read by Spark: as a stream, as what lies in them, and as a staged part of them.

What is planned beside the driver receives and settles; tasks only read staged files, or peek.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from dovemq.client import BlockingAdminClient
from dovemq.client.blocking import LoopThread
from dovemq.core.limits import PEEK_COUNT
from dovemq.pipeline.source.columns import peeked_batch
from dovemq.pipeline.source.options import MESSAGES, Pace, Server
from dovemq.pipeline.source.receiving import Receiving, queue_key, queue_url, receiving
from dovemq.pipeline.source.staging import Slice, read_slice, slices_between

Offset = dict[str, int]


class StagedPart(InputPartition):
    def __init__(self, part: Slice) -> None:
        self.part = part


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Spark calls it in one long-lived process beside the driver, but for `read`."""

    def __init__(self, server: Server, folder: Path, pace: Pace, columns: Sequence[str]) -> None:
        self._server = server
        self._folder = folder
        self._pace = pace
        self._columns = list(columns)
        self._receiving: Receiving | None = None

    def __getstate__(self) -> dict[str, Any]:
        """All that a task needs: no key goes with it."""
        return {"_columns": self._columns}

    def initialOffset(self) -> Offset:
        return _offset(self._at_work().settled)

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self._pace.count_max)

    def prepareForTriggerAvailableNow(self) -> None:
        self._at_work().allow_present()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        count_max = limit.max_rows if isinstance(limit, ReadMaxRows) else MESSAGES.most
        return _offset(self._at_work().offer(start["epoch"], count_max))

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        # A batch that is run again comes here first, and its leases must be kept from now on.
        self._at_work()
        return [
            StagedPart(part) for part in slices_between(self._folder, start["epoch"], end["epoch"])
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(partition, self._columns)

    def commit(self, end: Offset) -> None:
        self._at_work().finish(end["epoch"])

    def _at_work(self) -> Receiving:
        if self._receiving is None:
            self._receiving = Receiving(self._server, self._folder, self._pace)
        return self._receiving


class DrainReader(DataSourceReader):
    """One epoch, the same until it is settled; planned once for a DataFrame."""

    def __init__(self, server: Server, folder: Path, pace: Pace, columns: Sequence[str]) -> None:
        self._server = server
        self._folder = folder
        self._pace = pace
        self._columns = list(columns)

    def partitions(self) -> Sequence[InputPartition]:
        with receiving(self._server, self._folder, self._pace) as at_work:
            start = at_work.settled
            end = at_work.offer(start, self._pace.count_max)
        return [StagedPart(part) for part in slices_between(self._folder, start, end)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(partition, self._columns)


class PeekReader(DataSourceReader):
    """What lies in the queue, received or not, by the admin API; a task asks page by page."""

    def __init__(self, server: Server, count_max: int, columns: Sequence[str]) -> None:
        self._server = server
        self._count_max = count_max
        self._columns = list(columns)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        server = self._server
        account, _, name = queue_key(_resolved(server)).partition("/")
        with BlockingAdminClient(
            server.admin_url, server.key, ca_bundle=server.ca_bundle, region=server.region
        ) as admin:
            left, after = self._count_max, 0
            while left:
                page = admin.messages(account, name, min(left, PEEK_COUNT.most), after)
                if page["messages"]:
                    yield peeked_batch(page["messages"], server.region).select(self._columns)
                left -= len(page["messages"])
                if page["next"] is None:
                    return
                after = int(page["next"])


def _offset(epoch: int) -> Offset:
    return {"epoch": epoch}


def _read(partition: InputPartition, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Spark makes a partition of its own where none was planned."""
    if isinstance(partition, StagedPart):
        yield from read_slice(partition.part, columns)


def _resolved(server: Server) -> str:
    thread = LoopThread("dovemq-client")
    client = server.sqs()
    try:
        return thread.run(queue_url(client, server.queue))
    finally:
        thread.run(client.close())
        thread.close()
