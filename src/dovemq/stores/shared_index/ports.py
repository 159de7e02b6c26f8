"""The interface of a database that holds indexes without an owner, and what it promises.

An index is a set of tuples (T, I) in buckets of time; bodies are apart. All calls are idempotent
and may raise `StoreUnreachable`: the outcome is then unknown, and the call may be repeated.

**Order of writes.** Nothing here is ordered by clocks. A tuple of generation g is inserted with
the mark 2g + 1 and removed with 2g + 2; of two writes of one key the higher mark wins, whatever
arrives first. A body is written with 1, its removal with 2. `FINAL` is above all of them.
"""

from collections.abc import Awaitable, Sequence
from typing import Final, Protocol

from msgspec import Struct

from dovemq.core.drawing import IndexTuple

FINAL: Final = 1 << 40
"""The mark of a removal that nothing follows: the message is settled, or its bucket is closed."""


def inserted_mark(generation: int) -> int:
    return 2 * generation + 1


def removed_mark(generation: int) -> int:
    return 2 * generation + 2


class TupleKey(Struct, frozen=True):
    """A tuple to remove. `mark` decides which insertions of the key it removes."""

    due_ms: int
    sequence: int
    mark: int


class Span(Struct, frozen=True):
    """Up to `count_max` tuples with `first_ms` ≤ T ≤ `last_ms`."""

    first_ms: int
    last_ms: int
    count_max: int


class BodyRow(Struct, frozen=True):
    """The facts of a message beside its tuples.

    `settled` is positive knowledge: a row without it says nothing, since a replica may lack it.
    `born_ms` is T of its first tuple, `moved_ms` T after the newest change of a lease by `extend`,
    `moved_count` the count of receives of that lease.
    """

    sequence: int
    checksum: int | None
    record: bytes | None
    settled: bool
    born_ms: int
    moved_ms: int
    moved_count: int


class ClaimRow(Struct, frozen=True):
    """The newest claim of a message, changed by compare-and-set alone. `claim` is unique."""

    generation: int
    due_ms: int
    receive_count: int
    first_received_ms: int
    claim: int


class Swapped(Struct, frozen=True):
    """The outcome of a compare-and-set that is known. `found` is the row if it was not applied."""

    applied: bool
    found: ClaimRow | None = None


class IndexTables(Protocol):
    """The tables of all queues without an owner, at one level of consistency.

    Reads see writes that were answered before only if the levels of both overlap: with one replica
    for each they may not. `sure` reads see every answered write, or raise.
    """

    def at_quorum(self) -> "IndexTables":
        """The same tables, where reads see every answered write."""

    def node_ms(self) -> Awaitable[int]:
        """The wall clock of a node of the database."""

    def put_bodies(self, queue: int, rows: Sequence[BodyRow], keep_ms: int) -> Awaitable[None]: ...

    def bodies(
        self, queue: int, sequences: Sequence[int], *, sure: bool = False
    ) -> Awaitable[dict[int, BodyRow]]: ...

    def note_move(
        self, queue: int, sequence: int, moved: IndexTuple, keep_ms: int
    ) -> Awaitable[None]:
        """Note where the tuple of an extended lease is; the note of a higher generation wins."""

    def settle(self, queue: int, sequences: Sequence[int], keep_ms: int) -> Awaitable[None]:
        """Note that messages are settled, and remove their bodies."""

    def insert(
        self, queue: int, bucket: int, tuples: Sequence[IndexTuple], keep_ms: int
    ) -> Awaitable[None]:
        """Insert tuples of one bucket, or none of them."""

    def remove(self, queue: int, bucket: int, keys: Sequence[TupleKey]) -> Awaitable[None]: ...

    def find(
        self, queue: int, bucket: int, due_ms: int, sequence: int
    ) -> Awaitable[IndexTuple | None]: ...

    def read(
        self, queue: int, bucket: int, span: Span, *, sure: bool = False
    ) -> Awaitable[list[IndexTuple]]:
        """The first tuples of the span, in order of (T, I)."""

    def list_bucket(self, queue: int, bucket: int) -> Awaitable[None]:
        """Note that the bucket may have tuples. It is done before the first is inserted."""

    def buckets(self, queue: int, first: int) -> Awaitable[list[int]]:
        """The listed buckets from `first` on, in rising order."""

    def lower_bound(self, queue: int) -> Awaitable[int]:
        """The first bucket that may have tuples; 0 if none was set."""

    def raise_lower_bound(self, queue: int, bucket: int) -> Awaitable[None]:
        """Set the lower bound; a lower one than before changes nothing."""

    def drop_buckets(self, queue: int, buckets: Sequence[int]) -> Awaitable[None]:
        """Remove whole buckets, with every tuple that arrives later, and their listings."""

    def sample(self, queue: int, claimed: IndexTuple, claim: int) -> Awaitable[None]:
        """Note a claim for a short time, so that `samples` can count those of one generation."""

    def samples(self, queue: int, sequence: int, generation: int) -> Awaitable[int]: ...

    def swap(
        self, queue: int, sequence: int, expected: ClaimRow | None, wanted: ClaimRow, keep_ms: int
    ) -> Awaitable[Swapped | None]:
        """Change the claim row by compare-and-set, if it is as expected (None: there is none).

        Generation and due time are compared. None is an unknown outcome: `claim_row` ends it.
        """

    def claim_row(self, queue: int, sequence: int) -> Awaitable[ClaimRow | None]:
        """The claim row, after any unfinished compare-and-set was ended."""

    def forget(self, queue: int) -> Awaitable[None]:
        """Remove the index of a removed queue. Bodies that are not in it expire by themselves."""
