"""Looks after the log of a partition: snapshots, cleaning, trimming; `policy.py` says when.

Each step is one bounded piece of work with one append at most, made between the groups of callers.
The order of the steps of each kind is what makes a crash between them harmless:

    snapshot   pages durable ─► lease still held ─► set the bookmark
    cleaning   moved messages durable ─► lease still held ─► trim their old segment

What upkeep appends counts as freeing space: without it a full store would stay full.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from dovemq.core.entry import Entry
from dovemq.core.errors import StoreFull, StoreUnreachable
from dovemq.core.index import Index
from dovemq.stores.owned.logged.appending import Appending, Holds
from dovemq.stores.owned.logged.encoding import LoggedSend, LogGroup
from dovemq.stores.owned.logged.identities import Identities
from dovemq.stores.owned.logged.messages import LoggedMessages
from dovemq.stores.owned.logged.policy import LogPolicy
from dovemq.stores.owned.logged.ports import Log
from dovemq.stores.owned.logged.positions import epoch_of, segment_of, segment_start
from dovemq.stores.owned.logged.segments import LogSegment, Segments
from dovemq.stores.owned.logged.snapshot import SnapshotTaking

CLEAN_UNITS_MAX: Final = 4_096
"""The size of the messages of one step of cleaning, in stored units: 256 KiB."""
PAUSE_MS: Final = 1_000
"""After a failed step nothing is tried for this long."""

_log = logging.getLogger(__name__)


class LogParts(Struct, frozen=True):
    """The log of a partition, and all that is known of it."""

    log: Log
    segments: Segments
    identities: Identities
    index: Index
    messages: LoggedMessages
    appending: Appending
    policy: LogPolicy


class Bookmarked(Struct):
    """The newest snapshot: its position, its time and its size.

    `tail_bytes` were appended since it began, without its own pages.
    """

    position: int
    at_ms: int
    size: int
    tail_bytes: int


class Upkeep:
    """`commit` gives a future that is done when all that was asked for so far is durable.

    `is_full` tells whether the database has refused sends for lack of space.
    """

    def __init__(
        self,
        parts: LogParts,
        bookmarked: Bookmarked,
        epoch: int,
        holds: Holds,
        commit: Callable[[], asyncio.Future[None]],
        is_full: Callable[[], bool],
    ) -> None:
        self._parts = parts
        self._commit = commit
        self._is_full = is_full
        self._idle = False
        self._written_before = parts.appending.written
        self._deleted: asyncio.Future[None] | None = None
        self._bookmarked = bookmarked
        self._epoch = epoch
        self._holds = holds
        self._taking: SnapshotTaking | None = None
        self._began_at = 0
        self._checked_at: int | None = None
        self._written_at_bookmark = parts.appending.written
        self._not_before_ms = 0

    @property
    def bookmark(self) -> int:
        return self._bookmarked.position

    def look_now_and_then(self) -> None:
        """Called by the clock. A log that has not grown since the last call gives space back."""
        written = self._parts.appending.written
        self._idle = written == self._written_before
        self._written_before = written
        self.check_again()

    def check_again(self) -> None:
        """Ask the policy at the next step, whatever was written since the last time."""
        self._checked_at = None

    def waits(self, now_ms: int) -> bool:
        """Whether a step has failed, so that it has to be tried again later."""
        return now_ms < self._not_before_ms

    async def step(self, now_ms: int) -> bool:
        """Do one piece of work; False if there is none now. Raises `OwnerChanged`."""
        if now_ms < self._not_before_ms:
            return False
        try:
            return await self._step(now_ms)
        except (StoreUnreachable, StoreFull) as error:
            _log.warning("upkeep of a log waits: %s", error)
            self._not_before_ms = now_ms + PAUSE_MS
            return False

    async def _step(self, now_ms: int) -> bool:
        if self._taking is not None:
            await self._add_page(self._taking, now_ms)
            return True
        written = self._parts.appending.written
        eager = self._idle or self._is_full()
        if (
            self._checked_at is not None
            and written < self._checked_at + self._parts.policy.check_bytes
            and not self._is_full()
        ):
            return False
        if self._snapshot_due(now_ms, eager=eager):
            # Page 0 must follow at once: what is appended in between would be in no page.
            await self._add_page(self._begin_snapshot(), now_ms)
            return True
        segments = self._parts.segments.all()
        segment = self._parts.policy.segment_to_clean(segments, self.bookmark, eager=eager)
        if segment is None:
            self._checked_at = written
            return False
        return await self._clean(segment, now_ms)

    def _snapshot_due(self, now_ms: int, *, eager: bool) -> bool:
        known = self._bookmarked
        written = self._parts.appending.written - self._written_at_bookmark
        age_ms = now_ms - known.at_ms if known.position else None
        epochs = self._epoch - epoch_of(known.position) if known.position else self._epoch
        return self._parts.policy.snapshot_due(
            known.tail_bytes + written, known.size, age_ms, epochs, eager=eager
        )

    def _begin_snapshot(self) -> SnapshotTaking:
        parts = self._parts
        self._began_at = parts.appending.written
        self._taking = SnapshotTaking(
            # The segments before it can then be trimmed as a whole.
            parts.segments.begin_segment(),
            parts.index.entries(),
            parts.index.find,
            parts.identities,
            parts.segments,
            parts.policy.page_entries_max,
        )
        return self._taking

    async def _add_page(self, taking: SnapshotTaking, now_ms: int) -> None:
        parts = self._parts
        if not taking.complete:
            group = LogGroup(now_ms, page=taking.page(now_ms))
            before = parts.appending.written
            try:
                await parts.appending.append(group, self._holds, grow=False)
            except StoreFull:
                # The page was made for a moment that has passed; the next snapshot begins anew.
                self._taking = None
                raise
            taking.size += parts.appending.written - before
        if taking.complete:
            await parts.log.set_bookmark(taking.position)
            parts.appending.require(self._holds)
            self._taking = None
            self._bookmarked = Bookmarked(taking.position, now_ms, taking.size, 0)
            self._written_at_bookmark = self._began_at + taking.size
            self.check_again()

    async def _clean(self, segment: LogSegment, now_ms: int) -> bool:
        living = self._living(segment)
        if not living:
            return await self._trim(segment)
        rows = await self._parts.messages.rows([entry.sequence for entry in living])
        moved = [
            row
            for sequence, found in rows.items()
            if (row := self._as_now(found, sequence, segment)) is not None
        ]
        if moved:
            await self._move(moved, now_ms)
            return True
        if len(rows) < len(living):
            _log.error(
                "%d messages of segment %d cannot be read: it is kept until they are received",
                len(living) - len(rows),
                segment.number,
            )
            self._not_before_ms = now_ms + PAUSE_MS
            self._checked_at = self._parts.appending.written
            return False
        return True

    async def _move(self, moved: list[LoggedSend], now_ms: int) -> None:
        parts = self._parts
        group = LogGroup(now_ms, moved=moved)
        position = await parts.appending.append(group, self._holds, grow=False)
        for row in moved:
            # One that has left meanwhile is deleted by a later group.
            parts.segments.moved(row.sequence, position)

    async def _trim(self, emptied: LogSegment) -> bool:
        """Remove a segment that has no messages, after their deletes have become durable.

        Otherwise a crash could leave messages in a snapshot that are nowhere else.
        """
        if emptied.live:
            if self._deleted is None:
                self._deleted = self._commit()
            if not self._deleted.done():
                return False
            self._deleted.exception()
            self._deleted = None
        parts = self._parts
        before = segment_start(emptied.number + 1)
        await parts.log.trim(before)
        parts.segments.trimmed(before)
        return True

    def _living(self, segment: LogSegment) -> list[Entry]:
        """Some messages of the index that are in this segment; all are found by repeated calls."""
        index, segments = self._parts.index, self._parts.segments
        count_max = self._parts.policy.clean_messages_max
        living = [entry for each in segment.moved if (entry := index.find(each)) is not None]
        ranged = segments.range_of(segment.number)
        after, end = (ranged[0] - 1, ranged[1]) if ranged else (0, 0)
        while ranged and len(living) < count_max:
            page = index.after(after, count_max)
            if not page or (end and page[0].sequence >= end):
                break
            here = (entry for entry in page if not end or entry.sequence < end)
            living += [each for each in here if self._is_in(each.sequence, segment)]
            after = page[-1].sequence
        return _bounded(living[:count_max])

    def _is_in(self, sequence: int, segment: LogSegment) -> bool:
        position = self._parts.segments.position_of(sequence)
        return position is not None and segment_of(position) == segment.number

    def _as_now(self, row: LoggedSend, sequence: int, segment: LogSegment) -> LoggedSend | None:
        """The row with the state of now; None if the message has left since it was looked up."""
        entry = self._parts.index.find(sequence)
        if entry is None or not self._is_in(sequence, segment):
            return None
        return LoggedSend(
            sequence,
            entry.visible_ms,
            entry.sent_ms,
            entry.receive_count,
            entry.first_received_ms,
            entry.group,
            entry.units,
            row.crc32,
            row.record,
            None,
            row.adopted,
            row.message_id if row.adopted else None,
        )


def _bounded(entries: list[Entry]) -> list[Entry]:
    """Select the first entries, as many as one step may move: one at least."""
    units = 0
    kept: list[Entry] = []
    for entry in entries:
        units += entry.units
        if kept and units > CLEAN_UNITS_MAX:
            break
        kept.append(entry)
    return kept
