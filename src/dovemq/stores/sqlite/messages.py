"""Messages read back from SQLite, for receives and for peeks.

Implements `stores.owned.bodies.MessageReader` over the reader thread.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import apsw

from dovemq.core.commands import Peek, Peeked
from dovemq.core.errors import StoreFailed
from dovemq.core.message import Message
from dovemq.stores.owned.bodies import peeked
from dovemq.stores.owned.group import PartitionKey
from dovemq.stores.sqlite.reader import BodyReader, Reader
from dovemq.stores.sqlite.statements import Statements


class SqliteMessages:
    """`flush` makes the rows say what the indexes say, pending leases included."""

    def __init__(
        self,
        reader: Reader,
        body_reader: BodyReader,
        sql: Statements,
        flush: Callable[[], Awaitable[None]],
    ) -> None:
        self._reader = reader
        self._body_reader = body_reader
        self._sql = sql
        self._flush = flush

    def fetch(
        self, wanted: Sequence[int], ahead: Sequence[int], ahead_bytes_max: int
    ) -> asyncio.Future[tuple[dict[int, Message], int]]:
        def read(connection: apsw.Connection) -> tuple[dict[int, Message], int]:
            try:
                return self._body_reader.read(connection, wanted, ahead, ahead_bytes_max)
            except apsw.Error as error:
                raise StoreFailed(f"messages cannot be read: {error}") from error

        return self._reader.look_up(read)

    async def peek(self, place: PartitionKey, page: Peek, now_ms: int) -> list[Peeked]:
        key = (*place, page.after_sequence, page.count_max)

        def read(connection: apsw.Connection) -> list[Peeked]:
            states = list(connection.execute(self._sql.peek_entries, key))
            found, _ = self._body_reader.read(connection, [state[0] for state in states])
            return [
                peeked(found[sequence], visible_ms, receive_count, first_received_ms, now_ms)
                for sequence, visible_ms, receive_count, first_received_ms in states
                if sequence in found
            ]

        await self._flush()
        return await self._reader.look_up(read)
