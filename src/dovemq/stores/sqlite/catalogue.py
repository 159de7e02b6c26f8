"""Queues, accounts and move tasks of the embedded store: read from memory, written durably.

Implements `core.ports.Catalogue`. Each change runs in the writer thread's transaction and is
published to the memory on the loop after the commit, in the order of the commits.
"""

from collections.abc import Callable, Iterable

import apsw
import msgspec

from dovemq.core.accounts import Account
from dovemq.core.commands import Move
from dovemq.core.queue import Queue, QueueKey
from dovemq.stores.catalogue import CatalogueReads
from dovemq.stores.sqlite.rows import account_record, move_record, queue_columns, queue_from_row
from dovemq.stores.sqlite.statements import Statements
from dovemq.stores.sqlite.writer import Writer


class SqliteCatalogue(CatalogueReads):
    """`removed` is called with a queue that is gone from the catalogue."""

    def __init__(
        self,
        writer: Writer,
        sql: Statements,
        queues: Iterable[Queue],
        moves: Iterable[Move],
        accounts: Iterable[Account],
        removed: Callable[[Queue], None],
    ) -> None:
        super().__init__(writer.check_open, queues, moves, accounts)
        self._writer = writer
        self._sql = sql
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

    def _hold(self, queue: Queue) -> None:
        self._queues[queue.key] = queue

    def _forget(self, key: QueueKey) -> None:
        queue = self._queues.pop(key)
        for move in self._moves_of(str(key)):
            del self._moves[move.move_id]
        self._removed(queue)
