"""The state of one queue: takes rows in the order of files, and counts them in order of time.

Rows wait until the watermark has passed them, so that they are counted in order however late a file
is. Rows that are later than the watermark are counted, but not ordered.
"""

from collections import Counter
from dataclasses import astuple
from typing import Final

import msgspec
import numpy as np

from dovemq.models.consistency import Consistency
from dovemq.models.consistency.columns import Flags
from dovemq.pipeline.monitor.columns import MonitoredRows, RememberedMessages, of_blob, to_blob
from dovemq.pipeline.monitor.figures import COUNTS
from dovemq.pipeline.monitor.memory import fates, update
from dovemq.pipeline.monitor.streams import Streams

EVER_US: Final = 1 << 62
"""A time after every event."""
_NEVER_US: Final = -EVER_US
"""A time before every event."""


class Bounds(msgspec.Struct, frozen=True):
    """`late_us`: how far the watermark, up to which rows are counted, is behind the newest event.

    A message without new rows for `horizon_us` is forgotten. For each queue at most `messages_max`
    messages are remembered, and as many rows wait.
    """

    late_us: int
    horizon_us: int
    messages_max: int


class _Head(msgspec.Struct):
    """The part of the state that is not columns; rows up to `counted_us` were counted in order."""

    counts: dict[str, int] = {}
    first_us: int = EVER_US
    last_us: int = _NEVER_US
    counted_us: int = msgspec.field(default=_NEVER_US, name="told_us")
    """Has the name that states on disk have."""
    ended: tuple[int, ...] = astuple(Consistency())


class QueueWatch:
    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._head = _Head()
        self._counts: Counter[str] = Counter()
        self._pending = MonitoredRows.none()
        self._messages = RememberedMessages.none()
        self._streams = Streams(Consistency())

    def add(self, rows: MonitoredRows, settled: int, watermark_us: int) -> None:
        """Adds the rows of new files; the watermark may rise without rows."""
        head = self._head
        self._counts["settled"] += settled
        if len(rows):
            head.first_us = min(head.first_us, int(rows.moment_us.min()))
            head.last_us = max(head.last_us, int(rows.moment_us.max()))
        late = rows.moment_us <= head.counted_us
        if late.any():
            self._counts["late"] += int(np.count_nonzero(late))
            self._count(rows.picked(late).in_order(), ordered=False)
            rows = rows.picked(~late)
        self._pending = self._pending.followed_by(rows).in_order()
        due = self._due(watermark_us)
        if len(due):
            self._forget_silent(int(due.moment_us[0]))
        self._count(due, ordered=True)
        self._forget_beyond(self._bounds.messages_max)
        self._streams.keep(self._messages)

    def figures(self) -> dict[str, int]:
        """Returns the figures as if the trace ended here: waiting rows are counted in a copy."""
        ended = QueueWatch.resumed(self.kept(), self._bounds)
        ended._count(ended._pending, ordered=True)
        messages, order = ended._messages, ended._streams.result()
        # `fates` counts messages without a receive as absent; here they are still open.
        counts = ended._counts + fates(messages)
        open_now = int(np.count_nonzero(messages.sent & ~messages.received))
        placed = self._head.last_us > _NEVER_US
        return {name: counts[name] for name in COUNTS} | {
            "first_us": self._head.first_us if placed else 0,
            "last_us": self._head.last_us if placed else 0,
            "watermark_us": self._head.counted_us,
            "duplicates": counts["receives"] - counts["received"],
            "absent": counts["absent"] - open_now,
            "open": open_now,
            "ordered": order.ordered,
            "unordered": counts["received"] - order.ordered,
            "renumbered": len(ended._streams.renumbered),
            "out_of_order": order.out_of_order,
            "displacement": order.displacement,
            "remembered": len(self._messages),
            "pending": len(self._pending),
        }

    def kept(self) -> bytes:
        self._head.counts, self._head.ended = self._counts, astuple(self._streams.ended)
        head = np.frombuffer(msgspec.json.encode(self._head), np.uint8)
        pending = self._pending.named("pending.")
        messages = self._messages.named("messages.")
        return to_blob({"head": head, **pending, **messages, **self._streams.kept()})

    @classmethod
    def resumed(cls, blob: bytes, bounds: Bounds) -> "QueueWatch":
        arrays = of_blob(blob)
        watch = cls(bounds)
        watch._head = head = msgspec.json.decode(arrays["head"].tobytes(), type=_Head)
        watch._counts = Counter(head.counts)
        watch._pending = MonitoredRows.of(arrays, "pending.")
        watch._messages = RememberedMessages.of(arrays, "messages.")
        watch._streams = Streams.resumed(arrays, Consistency(*head.ended))
        return watch

    def _due(self, watermark_us: int) -> MonitoredRows:
        """Returns the rows that the watermark has passed, and those beyond the bound of waiting
        rows."""
        pending, most = self._pending, self._bounds.messages_max
        until_us = max(watermark_us, self._head.counted_us)
        if len(pending) > most:
            until_us = max(until_us, int(pending.moment_us[-1 - most]))
        due = int(np.searchsorted(pending.moment_us, until_us, "right"))
        self._head.counted_us = until_us
        self._pending = pending.picked(slice(due, None))
        return pending.picked(slice(due))

    def _count(self, rows: MonitoredRows, *, ordered: bool) -> None:
        firsts = rows.picked(self._update(rows, self._head.counted_us))
        if ordered:
            self._streams.add(firsts.stream, firsts.seq)

    def _forget_silent(self, now_us: int) -> None:
        """Forgets old messages first, because a sender that was silent may number from 1 again."""
        self._update(MonitoredRows.none(), now_us)
        self._streams.keep(self._messages)

    def _update(self, rows: MonitoredRows, now_us: int) -> Flags:
        """Returns which of the rows are the first lease of a message."""
        updated = update(self._messages, rows, self._bounds.horizon_us, now_us)
        self._messages = updated.messages
        self._counts.update(updated.counts)
        return updated.firsts

    def _forget_beyond(self, messages_max: int) -> None:
        """Forgets the oldest messages beyond the bound, whose outcome is not known."""
        excess = len(self._messages) - messages_max
        if excess <= 0:
            return
        oldest = np.argpartition(self._messages.heard_us, excess - 1)[:excess]
        gone = self._messages.picked(oldest)
        self._counts["forgotten"] += int(np.count_nonzero(gone.sent & ~gone.received))
        kept = np.ones(len(self._messages), np.bool_)
        kept[oldest] = False
        self._messages = self._messages.picked(kept)
