"""Queues, accounts and move tasks as records of a shared database, and the rules of changing them.

Each function is one change by compare-and-set and keeps nothing in memory. Kinds of records:

    queue         account/name     the queue, and the numbers of removed queues of this name whose
                                   logs are still to be removed
    account       number           the account
    account_name  name             the number of the account that has this name
    move          id of the task   the move task
"""

from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import Struct

from dovemq.cluster.numbering import next_number
from dovemq.core.accounts import Account
from dovemq.core.commands import Move, MoveStatus
from dovemq.core.errors import Busy
from dovemq.core.queue import Queue, QueueKey
from dovemq.stores.owned.logged.ports import Records, StoredRecord

QUEUE: Final = "queue"
ACCOUNT: Final = "account"
ACCOUNT_NAME: Final = "account_name"
MOVE: Final = "move"
ATTEMPTS_MAX: Final = 50
"""Repeated compare-and-sets before the database is called busy."""

_UNFINISHED: Final = (MoveStatus.RUNNING, MoveStatus.CANCELLING)


class QueueEntry(Struct, frozen=True):
    """The value of a queue's record. `removed` holds numbers of earlier queues of this name.

    The record of a removed queue stays until the log is gone too, so that neither a crash leaves a
    log behind nor a late change of the old queue meets the new one.
    """

    queue: Queue | None
    removed: tuple[int, ...] = ()


def entry_of(record: StoredRecord | None) -> QueueEntry:
    return msgspec.json.decode(record.value, type=QueueEntry) if record else QueueEntry(None)


def account_of(record: StoredRecord) -> Account:
    account = msgspec.json.decode(record.value, type=Account)
    return msgspec.structs.replace(account, version=record.version)


def move_of(record: StoredRecord) -> Move:
    return msgspec.json.decode(record.value, type=Move)


class QueueRecords:
    def __init__(self, records: Records, new_token: Callable[[], str]) -> None:
        self._records = records
        self._new_token = new_token

    async def find(self, key: QueueKey) -> Queue | None:
        return entry_of(await self._records.get(QUEUE, str(key))).queue

    async def create(self, queue: Queue) -> Queue:
        """The stored queue of this key; it is this one, with its number, if there was none."""
        number = 0
        for _ in range(ATTEMPTS_MAX):
            record = await self._records.get(QUEUE, str(queue.key))
            entry = entry_of(record)
            if entry.queue is not None:
                return entry.queue
            number = number or await next_number(self._records, "queue_number", self._new_token)
            created = msgspec.structs.replace(queue, number=number)
            if await self._put(queue.key, QueueEntry(created, entry.removed), record):
                return created
        raise _busy(queue.key)

    async def replace(self, queue: Queue) -> bool:
        """Store the queue as its next version, if the stored one has the same number and version.

        The version of the record may be higher: it also counts removed logs.
        """
        newer = msgspec.structs.replace(queue, version=queue.version + 1)
        for _ in range(ATTEMPTS_MAX):
            record = await self._records.get(QUEUE, str(queue.key))
            entry = entry_of(record)
            held = entry.queue
            if held is None or (held.number, held.version) != (queue.number, queue.version):
                return False
            if await self._put(queue.key, QueueEntry(newer, entry.removed), record):
                return True
        raise _busy(queue.key)

    async def remove(self, key: QueueKey) -> Queue | None:
        """The queue that was removed; its number is kept until `forget`."""
        for _ in range(ATTEMPTS_MAX):
            record = await self._records.get(QUEUE, str(key))
            entry = entry_of(record)
            if entry.queue is None:
                return None
            numbers = (*entry.removed, entry.queue.number)
            if await self._put(key, QueueEntry(None, numbers), record):
                return entry.queue
        raise _busy(key)

    async def forget(self, key: QueueKey, number: int) -> None:
        """The log of this removed queue is gone. May be repeated."""
        for _ in range(ATTEMPTS_MAX):
            record = await self._records.get(QUEUE, str(key))
            entry = entry_of(record)
            if record is None or number not in entry.removed:
                return
            removed = tuple(each for each in entry.removed if each != number)
            if entry.queue is None and not removed:
                done = await self._records.remove(QUEUE, str(key), record.version)
            else:
                done = await self._put(key, QueueEntry(entry.queue, removed), record)
            if done:
                return
        raise _busy(key)

    async def _put(self, key: QueueKey, entry: QueueEntry, record: StoredRecord | None) -> bool:
        version = record.version if record else 0
        return await self._records.put(QUEUE, str(key), msgspec.json.encode(entry), version)


async def save_move(records: Records, move: Move, *, known: bool) -> Move | None:
    """Store the move and return it as it is stored; None if it was removed with its queue.

    A task that is being cancelled does not run again, and a finished one stays finished, whichever
    front end reports its progress. `known`: the move was stored before.
    """
    for _ in range(ATTEMPTS_MAX):
        record = await records.get(MOVE, move.move_id)
        if record is None and known:
            return None
        held = move_of(record) if record else None
        merged = _merged(held, move)
        if merged == held:
            return held
        version = record.version if record else 0
        if await records.put(MOVE, move.move_id, msgspec.json.encode(merged), version):
            return merged
    raise Busy(f"The move {move.move_id} is changed by others all the time")


def _merged(held: Move | None, move: Move) -> Move:
    if held is None:
        return move
    if held.status not in _UNFINISHED and move.status in _UNFINISHED:
        return held
    if held.status is MoveStatus.CANCELLING and move.status is MoveStatus.RUNNING:
        return msgspec.structs.replace(move, status=MoveStatus.CANCELLING)
    if move.status is MoveStatus.CANCELLING:
        # A front end that cancels may know of less progress than was made.
        return msgspec.structs.replace(move, moved=max(held.moved, move.moved))
    return move


async def remove_record(records: Records, kind: str, name: str) -> None:
    """Remove the record in whatever version it is."""
    for _ in range(ATTEMPTS_MAX):
        record = await records.get(kind, name)
        if record is None or await records.remove(kind, name, record.version):
            return
    raise Busy(f"The {kind} {name} is changed by others all the time")


def _busy(key: QueueKey) -> Busy:
    return Busy(f"The queue {key} is changed by others all the time")
