"""The catalogue that all front ends share: read from memory, written to records.

Implements `core.ports.Catalogue`. A write goes to the records by compare-and-set and then to this
front end's memory. The others see it when they next ask for the stamp of the records: within
`REFRESH_MS` and the time of reading. A queue that is not in memory is looked up at once, so that a
queue created by one front end can be used through all.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from dovemq.cluster import account_records, catalogue_records
from dovemq.cluster.catalogue_records import (
    ACCOUNT,
    MOVE,
    QUEUE,
    QueueEntry,
    QueueRecords,
    account_of,
    entry_of,
    move_of,
    remove_record,
)
from dovemq.cluster.misses import Misses
from dovemq.cluster.tenure import MonotonicClock
from dovemq.core.accounts import Account
from dovemq.core.commands import Move
from dovemq.core.queue import Queue, QueueKey
from dovemq.stores.catalogue import CatalogueReads
from dovemq.stores.owned.logged.ports import Records, StoredRecord

REFRESH_MS: Final = 1_000
"""The interval at which a front end asks whether others have changed the catalogue."""
DECODED_AT_A_TIME: Final = 200
"""Queues read before other tasks may run."""
_UNKNOWN: Final = (b"", QueueKey("", ""), QueueEntry(None))


class CatalogueChange(Struct, frozen=True):
    """A difference between the catalogue in memory and before.

    `queues` are new ones and newer versions. `accounts` and `moves` tell that some have changed.
    """

    queues: tuple[Queue, ...] = ()
    removed: tuple[Queue, ...] = ()
    accounts: bool = False
    moves: bool = False


class SharedCatalogue(CatalogueReads):
    """`changed` is called after each change of the memory, whoever has made it."""

    def __init__(
        self,
        records: Records,
        *,
        check_open: Callable[[], None],
        changed: Callable[[CatalogueChange], None],
        monotonic_ms: MonotonicClock,
        new_token: Callable[[], str],
    ) -> None:
        super().__init__(check_open)
        self.removed: dict[int, QueueKey] = {}
        """Numbers of removed queues whose logs are still to be removed."""
        self._records = records
        self._queue_records = QueueRecords(records, new_token)
        self._changed = changed
        self._numbers: dict[int, QueueKey] = {}
        self._misses = Misses(monotonic_ms)
        self._stamp: bytes | None = None
        self._known: dict[str, tuple[bytes, QueueKey, QueueEntry]] = {}
        # One write or refresh at a time: a refresh must not bring back what a write has replaced.
        self._writing = asyncio.Lock()

    def numbered(self, number: int) -> Queue | None:
        """The queue of that number, as far as it is in memory."""
        key = self._numbers.get(number)
        return None if key is None else self._queues.get(key)

    async def refresh(self) -> None:
        """Read everything again if something has changed since the last time."""
        async with self._writing:
            await self._refresh()

    async def find(self, key: QueueKey) -> Queue | None:
        self._check_open()
        found = self._queues.get(key)
        if found is None and self._misses.may_look_up(key):
            found = await self._look_up(key)
        return found

    async def latest(self, key: QueueKey) -> Queue | None:
        self._check_open()
        async with self._writing:
            found = await self._queue_records.find(key)
            if found is not None:
                self._hold(found)
            elif (held := self._queues.get(key)) is not None:
                self._forget(held)
        return found

    async def create(self, queue: Queue) -> Queue:
        self._check_open()
        async with self._writing:
            created = await self._queue_records.create(queue)
            self._hold(created)
        return created

    async def replace(self, queue: Queue) -> bool:
        self._check_open()
        async with self._writing:
            replaced = await self._queue_records.replace(queue)
            if replaced:
                self._hold(msgspec.structs.replace(queue, version=queue.version + 1))
            else:
                await self._refresh()
        return replaced

    async def remove(self, key: QueueKey) -> bool:
        self._check_open()
        async with self._writing:
            removed = await self._queue_records.remove(key)
            if removed is None:
                await self._refresh()
                return False
            self.removed[removed.number] = key
            moves = self._moves_of(str(key))
            self._forget(removed)
            for move in moves:
                await remove_record(self._records, MOVE, move.move_id)
        return True

    async def forget_removed(self, number: int) -> None:
        """The log of this removed queue is gone. May be repeated."""
        async with self._writing:
            key = self.removed.get(number)
            if key is not None:
                await self._queue_records.forget(key, number)
                self.removed.pop(number, None)

    async def save_move(self, move: Move) -> None:
        self._check_open()
        async with self._writing:
            known = move.move_id in self._moves
            saved = await catalogue_records.save_move(self._records, move, known=known)
            if saved is None:
                self._moves.pop(move.move_id, None)
                return
            surplus = self._surplus_moves(saved)
            self._moves[saved.move_id] = saved
            for move_id in surplus:
                await remove_record(self._records, MOVE, move_id)
                self._moves.pop(move_id, None)

    async def save_account(self, account: Account) -> bool:
        self._check_open()
        async with self._writing:
            if not await account_records.save_account(self._records, account):
                await self._refresh()
                return False
            newer = msgspec.structs.replace(account, version=account.version + 1)
            self._accounts[account.number] = newer
        return True

    async def remove_account(self, number: str) -> bool:
        """Remove the account; a queue that another front end creates at this moment may stay."""
        self._check_open()
        async with self._writing:
            await self._refresh()
            if any(key.account == number for key in self._queues):
                return False
            removed = await account_records.remove_account(self._records, number)
            self._accounts.pop(number, None)
        return removed

    async def _look_up(self, key: QueueKey) -> Queue | None:
        found = await self._queue_records.find(key)
        if found is None:
            self._misses.missed(key)
        elif key not in self._queues:
            self._hold(found)
        return found

    async def _refresh(self) -> None:
        stamp = await self._records.stamp()
        if stamp == self._stamp:
            return
        # The stamp is older than what is read now, so that no change is missed.
        entries = await self._decoded(await self._records.all(QUEUE))
        moves = [move_of(record) for record in await self._records.all(MOVE)]
        accounts = [account_of(record) for record in await self._records.all(ACCOUNT)]
        self._stamp = stamp
        self._misses.clear()
        self._take(entries, moves, accounts)

    async def _decoded(self, records: Sequence[StoredRecord]) -> dict[QueueKey, QueueEntry]:
        """The entries of all queues; those that have not changed are not decoded again."""
        known, self._known = self._known, {}
        for count, record in enumerate(records):
            if count % DECODED_AT_A_TIME == 0:
                await asyncio.sleep(0)
            value, key, entry = known.get(record.name, _UNKNOWN)
            if value != record.value:
                key, entry = QueueKey.parse(record.name), entry_of(record)
            self._known[record.name] = (record.value, key, entry)
        return {key: entry for _, key, entry in self._known.values()}

    def _take(
        self, entries: dict[QueueKey, QueueEntry], moves: list[Move], accounts: list[Account]
    ) -> None:
        before, moves_before, accounts_before = self._queues, self._moves, self._accounts
        queues = [entry.queue for entry in entries.values() if entry.queue is not None]
        self.removed = {number: key for key, entry in entries.items() for number in entry.removed}
        self._queues = {queue.key: queue for queue in queues}
        self._numbers = {queue.number: queue.key for queue in queues}
        self._moves = {move.move_id: move for move in moves}
        self._accounts = {account.number: account for account in accounts}
        self._changed(
            CatalogueChange(
                tuple(queue for queue in queues if before.get(queue.key) != queue),
                tuple(queue for queue in before.values() if queue.number not in self._numbers),
                self._accounts != accounts_before,
                self._moves != moves_before,
            )
        )

    def _hold(self, queue: Queue) -> None:
        before = self._queues.get(queue.key)
        if before == queue:
            return
        self._queues[queue.key] = queue
        self._numbers[queue.number] = queue.key
        is_other = before is not None and before.number != queue.number
        if before is not None and is_other:
            self._numbers.pop(before.number, None)
        self._changed(CatalogueChange((queue,), (before,) if before and is_other else ()))

    def _forget(self, removed: Queue) -> None:
        held = self._queues.pop(removed.key, None)
        self._numbers.pop(removed.number, None)
        if held is not None:
            self._numbers.pop(held.number, None)
        for move in self._moves_of(str(removed.key)):
            del self._moves[move.move_id]
        gone = (removed,) if held is None or held.number == removed.number else (removed, held)
        self._changed(CatalogueChange(removed=gone))
