"""Measures the order of first receives, stream by stream, in bounded memory.

Ranks are assigned before the rows are sorted by time, so a stream has no gaps, and the kernels hold
only its disorder.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dovemq.load.histories import MessageKey
from dovemq.load.reading import Rows
from dovemq.models.consistency import Consistency, OrderTally

FIRST_RECEIVE: Final = np.dtype(
    [
        ("rank", "<i8"),
        ("received_us", "<i8"),
        ("place", "<i8"),
        ("send_seq", "<i8"),
        ("queue", "<u4"),
        ("sender", "<u4"),
    ]
)
LATE_NAMED_MAX: Final = 100
"""The most late messages that are remembered by key."""

_NO_STREAM: Final = (-1, -1)


class Ranks:
    """Numbers the received messages of each stream, in order of their key."""

    def __init__(self) -> None:
        self._stream = _NO_STREAM
        self._next = 0

    def first_receives(
        self, receives: Rows, messages: NDArray[np.intp], left_out: NDArray[np.bool_]
    ) -> Rows:
        """Returns the first receive of each message, without the messages in `left_out`.

        `receives` are sorted by key and time; `messages` has the number of the message of each row.
        """
        first = np.ones(len(receives), np.bool_)
        first[1:] = messages[1:] != messages[:-1]
        chosen = receives[first & ~left_out[messages]]
        rows = np.zeros(len(chosen), FIRST_RECEIVE)
        for name in ("queue", "sender", "send_seq", "received_us", "place"):
            rows[name] = chosen[name]
        for stream, part in _streams(rows):
            start = self._next if stream == self._stream else 0
            rows["rank"][part] = np.arange(start, start + part.stop - part.start)
            self._stream, self._next = stream, start + part.stop - part.start
        return rows


class Ordering:
    """Measures first receives that are sorted by stream and time."""

    KEYS: Final = ("queue", "sender", "received_us", "place")

    def __init__(self, promised: Callable[[int], bool]) -> None:
        self._promised = promised
        self._stream = _NO_STREAM
        self._tally = OrderTally(first=0)
        self._highest = -1
        self._sum = Consistency()
        self.late = 0
        self.late_promised = 0
        self.first_late: list[MessageKey] = []

    def add(self, rows: Rows) -> None:
        for stream, part in _streams(rows):
            if stream != self._stream:
                self._close()
                self._stream = stream
            self._add(rows[part])

    def result(self) -> Consistency:
        self._close()
        return self._sum

    def _add(self, rows: Rows) -> None:
        ranks = np.ascontiguousarray(rows["rank"])
        self._tally.add(ranks)
        highest = np.maximum.accumulate(np.concatenate(([self._highest], ranks)))
        self._highest = int(highest[-1])
        late = rows[ranks < highest[:-1]]
        self.late += len(late)
        if self._promised(self._stream[0]):
            self.late_promised += len(late)
            room = LATE_NAMED_MAX - len(self.first_late)
            for row in late[:room]:
                self.first_late.append(MessageKey(*self._stream, int(row["send_seq"])))

    def _close(self) -> None:
        self._sum += self._tally.result()
        self._tally = OrderTally(first=0)
        self._highest = -1


def _streams(rows: Rows) -> list[tuple[tuple[int, int], slice]]:
    """Returns each stream with the slice of its rows, which are adjacent."""
    if not len(rows):
        return []
    queues, senders = rows["queue"], rows["sender"]
    changes = (queues[1:] != queues[:-1]) | (senders[1:] != senders[:-1])
    ends = [*(np.flatnonzero(changes) + 1).tolist(), len(rows)]
    starts = [0, *ends[:-1]]
    return [
        ((int(queues[start]), int(senders[start])), slice(start, end))
        for start, end in zip(starts, ends, strict=True)
    ]
