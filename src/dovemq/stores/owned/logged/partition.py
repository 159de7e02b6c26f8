"""A partition over a log: it serves while its index is still being loaded.

Everything else is `OwnedPartition`. Entries are loaded in order of sequence, so during loading:

| verb                    | does                                                                |
|-------------------------|---------------------------------------------------------------------|
| lease                   | takes what is loaded; watchers are woken when there is more         |
| send                    | is durable and answered; the message joins after all that is loaded |
| settle, extend, release | wait if a message of theirs is not loaded yet                       |
| adopt, drop, peek,      | wait until all is loaded: they need all messages                    |
|   counts                |                                                                     |
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence

from dovemq.core.commands import (
    Ask,
    Counts,
    Extension,
    Leased,
    Peek,
    Peeked,
    Receipt,
    Sent,
    Settlement,
    Transfer,
)
from dovemq.core.entry import Entry
from dovemq.core.errors import OwnerChanged
from dovemq.core.index import Index
from dovemq.core.queue import Queue
from dovemq.stores.owned.context import OwnerContext
from dovemq.stores.owned.group import Sending
from dovemq.stores.owned.logged.upkeep import Upkeep
from dovemq.stores.owned.logged.writer import LogWriter
from dovemq.stores.owned.partition import OwnedPartition


class LoggedPartition(OwnedPartition):
    def __init__(
        self,
        queue: Queue,
        number: int,
        writer: LogWriter,
        index: Index,
        context: OwnerContext,
        removed: Callable[[Queue], None],
    ) -> None:
        super().__init__(queue, number, index, context, removed)
        self._writer = writer
        self._loop = context.loop
        self._entries: Iterator[list[Entry]] = iter(())
        self._upkeep: Upkeep | None = None
        self._loaded: asyncio.Future[None] = context.loop.create_future()
        self._loaded_to = 0
        self._late: list[Sending] = []

    def load(self, entries: Iterator[list[Entry]], upkeep: Upkeep) -> None:
        """Load the first entries now, and the others in turns of the loop of their own."""
        self._entries = entries
        self._upkeep = upkeep
        self._load_next()

    async def adopt(self, transfers: Sequence[Transfer], now_ms: int) -> list[Sent]:
        await self._all_loaded()
        return await super().adopt(transfers, now_ms)

    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        leased = await super().lease(ask, now_ms)
        # The lease of the front end may have ended while bodies were read.
        self._writer.check_owned()
        return leased

    async def settle(
        self, receipts: Sequence[Receipt], now_ms: int, *, moved: bool = False, forced: bool = False
    ) -> list[Settlement]:
        await self._these_loaded(receipts)
        return await super().settle(receipts, now_ms, moved=moved, forced=forced)

    async def extend(self, changes: Sequence[tuple[Receipt, int]], now_ms: int) -> list[Extension]:
        await self._these_loaded([receipt for receipt, _ in changes])
        return await super().extend(changes, now_ms)

    async def release(self, receipts: Sequence[Receipt], now_ms: int) -> None:
        await self._these_loaded(receipts)
        await super().release(receipts, now_ms)

    async def drop(self, sent_before_ms: int, count_max: int, now_ms: int) -> int:
        await self._all_loaded()
        return await super().drop(sent_before_ms, count_max, now_ms)

    async def peek(self, page: Peek, now_ms: int) -> list[Peeked]:
        self._writer.check_usable()
        await self._all_loaded()
        return await super().peek(page, now_ms)

    async def counts(self, now_ms: int) -> Counts:
        await self._all_loaded()
        return await super().counts(now_ms)

    def expire(self, now_ms: int) -> None:
        """Remove expired messages, and look after a log that nobody uses."""
        super().expire(now_ms)
        if self._writer.upkeep is not None:
            self._writer.upkeep.look_now_and_then()
            self._writer.look_after()

    async def stop(self) -> None:
        """Make everything durable, leases too, and refuse requests. Another owner may open it."""
        await self._writer.close()

    def abandon(self) -> None:
        """Stop as if the process were killed."""
        self._writer.abandon()

    def lost(self) -> None:
        """Another process owns the partition: forget the index. Waiting receives are woken."""
        if not self._loaded.done():
            self._loaded.set_exception(OwnerChanged(*self._place))
            # Nobody may be waiting for it.
            self._loaded.exception()
        self._entries = iter(())
        self._wake()
        self._let_go()

    def _check_open(self) -> None:
        super()._check_open()
        self._writer.check_owned()

    def _load_next(self) -> None:
        if self._loaded.done():
            return
        entries = next(self._entries, None)
        if entries is None:
            self._end_loading()
            return
        self._index.add_recovered(entries)
        if entries:
            self._loaded_to = entries[-1].sequence
        self._wake()
        self._loop.call_soon(self._load_next)

    def _end_loading(self) -> None:
        late, self._late = self._late, []
        self._loaded.set_result(None)
        for sending in late:
            super()._published(sending)
        self._writer.upkeep = self._upkeep
        self._writer.look_after()

    def _published(self, sending: Sending) -> None:
        if self._loaded.done() or self._closed:
            super()._published(sending)
        else:
            self._late.append(sending)

    async def _all_loaded(self) -> None:
        if not self._loaded.done():
            await asyncio.shield(self._loaded)

    async def _these_loaded(self, receipts: Sequence[Receipt]) -> None:
        if self._loaded.done():
            return
        if any(receipt.sequence > self._loaded_to for receipt in receipts):
            await asyncio.shield(self._loaded)
