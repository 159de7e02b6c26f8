"""The buckets of one queue's index, as one front end knows them.

A bucket holds the tuples whose T lies in its `BUCKET_MS`. It is listed before its first tuple is
inserted, so that an idle queue has no buckets to look into. A receive reads each open bucket up to
now, oldest first, but not what it has just found empty:

- *Floors.* A read begins at the first tuple that the read before has found, or a little before now:
  so it does not step over the remains of all that was removed since the bucket began. A *sweep*
  every `SWEEP_MS` begins at the start again, for tuples that came late: those of a front end whose
  clock is behind, and those that a replica did not have yet.
- *Empty buckets.* A bucket counts as empty if a read a little after its end found nothing. Whatever
  an earlier read found, another front end may have sent something since then.
- *Closing.* A bucket that ended `CLOSE_MS` ago and is empty on as many replicas as it takes to be
  certain is dropped as a whole, and the lower bound rises.

**Why nothing comes after closing.** An insertion counts only if it was answered within `LATE_MS` of
T (`is_late`), else the message is inserted once more. Clocks of front ends differ from a node's by
at most `SKEW_MS`, which is checked, so each such answer came before the bucket could be read as
empty: `CLOSE_MS` ≥ `LATE_MS` + 2 `SKEW_MS`, with room for the clocks of nodes.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from dovemq.core.drawing import IndexTuple
from dovemq.core.errors import UnavailableError
from dovemq.stores.shared_index.ports import IndexTables, Span
from dovemq.system.outcomes import let_go_unread

BUCKET_MS: Final = 10_000
LIST_MS: Final = 1_000
"""A list of buckets older than this is read again before a receive."""
SWEEP_MS: Final = 2_000
LOOKBACK_MS: Final = 500
LATE_MS: Final = 20_000
SKEW_MS: Final = 10_000
CLOCK_CHECK_MS: Final = 10_000
CLOSE_MS: Final = 60_000
SWEPT_MAX: Final = 16
"""Old buckets that one receive reads from the start."""
CLOSED_MAX: Final = 32
"""Buckets that are closed at a time."""
FOREVER_MS: Final = 1 << 60

MonotonicMs = Callable[[], int]


class ClockWrong(UnavailableError):
    """The clock of this front end differs too much from that of the database."""

    def __init__(self, difference_ms: int) -> None:
        super().__init__(
            f"The clock of this server differs by {difference_ms / 1_000:.1f} s from that of the "
            "database. Queues with Coordination=none or serial allow "
            f"{SKEW_MS / 1_000:.0f} s: synchronise the clocks."
        )


def bucket_of(due_ms: int) -> int:
    return due_ms // BUCKET_MS


def is_late(due_ms: int, now_ms: int) -> bool:
    """Whether an insertion at this T that is answered now may be in a bucket that was closed."""
    return now_ms - due_ms > LATE_MS


class _Open(Struct):
    """An open bucket. `swept_ms` is when it was last read from its start, by the monotonic clock.

    `floor_ms`: reads begin there until the next sweep. `empty`: the bucket was over when the last
    read began, and nothing was found. `reads` are under way.
    """

    floor_ms: int = 0
    swept_ms: int = -FOREVER_MS
    empty: bool = False
    reads: list["_Read"] = []

    def insert(self, due_ms: int) -> None:
        self.floor_ms = min(self.floor_ms, due_ms)
        self.empty = False
        self._tell_reads(due_ms)

    def follow(self, read: "_Read", found: Sequence[IndexTuple], behind_ms: int) -> None:
        """Let the next read begin at what this one has found, or may have missed."""
        first_ms = found[0].due_ms if found else FOREVER_MS
        self.floor_ms = min(first_ms, behind_ms, read.known_ms)
        self.empty = read.over and min(first_ms, read.known_ms) == FOREVER_MS
        self._tell_reads(first_ms)

    def _tell_reads(self, due_ms: int) -> None:
        for read in self.reads:
            read.known_ms = min(read.known_ms, due_ms)


class _Read(Struct, eq=False):
    """A read under way of a bucket that is `over` or not.

    `known_ms` is the first T that was inserted, or found by another read, since it began.
    """

    over: bool
    known_ms: int = FOREVER_MS


class Buckets:
    def __init__(self, tables: IndexTables, queue: int, monotonic_ms: MonotonicMs) -> None:
        self._tables = tables
        self._queue = queue
        self._monotonic_ms = monotonic_ms
        self._open: dict[int, _Open] = {}
        self._bound = 0
        self._listed_ms = -FOREVER_MS
        self._checked_ms = -FOREVER_MS
        self._closed_ms = -FOREVER_MS
        self._listing: asyncio.Task[None] | None = None
        self._own: dict[int, None] = {}

    @property
    def open(self) -> list[int]:
        return sorted(self._open)

    async def refresh(self, now_ms: Callable[[], int], *, at_once: bool = False) -> None:
        """Check the clock, and read the list again if it is old; once for all who wait for it."""
        at_ms = self._monotonic_ms()
        await self._check_clock(at_ms, now_ms)
        if at_once:
            await self._read_list(at_ms)
        elif at_ms - self._listed_ms >= LIST_MS:
            if self._listing is None or self._listing.done():
                self._listing = asyncio.get_running_loop().create_task(self._read_list(at_ms))
                let_go_unread(self._listing)
            await asyncio.shield(self._listing)

    async def _read_list(self, at_ms: int) -> None:
        bound, found = await asyncio.gather(
            self._tables.lower_bound(self._queue), self._tables.buckets(self._queue, self._bound)
        )
        self._bound = max(self._bound, bound)
        self._listed_ms = at_ms
        for bucket in found:
            # A removed listing may come back with a replica that was down.
            self._open.setdefault(bucket, _Open())
        for bucket in [bucket for bucket in self._open if bucket < self._bound]:
            self._forget(bucket)

    async def require(self, due_ms: Sequence[int], now_ms: Callable[[], int]) -> None:
        """List the buckets of these times, before tuples are inserted there."""
        await self._check_clock(self._monotonic_ms(), now_ms)
        for bucket in sorted({bucket_of(due) for due in due_ms}):
            if bucket not in self._own:
                await self._tables.list_bucket(self._queue, bucket)
                self._own[bucket] = None
            self._open.setdefault(bucket, _Open())

    def inserted(self, tuples: Sequence[IndexTuple]) -> None:
        """Let reads of this front end find the tuples: it does not wait for a sweep."""
        for each in tuples:
            self._open.setdefault(bucket_of(each.due_ms), _Open()).insert(each.due_ms)

    async def first(self, count: int, now_ms: int, *, hidden: bool = False) -> list[IndexTuple]:
        """The first tuples up to now; with `hidden` also the ones after them."""
        found: list[IndexTuple] = []
        swept = 0
        current = bucket_of(now_ms)
        for bucket in sorted({*self._open, current}):
            if len(found) >= count or (bucket > current and not hidden):
                break
            state = self._open.get(bucket) or _Open()
            begin = bucket * BUCKET_MS
            at_ms = self._monotonic_ms()
            sweep = at_ms - state.swept_ms >= SWEEP_MS and (bucket >= current or swept < SWEPT_MAX)
            if state.empty and bucket < current and not sweep:
                continue
            swept += sweep and bucket < current
            first_ms = begin if sweep else max(begin, state.floor_ms)
            last_ms = FOREVER_MS if hidden else now_ms
            last_ms = min(last_ms, begin + BUCKET_MS - 1)
            span = Span(first_ms, last_ms, count - len(found))
            found += await self._read(bucket, state, span, now_ms)
            if sweep:
                state.swept_ms = at_ms
        return found

    async def _read(self, bucket: int, state: _Open, span: Span, now_ms: int) -> list[IndexTuple]:
        behind_ms = now_ms - LOOKBACK_MS
        reading = _Read(over=bucket_of(behind_ms) > bucket)
        state.reads.append(reading)
        try:
            found = await self._tables.read(self._queue, bucket, span)
        finally:
            state.reads.remove(reading)
        state.follow(reading, found, min(behind_ms, span.last_ms - LOOKBACK_MS))
        return found

    async def all(
        self, count_max: int, *, last_bucket: int = FOREVER_MS, sure: bool = False
    ) -> list[IndexTuple]:
        """The first tuples of all open buckets, hidden ones too."""
        found: list[IndexTuple] = []
        for bucket in self.open:
            if len(found) >= count_max or bucket > last_bucket:
                break
            begin = bucket * BUCKET_MS
            found += await self._tables.read(
                self._queue,
                bucket,
                Span(begin, begin + BUCKET_MS - 1, count_max - len(found)),
                sure=sure,
            )
        return found

    async def close(self, now_ms: int) -> int:
        """Close the oldest buckets that are over and empty; returns how many."""
        at_ms = self._monotonic_ms()
        if at_ms - self._closed_ms < SWEEP_MS:
            return 0
        self._closed_ms = at_ms
        over = bucket_of(now_ms - CLOSE_MS)
        closed: list[int] = []
        for bucket in self.open:
            if bucket >= over or len(closed) == CLOSED_MAX:
                break
            state = self._open.get(bucket)
            if state is None or not state.empty or not await self._is_empty(bucket):
                break
            closed.append(bucket)
        if closed:
            await self._tables.raise_lower_bound(self._queue, closed[-1] + 1)
            await self._tables.drop_buckets(self._queue, closed)
            self._bound = max(self._bound, closed[-1] + 1)
            for bucket in closed:
                self._forget(bucket)
        return len(closed)

    async def _is_empty(self, bucket: int) -> bool:
        begin, end = bucket * BUCKET_MS, (bucket + 1) * BUCKET_MS - 1
        return not await self._tables.read(self._queue, bucket, Span(begin, end, 1), sure=True)

    async def _check_clock(self, at_ms: int, now_ms: Callable[[], int]) -> None:
        if at_ms - self._checked_ms < CLOCK_CHECK_MS:
            return
        before_ms = now_ms()
        node_ms = await self._tables.node_ms()
        after_ms = now_ms()
        difference_ms = max(before_ms - node_ms, node_ms - after_ms)
        if difference_ms > SKEW_MS:
            raise ClockWrong(difference_ms)
        self._checked_ms = at_ms

    def _forget(self, bucket: int) -> None:
        self._open.pop(bucket, None)
        self._own.pop(bucket, None)
