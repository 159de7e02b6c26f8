"""The reader thread: reads on a connection that cannot write, one request after the other.

A damaged page costs the messages on it, not the others.
"""

import asyncio
import contextlib
import queue
import sys
import threading
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import apsw

from dovemq.core.errors import Draining
from dovemq.core.message import Message
from dovemq.stores.owned.futures import post, reject, resolve
from dovemq.stores.owned.group import BodyRow
from dovemq.stores.owned.records import DamagedRecord, RecordCodec
from dovemq.stores.sqlite.statements import Statements

T = TypeVar("T")

_Order = tuple[Callable[[apsw.Connection], Any], asyncio.Future[Any]]


class Reader:
    def __init__(self, loop: asyncio.AbstractEventLoop, connection: apsw.Connection) -> None:
        self._loop = loop
        self._connection = connection
        self._inbox: queue.SimpleQueue[_Order | None] = queue.SimpleQueue()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="dovemq-reader", daemon=True)
        self._thread.start()

    def look_up(self, read: Callable[[apsw.Connection], T]) -> asyncio.Future[T]:
        if self._stopped:
            raise Draining()
        future: asyncio.Future[T] = self._loop.create_future()
        self._inbox.put((read, future))
        return future

    def stop(self) -> None:
        """Refuse new reads; those that were asked for are answered. Call it on the loop."""
        self._stopped = True
        self._inbox.put(None)

    def join(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        """The reader thread."""
        while (order := self._inbox.get()) is not None:
            read, future = order
            try:
                result = read(self._connection)
            except Exception as error:
                post(self._loop, reject, future, error)
            else:
                post(self._loop, resolve, future, result)
        self._connection.close(True)


class BodyReader:
    """Reads messages by sequence; what is damaged or missing is left out of the answer."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql
        self.codec = RecordCodec()

    def read(
        self,
        connection: apsw.Connection,
        wanted: Sequence[int],
        ahead: Sequence[int] = (),
        ahead_bytes_max: int = 0,
    ) -> tuple[dict[int, Message], int]:
        """The messages and the size of their records.

        Those of `ahead` are read only while they fit and no page is damaged.
        """
        found: dict[int, Message] = {}
        size = self._decode(self.rows(connection, wanted), found)
        with contextlib.suppress(apsw.CorruptError):
            size += self._decode(self._select(connection, ahead), found, ahead_bytes_max)
        return found, size

    def rows(self, connection: apsw.Connection, sequences: Sequence[int]) -> Iterator[BodyRow]:
        try:
            yield from list(self._select(connection, sequences))
        except apsw.CorruptError:
            for sequence in sequences:
                with contextlib.suppress(apsw.CorruptError):
                    yield from list(connection.execute(self._sql.select_body, (sequence,)))

    def _select(self, connection: apsw.Connection, sequences: Sequence[int]) -> Iterator[BodyRow]:
        if not sequences:
            return iter(())
        if len(sequences) == 1:
            return connection.execute(self._sql.select_body, (sequences[0],))
        binding = apsw.carray(array("q", sequences))
        return connection.execute(self._sql.select_bodies, (binding,))

    def _decode(
        self,
        rows: Iterator[BodyRow],
        found: dict[int, Message],
        bytes_max: int = sys.maxsize,
    ) -> int:
        size = 0
        for row in rows:
            try:
                found[row[0]] = self.codec.message(row)
            except DamagedRecord:
                continue
            size += len(row[2])
            if size >= bytes_max:
                break
        return size
