"""Decides when a log is looked after: when to take a snapshot, and which segment to clean.

    |<---------- settled part ---------->|<------------- tail ------------->|
    | seg 1 | seg 2 | ...                | P: page 0 … pages, groups … | open |
                                         ^ bookmark

- A *snapshot* bounds what a new owner has to read. It is due when the tail is long compared with
  the snapshot itself: pages are then at most a quarter of all that is written. One is also due when
  the newest is a day old, since a database may remove old groups, and after a number of takeovers,
  since a new owner reads the seal of each.
- Only the settled part is *trimmed*: a new owner scans the tail. So deletes and seals outlive the
  messages and the void groups that they are about.
- Segments are trimmed from the oldest on. One that is not empty is *cleaned*: the messages in it
  are appended again. This is done only while at least half of the settled part is dead. So over
  the whole part at most as many bytes are moved as are freed, and a log takes at most twice the
  space of its messages, besides the tail and `clean_bytes_min`.
- While its database is full, and when nothing was written for a while, a log gives space back
  *eagerly*: a tail of `eager_bytes_min` is enough for a snapshot, and any part that is half dead is
  cleaned. So an empty queue takes next to nothing, and a full database has space again after
  messages were deleted.

Pure functions of numbers.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from dovemq.core import limits
from dovemq.stores.owned.logged.positions import segment_of
from dovemq.stores.owned.logged.segments import SEGMENT_BYTES, LogSegment

SNAPSHOT_SHARE: Final = 4
"""A tail is this many times longer than a snapshot before the next one is taken."""

KEEP_MS: Final = limits.RETENTION_MS.most + 2 * limits.DAY_MS
"""Groups are kept this long at least: longer than any message, and than a snapshot is used."""


class LogPolicy(Struct, frozen=True):
    """The numbers of the policy; tests take small ones.

    A tail shorter than `snapshot_bytes_min` is read in a moment and needs no snapshot. A settled
    part shorter than `clean_bytes_min` is not cleaned. `check_bytes` are appended before the policy
    is asked again. `page_entries_max` bounds the turn of the loop in which a page is made.
    `eager_bytes_min` takes the place of the first two where space is wanted back.
    """

    segment_bytes: int = SEGMENT_BYTES
    snapshot_bytes_min: int = 16 * 1024 * 1024
    snapshot_age_ms_max: int = limits.DAY_MS
    snapshot_epochs_max: int = 16
    clean_bytes_min: int = 16 * 1024 * 1024
    eager_bytes_min: int = 64 * 1024
    clean_messages_max: int = 200
    check_bytes: int = 64 * 1024
    page_entries_max: int = 2_000

    def snapshot_due(
        self,
        tail_bytes: int,
        snapshot_bytes: int,
        age_ms: int | None,
        epochs: int,
        *,
        eager: bool = False,
    ) -> bool:
        """Whether to take one.

        `tail_bytes`: what was appended since the newest snapshot began, without its own pages.
        `age_ms`: that of the newest snapshot, None without one. `epochs`: takeovers since it.
        """
        if epochs >= self.snapshot_epochs_max:
            return True
        if age_ms is not None and age_ms >= self.snapshot_age_ms_max:
            return True
        bytes_min = self.eager_bytes_min if eager else self.snapshot_bytes_min
        return tail_bytes >= max(bytes_min, SNAPSHOT_SHARE * snapshot_bytes)

    def segment_to_clean(
        self, segments: Sequence[LogSegment], bookmark: int, *, eager: bool = False
    ) -> LogSegment | None:
        """The oldest segment, if it is to be emptied and trimmed now. `segments`: oldest first."""
        if not segments or segments[0].number >= segment_of(bookmark):
            return None
        if not segments[0].live:
            return segments[0]
        settled = [each for each in segments if each.number < segment_of(bookmark)]
        size = sum(each.bytes for each in settled)
        live = sum(each.live_bytes for each in settled)
        bytes_min = self.eager_bytes_min if eager else self.clean_bytes_min
        return segments[0] if size >= bytes_min and live * 2 <= size else None
