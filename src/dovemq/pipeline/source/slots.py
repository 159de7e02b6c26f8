"""Fills and reads one slot of an epoch, in a task of an executor.

A filled slot is read from its file, whichever attempt filled it. Otherwise the task receives its
share and publishes it before it returns the first row. So a task that runs again, or twice at the
same time, returns the same rows. Received messages that cannot be published are released to the
queue; if that fails, they come back when their leases end.
"""

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import pyarrow as pa

from dovemq.client.batching import batches
from dovemq.client.errors import ClientError
from dovemq.client.retrying import Pause, retried
from dovemq.client.sqs import SqsClient
from dovemq.core import limits
from dovemq.pipeline.source.columns import StagedColumns, received_batch
from dovemq.pipeline.source.folders import StagingFolder, staging_folder
from dovemq.pipeline.source.options import QueueServer, ReceiveOptions, queue_url
from dovemq.pipeline.source.staging import Epoch, Received, Slot, StagedEntry, owed_in
from dovemq.sqs.shapes import ReceivedMessage

ROWS_MAX: Final = 1_000
"""The most rows of a record batch."""
GATHER_SECONDS_MAX: Final = 10.0
_SENT: Final = "SentTimestamp"


def read_slot(
    server: QueueServer, location: str, options: ReceiveOptions, slot: Slot, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    with contextlib.closing(staging_folder(location)) as place:
        with server.connected() as (thread, client):
            filling = SlotFiller(client, server.queue, place, options, StagedColumns.of(columns))
            entry = thread.run(filling.filled(slot))
        yield from Epoch(place, slot.epoch).read(entry, columns)


@dataclass(frozen=True, slots=True)
class SlotFiller:
    client: SqsClient
    queue: str
    place: StagingFolder
    options: ReceiveOptions
    wish: StagedColumns
    pause: Pause = asyncio.sleep

    async def filled(self, slot: Slot) -> StagedEntry:
        """Returns the entry of the slot, from this attempt or another one."""
        epoch = Epoch(self.place, slot.epoch)
        owed = owed_in(self.place, slot)
        entry = epoch.entry_of(slot.number)
        if entry is not None:
            return entry
        url = await queue_url(self.client, self.queue)
        content = SlotContent(self.wish, slot.count_max, self.options.bytes_max // slot.slots)
        try:
            await self._receive(url, content)
            entry = epoch.publish(slot.number, content.received(), owed)
            # An epoch is marked as settled before its files are removed, so this check finds an
            # entry that took the place of a removed one.
            owed_in(self.place, slot)
        finally:
            if entry is None:
                await self._release(url, content)
        entry = entry or epoch.entry_of(slot.number)
        assert entry is not None, "a slot that was filled stays filled"
        return entry

    async def _receive(self, url: str, content: "SlotContent") -> None:
        """Receives messages. Only the first receive waits, and is repeated if it fails.

        Messages received before a failure are kept.
        """
        seconds = min(GATHER_SECONDS_MAX, self.options.lease_seconds / 2)
        deadline = asyncio.get_running_loop().time() + seconds
        first = partial(self._draw, url, content, self.options.wait_seconds)
        if await retried(first, self.pause):
            await asyncio.gather(
                *(self._draw_on(url, content, deadline) for _ in range(self.options.receives))
            )

    async def _draw_on(self, url: str, content: "SlotContent", deadline: float) -> None:
        """Receives until the queue is empty, enough is there, or the time is over."""
        now = asyncio.get_running_loop().time
        with contextlib.suppress(ClientError):
            while now() < deadline and await self._draw(url, content, 0):
                pass

    async def _draw(self, url: str, content: "SlotContent", wait_seconds: int) -> bool:
        asked = content.reserve(limits.RECEIVE_COUNT.most)
        messages: list[ReceivedMessage] = []
        try:
            if asked:
                messages = await self.client.receive(
                    url,
                    asked,
                    wait_seconds=wait_seconds,
                    lease_seconds=self.options.lease_seconds,
                    names=self.wish.names,
                    attribute_names=self.wish.attribute_names,
                )
        finally:
            content.take(messages, asked)
        return bool(messages)

    async def _release(self, url: str, content: "SlotContent") -> None:
        """Makes the messages visible again; failures are ignored, because their leases end
        anyway."""
        for part in batches(content.receipts, len):
            with contextlib.suppress(ClientError):
                await self.client.extend_batch(url, part, 0)


class SlotContent:
    """The messages that an attempt has received so far, as a file in memory."""

    def __init__(self, wish: StagedColumns, count_max: int, bytes_max: int) -> None:
        self.receipts: list[str] = []
        self._ids: list[str] = []
        self._oldest_ms: int | None = None
        self._room = count_max
        self._bytes_left = bytes_max
        self._fresh: list[ReceivedMessage] = []
        self._schema = wish.schema
        self._sink = pa.BufferOutputStream()
        self._writer = pa.ipc.new_file(self._sink, wish.schema)

    def reserve(self, most: int) -> int:
        asked = min(most, self._room) if self._bytes_left > 0 else 0
        self._room -= asked
        return asked

    def take(self, messages: Sequence[ReceivedMessage], asked: int) -> None:
        self._room += asked - len(messages)
        for message in messages:
            self._ids.append(message.message_id)
            self.receipts.append(message.receipt_handle)
            self._bytes_left -= len(message.body)
            if _SENT in message.attributes:
                sent_ms = int(message.attributes[_SENT])
                self._oldest_ms = min(self._oldest_ms or sent_ms, sent_ms)
        self._fresh += messages
        if len(self._fresh) >= ROWS_MAX:
            self._write()

    def received(self) -> Received:
        if self._fresh:
            self._write()
        self._writer.close()
        return Received(self._ids, self._sink.getvalue(), self._oldest_ms)

    def _write(self) -> None:
        self._writer.write_batch(received_batch(self._fresh, self._schema))
        self._fresh.clear()
