"""Updates the remembered messages with new rows, by message id.

A message is forgotten when no row of it came for a horizon. Then it is known whether it was lost; a
later row counts as another message. So nothing depends on how rows are split into batches, as long
as they are in order.
"""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from dovemq.models.consistency.columns import Flags, Integers
from dovemq.pipeline.monitor.columns import LEASED, SENT, UNKNOWN, MonitoredRows, RememberedMessages


@dataclass(frozen=True, slots=True)
class MemoryUpdate:
    """The result of an update. `firsts` marks the rows that are the first lease of a message."""

    messages: RememberedMessages
    firsts: Flags
    counts: Counter[str]


def update(
    messages: RememberedMessages, rows: MonitoredRows, horizon_us: int, now_us: int
) -> MemoryUpdate:
    """Applies rows in order of time; all rows up to `now_us` are known."""
    known = len(messages)
    ids = np.concatenate((messages.message, rows.message))
    times = np.concatenate((messages.heard_us, rows.moment_us))
    # The sort is stable: a remembered message comes before its rows, which stay in order.
    order = np.argsort(ids, kind="stable")
    ids, times = ids[order], times[order]
    begins = np.ones(len(ids), np.bool_)
    begins[1:] = (ids[1:] != ids[:-1]) | (times[1:] - times[:-1] > horizon_us)
    if not len(ids):
        return MemoryUpdate(messages, np.empty(0, np.bool_), Counter())
    lives = _Lives(messages, rows, order, np.flatnonzero(begins), known)
    firsts = np.zeros(len(rows), np.bool_)
    firsts[lives.first_leases()] = True
    after = lives.merged()
    last = np.ones(len(after), np.bool_)
    last[:-1] = after.message[1:] != after.message[:-1]
    alive = last & (now_us - after.heard_us <= horizon_us)
    counts = Counter(
        sent=int(np.count_nonzero(rows.kind == SENT)),
        receives=int(np.count_nonzero(rows.kind == LEASED)),
        received=int(np.count_nonzero(firsts)),
        messages=int(np.count_nonzero(after.sent) - np.count_nonzero(messages.sent)),
    )
    counts.update(fates(after.picked(~alive)))
    return MemoryUpdate(after.picked(alive), firsts, counts)


def fates(messages: RememberedMessages) -> Counter[str]:
    """Counts the outcomes of messages that are forgotten."""
    sent, received = messages.sent, messages.received
    return Counter(
        absent=int(np.count_nonzero(sent & ~received)),
        corrupted=int(np.count_nonzero(sent & received & ~messages.intact)),
        unsent=int(np.count_nonzero(~sent)),
    )


@dataclass(slots=True)
class _Lives:
    """The remembered messages and the rows, sorted by message; each start begins a message."""

    _messages: RememberedMessages
    _rows: MonitoredRows
    _order: Integers
    _starts: Integers
    _known: int
    """The number of remembered messages, which come before the rows."""
    _remembered: Flags = field(init=False)
    _sent_here: Flags = field(init=False)
    _leased_here: Flags = field(init=False)

    def __post_init__(self) -> None:
        self._remembered = self._order[self._starts] < self._known
        known = np.full(self._known, UNKNOWN)
        kinds = np.concatenate((known, self._rows.kind))[self._order]
        self._sent_here = kinds == SENT
        self._leased_here = kinds == LEASED

    def first_leases(self) -> Integers:
        """Returns the rows that are the first lease of a message that was not received before."""
        places = np.where(self._leased_here, np.arange(len(self._order)), len(self._order))
        found = np.minimum.reduceat(places, self._starts)
        found = found[(found < len(self._order)) & ~self._was("received")]
        return self._order[found] - self._known

    def merged(self) -> RememberedMessages:
        sent = self._was("sent") | np.logical_or.reduceat(self._sent_here, self._starts)
        received = self._was("received") | np.logical_or.reduceat(self._leased_here, self._starts)
        crc, intact = self._checksums()
        heard = np.concatenate((self._messages.heard_us, self._rows.moment_us))[self._order]
        return RememberedMessages(
            self._of_start(self._messages.message, self._rows.message),
            np.maximum.reduceat(heard, self._starts),
            self._of_start(self._messages.stream, self._rows.stream),
            self._of_start(self._messages.seq, self._rows.seq),
            crc,
            sent,
            received,
            intact,
        )

    def _checksums(self) -> tuple[Integers, Flags]:
        """Returns the checksum of the send, or else of the first row, and whether a lease has
        it."""
        all_sums = np.concatenate((self._messages.crc, self._rows.crc))[self._order]
        firsts = all_sums[self._starts]
        places = np.where(self._sent_here, np.arange(len(self._order)), len(self._order))
        sends = np.minimum.reduceat(places, self._starts)
        new = (sends < len(self._order)) & ~self._was("sent")
        wanted = np.where(new, all_sums[np.minimum(sends, len(self._order) - 1)], firsts)
        sizes = np.diff(np.append(self._starts, len(self._order)))
        equal = (all_sums == np.repeat(wanted, sizes)) | (all_sums == UNKNOWN)
        equal |= np.repeat(wanted == UNKNOWN, sizes)
        intact = np.logical_or.reduceat(self._leased_here & equal, self._starts)
        # A lease that came before its send has left only its checksum.
        early = self._was("received") & ~self._was("sent")
        before = np.where(early, firsts == wanted, self._was("intact"))
        return wanted, intact | before

    def _was(self, flag: str) -> Flags:
        """Returns a remembered flag for each message; false if it is new."""
        found = np.zeros(len(self._starts), np.bool_)
        places = self._order[self._starts[self._remembered]]
        found[self._remembered] = getattr(self._messages, flag)[places]
        return found

    def _of_start(self, remembered: Integers, new: Integers) -> Integers:
        found: Integers = np.concatenate((remembered, new))[self._order[self._starts]]
        return found
