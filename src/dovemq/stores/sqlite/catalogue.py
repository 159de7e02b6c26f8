"""Queues, accounts and move tasks: read from memory, written through the writer.

Implements `core.ports.Catalogue`. What was committed is in memory in the same order.
"""

import heapq
from collections.abc import Callable, Iterable
from typing import Final

import apsw
import msgspec

from dovemq.core.accounts import Account
from dovemq.core.commands import Move, MoveStatus
from dovemq.core.queue import Queue, QueueKey
from dovemq.stores.sqlite.rows import account_record, move_record, queue_columns, queue_from_row
from dovemq.stores.sqlite.statements import Statements
from dovemq.stores.sqlite.writer import Writer

FINISHED_MOVES_MAX: Final = 10
_UNFINISHED: Final = (MoveStatus.RUNNING, MoveStatus.CANCELLING)


class SqliteCatalogue:
    def __init__(
        self,
        writer: Writer,
        sql: Statements,
        queues: Iterable[Queue],
        moves: Iterable[Move],
        accounts: Iterable[Account],
        removed: Callable[[Queue], None],
    ) -> None:
        self._writer = writer
        self._sql = sql
        self._queues = {queue.key: queue for queue in queues}
        self._moves = {move.move_id: move for move in moves}
        self._accounts = {account.number: account for account in accounts}
        self._removed = removed

    async def create(self, queue: Queue) -> Queue:
        held = self._queues.get(queue.key)
        if held is not None:
            self._writer.check_usable()
            return held
        settings, tags = queue_columns(queue)
        key = (queue.key.account, queue.key.name)
        times = (queue.created_ms, queue.modified_ms, queue.version)

        def run(connection: apsw.Connection) -> Queue:
            row = (*key, settings, tags, *times)
            number = connection.execute(self._sql.insert_queue, row).get
            if number is not None:
                return msgspec.structs.replace(queue, number=number)
            return queue_from_row(next(connection.execute(self._sql.select_queue, key)))

        created: Queue = await self._writer.work(run, self._hold)
        return created

    async def find(self, key: QueueKey) -> Queue | None:
        self._writer.check_open()
        return self._queues.get(key)

    async def replace(self, queue: Queue) -> bool:
        settings, tags = queue_columns(queue)
        row = (settings, tags, queue.modified_ms, queue.number, queue.version)

        def run(connection: apsw.Connection) -> bool:
            return connection.execute(self._sql.update_queue, row).get is not None

        def publish(replaced: bool) -> None:
            if replaced:
                self._hold(msgspec.structs.replace(queue, version=queue.version + 1))

        done: bool = await self._writer.work(run, publish)
        return done

    async def remove(self, key: QueueKey) -> bool:
        def run(connection: apsw.Connection) -> bool:
            place = (key.account, key.name)
            number = connection.execute(self._sql.delete_queue, place).get
            connection.execute(self._sql.delete_moves, (str(key),))
            return number is not None

        def publish(removed: bool) -> None:
            if removed:
                self._forget(key)

        done: bool = await self._writer.work(run, publish)
        return done

    async def page(
        self, account: str | None, prefix: str, after: str, count_max: int
    ) -> list[Queue]:
        self._writer.check_open()
        last_key = QueueKey.parse(after)
        matching = (
            key
            for key in self._queues
            if account in (None, key.account) and key.name.startswith(prefix) and key > last_key
        )
        return [self._queues[key] for key in heapq.nsmallest(count_max, matching)]

    async def sources(self, target: QueueKey) -> list[Queue]:
        self._writer.check_open()
        found = [
            queue
            for queue in self._queues.values()
            if queue.settings.redrive and queue.settings.redrive.target == target
        ]
        return sorted(found, key=lambda queue: queue.key)

    async def save_move(self, move: Move) -> None:
        surplus = self._surplus_moves(move)
        row = (move.move_id, move.source, move_record(move))

        def run(connection: apsw.Connection) -> None:
            connection.execute(self._sql.save_move, row)
            connection.executemany(self._sql.delete_move, [(move_id,) for move_id in surplus])

        def publish(_: None) -> None:
            self._moves[move.move_id] = move
            for move_id in surplus:
                self._moves.pop(move_id, None)

        await self._writer.work(run, publish)

    async def moves(self, source: QueueKey | None = None) -> list[Move]:
        self._writer.check_open()
        return self._newest_first(None if source is None else str(source))

    async def accounts(self) -> list[Account]:
        self._writer.check_open()
        return sorted(self._accounts.values(), key=lambda account: account.number)

    async def save_account(self, account: Account) -> bool:
        number, name, record = account.number, account.name, account_record(account)

        def run(connection: apsw.Connection) -> bool:
            if account.version:
                row = (name, record, number, account.version)
                return connection.execute(self._sql.update_account, row).get is not None
            return (
                connection.execute(self._sql.insert_account, (number, name, record)).get is not None
            )

        def publish(saved: bool) -> None:
            if saved:
                held = msgspec.structs.replace(account, version=account.version + 1)
                self._accounts[number] = held

        done: bool = await self._writer.work(run, publish)
        return done

    async def remove_account(self, number: str) -> bool:
        def run(connection: apsw.Connection) -> bool:
            return connection.execute(self._sql.delete_account, (number,)).get is not None

        def publish(removed: bool) -> None:
            if removed:
                del self._accounts[number]

        done: bool = await self._writer.work(run, publish)
        return done

    def holds(self, queue: Queue) -> bool:
        """Whether the queue is there and is not a later one of the same name."""
        held = self._queues.get(queue.key)
        return held is not None and held.number == queue.number

    def _hold(self, queue: Queue) -> None:
        self._queues[queue.key] = queue

    def _forget(self, key: QueueKey) -> None:
        queue = self._queues.pop(key)
        for move in self._newest_first(str(key)):
            del self._moves[move.move_id]
        self._removed(queue)

    def _newest_first(self, source: str | None) -> list[Move]:
        found = [move for move in self._moves.values() if source in (None, move.source)]
        return sorted(found, key=lambda move: -move.started_ms)

    def _surplus_moves(self, saved: Move) -> list[str]:
        after = {**self._moves, saved.move_id: saved}
        finished = [
            move
            for move in after.values()
            if move.source == saved.source and move.status not in _UNFINISHED
        ]
        finished.sort(key=lambda move: -move.started_ms)
        return [move.move_id for move in finished[FINISHED_MOVES_MAX:]]
