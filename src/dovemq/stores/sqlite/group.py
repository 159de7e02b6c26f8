"""A commit group of the embedded store: besides messages it has changes of the catalogue."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, Final

import apsw
from msgspec import Struct

from dovemq.core.entry import DEAD
from dovemq.stores.owned.group import CommitGroup
from dovemq.stores.sqlite.guards import entry_crc32

UpdateRow = tuple[int, int, int, int, int, int, int]

SEQUENCES_RESERVED: Final = 10_000
"""Numbers that are reserved at a time, so that few commits write the high-water mark."""


class Work(Struct):
    """A change of the catalogue: `run` in the transaction, `publish` on the loop after it."""

    run: Callable[[apsw.Connection], Any]
    publish: Callable[[Any], None]
    future: asyncio.Future[Any]
    result: Any = None


class SqliteGroup(CommitGroup):
    def __init__(self) -> None:
        super().__init__()
        self.works: list[Work] = []
        self.updates: list[UpdateRow] = []
        self.sweep: int | None = None
        self.swept = 0
        self.remake_reserve = False
        self.free_pages_bytes: int | None = None
        """Bytes of free pages inside the database after the commit, while there is no reserve."""

    @property
    def requests(self) -> int:
        return len(self.sendings) + len(self.waiters) + len(self.works)

    @property
    def writes(self) -> bool:
        return super().writes or bool(self.works) or self.sweep is not None

    @property
    def items(self) -> int:
        return super().items + len(self.works)

    def futures(self) -> Iterator[asyncio.Future[Any]]:
        yield from super().futures()
        for work in self.works:
            yield work.future

    def freeze(self) -> None:
        """Copy the state of the touched entries: the loop goes on changing them."""
        self.updates = [
            (
                entry.visible_ms,
                entry.receive_count,
                entry.first_received_ms,
                entry_crc32(place, entry),
                place[0],
                place[1],
                sequence,
            )
            for sequence, (place, entry) in self.touched.items()
            if entry.receive_count != DEAD
        ]
