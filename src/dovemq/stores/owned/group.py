"""The work of one commit: messages to add, leases to note, messages to remove.

The event loop fills a group and hands it to the journal. From then until the group is published,
only the journal touches it, so neither needs a lock.
"""

import asyncio
import enum
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from dovemq.core.commands import Duplicate, Sent
from dovemq.core.entry import Entry
from dovemq.core.message import Message

PartitionKey = tuple[int, int]
"""Queue number and partition number. Variables of this type are called `place`."""

EntryKey = tuple[int, int, int]
"""Queue number, partition number, sequence."""

BodyRow = tuple[int, int, bytes]
"""Sequence, crc32, record."""

Touched = dict[int, tuple[PartitionKey, Entry]]
"""Entries whose newest state is not durable, by sequence."""


class SendItem(Struct):
    """One message on its way into the store.

    `key` is the deduplication key on a FIFO queue. The journal decides about duplicates and about
    messages that were adopted before: it clears `accepted` and replaces `answer`.
    """

    message: Message
    body: BodyRow
    entry: Entry
    answer: Sent | Duplicate
    key: bytes | None = None
    accepted: bool = True


class Sending(Struct):
    """The messages of one request, which become durable and then visible together."""

    place: PartitionKey
    now_ms: int
    publish: Callable[["Sending"], None]
    future: asyncio.Future[list[Sent | Duplicate]]
    items: list[SendItem] = []
    adopted: bool = False


class CommitOutcome(enum.Enum):
    COMMITTED = "committed"
    SENDS_REFUSED = "sends refused"
    """The store is full: everything but the sends was committed."""
    FULL = "full"
    """The store is full and nothing was committed."""
    FAILED = "failed"


class CommitResult(Struct, frozen=True):
    outcome: CommitOutcome
    cause: str = ""


class CommitGroup:
    def __init__(self) -> None:
        self.sendings: list[Sending] = []
        self.touched: Touched = {}
        """Leases that are due to be written; the loop goes on changing these entries."""
        self.deletes: list[EntryKey] = []
        self.expired: Sequence[EntryKey] = ()
        self.forgets: list[tuple[PartitionKey, int]] = []
        """Partitions, and the time before which sent messages lose their deduplication ids."""
        self.waiters: list[asyncio.Future[None]] = []
        self.begun = 0.0

    @property
    def requests(self) -> int:
        """The number of callers that wait for the commit."""
        return len(self.sendings) + len(self.waiters)

    @property
    def writes(self) -> bool:
        """Whether there is anything to write; callers of `flush` alone need no transaction."""
        return bool(self.sendings or self.touched or self.deletes or self.expired or self.forgets)

    @property
    def items(self) -> int:
        return (
            sum(len(sending.items) for sending in self.sendings)
            + len(self.touched)
            + len(self.deletes)
            + len(self.expired)
        )

    def futures(self) -> Iterator[asyncio.Future[Any]]:
        for sending in self.sendings:
            yield sending.future
        yield from self.waiters
