"""Queues, accounts and move tasks of the embedded store: read from memory, written durably.

Implements `core.ports.Catalogue`. Each change runs in the writer thread's transaction and is
published to the memory on the loop after the commit, in the order of the commits.
"""

from collections.abc import Callable, Iterable
from typing import Any

import apsw
import msgspec

from dovemq.core.accounts import Account
from dovemq.core.commands import Move
from dovemq.core.queue import Queue, QueueKey
from dovemq.stores.catalogue import CatalogueReads
from dovemq.stores.sqlite.rows import queue_columns, queue_from_row, to_json
from dovemq.stores.sqlite.statements import Statements
from dovemq.stores.sqlite.writer import Writer

Change = Callable[[apsw.Connection], bool]


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
        key = (queue.key.account, queue.key.name)
        times = (queue.created_ms, queue.modified_ms, queue.version)
        row = (*key, *queue_columns(queue), *times)

        def run(connection: apsw.Connection) -> Queue:
            number = connection.execute(self._sql.insert_queue, row).get
            if number is not None:
                return msgspec.structs.replace(queue, number=number)
            return queue_from_row(next(connection.execute(self._sql.select_queue, key)))

        created: Queue = await self._writer.work(run, self._hold)
        return created

    async def replace(self, queue: Queue) -> bool:
        row = (*queue_columns(queue), queue.modified_ms, queue.number, queue.version)
        newer = msgspec.structs.replace(queue, version=queue.version + 1)
        run = _changing(self._sql.update_queue, row)
        return await self._change(run, lambda: self._hold(newer))

    async def remove(self, key: QueueKey) -> bool:
        def run(connection: apsw.Connection) -> bool:
            connection.execute(self._sql.delete_moves, (str(key),))
            return (
                connection.execute(self._sql.delete_queue, (key.account, key.name)).get is not None
            )

        return await self._change(run, lambda: self._forget(key))

    async def save_move(self, move: Move) -> None:
        surplus = self._surplus_moves(move)
        row = (move.move_id, move.source, to_json(move))

        def run(connection: apsw.Connection) -> None:
            connection.execute(self._sql.save_move, row)
            connection.executemany(self._sql.delete_move, [(move_id,) for move_id in surplus])

        def publish(_: None) -> None:
            self._moves[move.move_id] = move
            for move_id in surplus:
                self._moves.pop(move_id, None)

        await self._writer.work(run, publish)

    async def save_account(self, account: Account) -> bool:
        number, name, record = account.number, account.name, to_json(account)
        saved = msgspec.structs.replace(account, version=account.version + 1)

        def publish() -> None:
            self._accounts[number] = saved

        if account.version:
            run = _changing(self._sql.update_account, (name, record, number, account.version))
        else:
            run = _changing(self._sql.insert_account, (number, name, record))
        return await self._change(run, publish)

    async def remove_account(self, number: str) -> bool:
        def publish() -> None:
            del self._accounts[number]

        return await self._change(_changing(self._sql.delete_account, (number,)), publish)

    async def _change(self, run: Change, publish: Callable[[], None]) -> bool:
        """Whether `run` has changed something; if so, `publish` is called after the commit."""

        def published(changed: bool) -> None:
            if changed:
                publish()

        done: bool = await self._writer.work(run, published)
        return done

    def _hold(self, queue: Queue) -> None:
        self._queues[queue.key] = queue

    def _forget(self, key: QueueKey) -> None:
        queue = self._queues.pop(key)
        for move in self._moves_of(str(key)):
            del self._moves[move.move_id]
        self._removed(queue)


def _changing(statement: str, row: tuple[Any, ...]) -> Change:
    """Execute a statement that returns a row if it has changed something."""
    return lambda connection: connection.execute(statement, row).get is not None
