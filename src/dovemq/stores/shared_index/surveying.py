"""Looks at a whole index: counts, peeks, and the removal of old messages.

An index without an owner has no counter, so its tuples are read, up to a bound: beyond it numbers
are too low. A message with two tuples is counted twice by nobody here: the one of the highest
generation counts.
"""

import asyncio
from collections.abc import Container, Iterable
from typing import Final

from dovemq.core import limits
from dovemq.core.commands import Counts, Peek, Peeked, Visibility
from dovemq.core.drawing import IndexTuple
from dovemq.stores.shared_index.buckets import FOREVER_MS, Buckets, MonotonicMs
from dovemq.stores.shared_index.ports import IndexTables
from dovemq.stores.shared_index.receiving import IndexReceiving

SURVEYED_MAX: Final = 10_000
"""Tuples that counts and peeks look at."""
FRESH_MS: Final = 1_000
"""Counts are answered from a look that is not older than this."""
REMOVED_AT_ONCE: Final = 100


class Survey:
    def __init__(
        self,
        tables: IndexTables,
        queue: int,
        buckets: Buckets,
        receiving: IndexReceiving,
        monotonic_ms: MonotonicMs,
    ) -> None:
        self._tables = tables
        self._queue = queue
        self._buckets = buckets
        self._receiving = receiving
        self._monotonic_ms = monotonic_ms
        self._looked_ms = -FOREVER_MS
        self._changes = 0
        self._changes_seen = 0
        self._seen: list[IndexTuple] = []
        self._looking: asyncio.Lock = asyncio.Lock()

    def changed(self) -> None:
        """This front end has changed the index: counts from now on need a look that sees it."""
        self._changes += 1

    async def counts(self, expired_ms: int, now_ms: int) -> Counts:
        changes = self._changes
        async with self._looking:
            at_ms = self._monotonic_ms()
            if self._changes_seen < changes or at_ms - self._looked_ms >= FRESH_MS:
                # What changes while it looks may be seen or not: the next caller looks again.
                changes = self._changes
                self._seen = _newest(await self._buckets.all(SURVEYED_MAX))
                self._changes_seen, self._looked_ms = changes, at_ms
            found = self._seen
        seen = [each for each in found if each.sent_ms > expired_ms]
        visible = [each for each in seen if each.due_ms <= now_ms]
        hidden = [each for each in seen if each.due_ms > now_ms]
        leased = sum(each.receive_count > 0 for each in hidden)
        return Counts(
            visible=len(visible),
            leased=leased,
            delayed=len(hidden) - leased,
            oldest_ms=min((each.sent_ms for each in visible), default=None),
            bytes=sum(each.units for each in seen) * limits.STORED_UNIT_BYTES,
        )

    async def peek(self, page: Peek, expired_ms: int, now_ms: int) -> list[Peeked]:
        """Messages in order of sequence, among the first `SURVEYED_MAX` in order of T."""
        seen = _newest(await self._buckets.all(SURVEYED_MAX))
        after = sorted(
            (
                each
                for each in seen
                if each.sequence > page.after_sequence and each.sent_ms > expired_ms
            ),
            key=lambda each: each.sequence,
        )
        shown: list[Peeked] = []
        for first in range(0, len(after), REMOVED_AT_ONCE):
            some = after[first : first + REMOVED_AT_ONCE]
            rows = await self._tables.bodies(self._queue, [each.sequence for each in some])
            for each in some:
                row = rows.get(each.sequence)
                message = None if row is None or row.settled else self._receiving.message(row)
                if message is not None and len(shown) < page.count_max:
                    shown.append(
                        Peeked(
                            message,
                            _visibility(each, now_ms),
                            each.due_ms,
                            each.receive_count,
                            each.first_received_ms,
                        )
                    )
            if len(shown) == page.count_max:
                break
        return shown

    async def remove(self, sequences: Container[int], now_ms: int) -> None:
        """Remove messages of which only the sequence is known, if a survey finds their tuples."""
        found = await self._buckets.all(SURVEYED_MAX)
        await self._receiving.remove([each for each in found if each.sequence in sequences], now_ms)

    async def drop(
        self, sent_before_ms: int, count_max: int, last_bucket: int | None, now_ms: int
    ) -> list[IndexTuple]:
        """Remove messages that were sent before; of each one tuple is returned."""
        last = FOREVER_MS if last_bucket is None else last_bucket
        found = await self._buckets.all(count_max + SURVEYED_MAX, last_bucket=last, sure=True)
        old = [each for each in found if each.sent_ms < sent_before_ms]
        kept = {each.sequence for each in _newest(old)[:count_max]}
        removed = [each for each in old if each.sequence in kept]
        for first in range(0, len(removed), REMOVED_AT_ONCE):
            await self._receiving.remove(removed[first : first + REMOVED_AT_ONCE], now_ms)
        self.changed()
        return _newest(removed)


def _newest(tuples: Iterable[IndexTuple]) -> list[IndexTuple]:
    """The tuple of the highest generation of each message, in order of (T, I)."""
    newest: dict[int, IndexTuple] = {}
    for each in tuples:
        known = newest.get(each.sequence)
        if known is None or known.generation < each.generation:
            newest[each.sequence] = each
    return sorted(newest.values(), key=lambda each: each.place)


def _visibility(found: IndexTuple, now_ms: int) -> Visibility:
    if found.due_ms <= now_ms:
        return Visibility.VISIBLE
    return Visibility.LEASED if found.receive_count else Visibility.DELAYED
