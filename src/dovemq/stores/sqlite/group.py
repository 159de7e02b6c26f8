"""The work that one commit carries from the event loop to the writer thread.

The loop fills a group and hands it over. From then until the group is published, only the writer
thread touches it; so neither needs a lock.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import apsw
from msgspec import Struct

from dovemq.core.commands import Duplicate, Sent
from dovemq.core.entry import DEAD, Entry
from dovemq.core.message import Message
from dovemq.stores.sqlite.guards import entry_crc32
from dovemq.stores.sqlite.rows import BodyRow

PartitionKey = tuple[int, int]
"""Queue number and partition number. Variables of this type are called `place`."""

EntryKey = tuple[int, int, int]
"""Queue number, partition number, sequence."""

UpdateRow = tuple[int, int, int, int, int, int, int]

Touched = dict[int, tuple[PartitionKey, Entry]]
"""Entries whose newest state is not on disk, by sequence."""

SEQUENCES_RESERVED: Final = 10_000
"""Numbers that are reserved at a time, so that few commits write the high-water mark."""


class PendingSend(Struct):
    """The messages of one request, which become durable and then visible together.

    `keys` are the deduplication keys on a FIFO queue: the writer decides which messages are
    duplicates, replaces their answers and lists the others in `accepted`. None means all.
    """

    place: PartitionKey
    now_ms: int
    publish: Callable[["PendingSend"], None]
    future: asyncio.Future[list[Sent | Duplicate]]
    messages: list[Message] = []
    bodies: list[BodyRow] = []
    entries: list[Entry] = []
    answers: list[Sent | Duplicate] = []
    keys: list[bytes] | None = None
    adopted: bool = False
    accepted: list[int] | None = None


class Work(Struct):
    """A change of the catalogue: `run` in the transaction, `publish` on the loop after it."""

    run: Callable[[apsw.Connection], Any]
    publish: Callable[[Any], None]
    future: asyncio.Future[Any]
    result: Any = None


class CommitGroup:
    def __init__(self) -> None:
        self.sendings: list[PendingSend] = []
        self.touched: Touched = {}
        self.deletes: list[EntryKey] = []
        self.works: list[Work] = []
        self.waiters: list[asyncio.Future[None]] = []
        self.updates: list[UpdateRow] = []
        self.expired: Sequence[EntryKey] = ()
        self.sweep: int | None = None
        self.swept = 0
        self.remake_reserve = False
        self.free_pages_bytes: int | None = None
        """Bytes of free pages inside the database after the commit, while there is no reserve."""
        self.begun = 0.0

    @property
    def requests(self) -> int:
        """The number of callers that wait for the commit."""
        return len(self.sendings) + len(self.waiters) + len(self.works)

    @property
    def writes(self) -> bool:
        """Whether there is anything to write; callers of `flush` alone need no transaction."""
        return bool(
            self.sendings
            or self.updates
            or self.deletes
            or self.expired
            or self.works
            or self.sweep is not None
        )

    @property
    def items(self) -> int:
        return (
            sum(len(sending.entries) for sending in self.sendings)
            + len(self.updates)
            + len(self.deletes)
            + len(self.expired)
            + len(self.works)
        )

    def futures(self) -> Iterator[asyncio.Future[Any]]:
        for sending in self.sendings:
            yield sending.future
        for work in self.works:
            yield work.future
        yield from self.waiters

    def freeze(self, touched: Touched) -> None:
        """Copy the entries' state as it is now: the loop goes on changing the entries."""
        self.touched = touched
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
            for sequence, (place, entry) in touched.items()
            if entry.receive_count != DEAD
        ]
