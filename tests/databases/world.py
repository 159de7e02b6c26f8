"""One database of the contract: clients of it, places and names that no other test uses."""

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Self

from dovemq.stores.owned.group import PartitionKey
from dovemq.stores.owned.logged.ports import Database, Log, LogRow, Records, StoredRecord
from dovemq.stores.owned.logged.positions import SLOT_BITS, first_position

KEEP_MS = 3_600_000
"""Longer than any test."""

DatabaseOpener = Callable[[], Awaitable[Database]]
"""Opens one more client of the same database."""


def position(epoch: int, segment: int, slot: int) -> int:
    return first_position(epoch) + (segment << SLOT_BITS) + slot


async def pages(log: Log, first: int = 0) -> list[list[LogRow]]:
    return [page async for page in log.scan(first)]


async def rows(log: Log, first: int = 0) -> list[LogRow]:
    return [row for page in await pages(log, first) for row in page]


class DatabaseWorld:
    """A database that other tests use too, and one client of it. Closes every client at the end."""

    def __init__(self, opener: DatabaseOpener) -> None:
        self._opener = opener
        self._clients: list[Database] = []
        self._tag = uuid.uuid4()
        self._places = 0

    async def __aenter__(self) -> Self:
        self.database = await self.client()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for client in self._clients:
            await client.close()

    async def client(self) -> Database:
        """One more client, as another process would have it."""
        self._clients.append(await self._opener())
        return self._clients[-1]

    @property
    def records(self) -> Records:
        return self.database.records

    def place(self) -> PartitionKey:
        """A partition that no test has used before."""
        self._places += 1
        return self._tag.int % (1 << 31), self._places

    def name(self, name: str = "") -> str:
        """A name of a record that no other test uses."""
        return f"{self._tag.hex}:{name}"

    async def mine(self, kind: str) -> list[StoredRecord]:
        """The records of a kind that this test has named."""
        return [one for one in await self.records.all(kind) if one.name.startswith(self.name())]

    async def log(self, epoch: int = 1) -> Log:
        """A new log, opened by the first client."""
        return await self.database.open_log(self.place(), epoch)


Worlds = AsyncIterator[DatabaseWorld]
