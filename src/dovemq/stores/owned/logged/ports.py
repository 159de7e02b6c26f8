"""The interface of a database that holds logs of groups, and what such a database promises.

A shared store is three things: a log for each partition, records that change by compare-and-set
(the catalogue, the owners of partitions, the heartbeats of front ends), and a ledger, whose entries
are many and are asked for by pages (the progress of jobs). Replay, segments, cleaning, snapshots,
ownership and the catalogue are written once, over this interface.

Every call may raise `StoreUnreachable`: the outcome is then unknown, and the call may be repeated
as it was.
"""

from collections.abc import AsyncIterator, Awaitable, Sequence
from typing import Final, Protocol

from msgspec import Struct

from dovemq.core.ports import Ledger
from dovemq.stores.owned.group import PartitionKey
from dovemq.stores.shared_index.ports import IndexTables

LogRow = tuple[int, bytes]
"""A position and the group that was appended there."""


class Log(Protocol):
    """The log of one partition, as the owner of one epoch sees it.

    Positions rise with every append; `positions.py` says what they are made of. The owner has at
    most one append under way.
    """

    def append(
        self, position: int, group: bytes, keep_ms: int, *, grow: bool = True
    ) -> Awaitable[None]:
        """Make a group durable, then answer. It may be removed `keep_ms` after this call.

        Idempotent: the same append may be repeated after a lost answer. Raises `OwnerChanged` if
        the database knows of a newer epoch. A database that cannot know accepts such a group, which
        does no harm: it is beyond the seal of the newer owner, and replay skips it. With `grow`
        False the group frees more space than it takes: a database that is full accepts it if it
        can. Otherwise a full database raises `StoreFull`, and nothing was written.
        """

    def read(self, positions: Sequence[int]) -> Awaitable[dict[int, bytes]]:
        """The groups at these positions; missing ones are left out."""

    def scan(self, first: int) -> AsyncIterator[list[LogRow]]:
        """All groups from position `first` on, in order of position, in pages of bounded size.

        A scan that begins after `open_log` sees every append that was answered before.
        """

    def trim(self, before: int) -> Awaitable[None]:
        """Remove all groups of segments that lie before this position. May be repeated.

        `before` is the first position of a segment. A crash may leave some of them; the next
        `trim` removes them.
        """

    def bookmark(self) -> Awaitable[int]:
        """The position from which a new owner scans; 0 if none was set."""

    def set_bookmark(self, position: int) -> Awaitable[None]:
        """Set the bookmark durably. A lower one, or one of an ended epoch, changes nothing."""


class StoredRecord(Struct, frozen=True):
    """A named value and the number of its writes: 1 for a new one."""

    name: str
    value: bytes
    version: int


class Records(Protocol):
    """Small named values of several kinds, changed by compare-and-set.

    `kind` is one of a few short words; a name has at most 512 bytes and a value at most 256 KiB.
    Reads see every write that was answered before. After `StoreUnreachable` a write was done or
    was not done, never half; `put` of the same value may be repeated and then answers True if the
    stored value is this one with version + 1.
    """

    def get(self, kind: str, name: str) -> Awaitable[StoredRecord | None]: ...

    def all(self, kind: str) -> Awaitable[list[StoredRecord]]:
        """All records of a kind, by name."""

    def put(self, kind: str, name: str, value: bytes, version: int) -> Awaitable[bool]:
        """Store the value with `version` + 1, if the stored version is `version`; 0 means none."""

    def remove(self, kind: str, name: str, version: int) -> Awaitable[bool]:
        """Remove the record, if this is its version. Its name may be used again, from version 1."""

    def stamp(self) -> Awaitable[bytes]:
        """Bytes that differ whenever a record of a kind in `STAMPED` has changed meanwhile.

        Costs one small read, so that a front end can ask every second whether to read again.
        """


STAMPED: Final = frozenset({"queue", "account", "move"})
"""Kinds whose changes `Records.stamp` shows: the catalogue."""


class Database(Protocol):
    """A connection to the database, shared by all partitions of a process."""

    name: str
    """The database as people write it, without a password."""

    @property
    def records(self) -> Records: ...

    @property
    def index_tables(self) -> IndexTables | None:
        """The tables of queues without an owner; None if this database cannot have such queues."""

    @property
    def ledger(self) -> Ledger:
        """The port of the core; every front end asks the database for it directly."""

    def open_log(self, place: PartitionKey, epoch: int) -> Awaitable[Log]:
        """Open the log for the owner of this epoch.

        From now on the database refuses appends of lower epochs, if it can. Raises `OwnerChanged`
        if it knows of a newer epoch.
        """

    def remove_log(self, place: PartitionKey) -> Awaitable[None]:
        """Remove everything of a partition whose queue was removed. May be repeated.

        A database that refuses appends of lower epochs also refuses, with `OwnerChanged`, appends
        to a log that was removed after it was opened.
        """

    def close(self) -> Awaitable[None]:
        """Close this client. May be repeated; every other call then raises `StoreUnreachable`."""
