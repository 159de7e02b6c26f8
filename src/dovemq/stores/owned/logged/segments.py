"""Segments: where the message of a sequence is in the log, and how much of the log is in use.

Sequences rise with positions, as an owner appends messages in the order in which it numbered them.
So two arrays with the first sequence and the position of each group are enough to find a message by
bisection, which takes 16 bytes a group. The exceptions are messages that cleaning has moved; they
are in a dict.

After a takeover the groups of the log's tail are known first, and those of the snapshot are added
page by page. They have lower sequences, and stand in arrays of their own until all are there.

Pure; `upkeep.py` acts on what `policy.py` decides from these numbers.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from dovemq.stores.owned.logged.encoding import SegmentRow
from dovemq.stores.owned.logged.positions import (
    SLOTS_MAX,
    first_position,
    segment_of,
    segment_start,
)

SEGMENT_BYTES: Final = 4 * 1024 * 1024
"""A segment that has reached this size is closed; 4 MiB are one page of a scan on Cassandra."""

PlaceRow = tuple[int, int, int]
"""First sequence, position of its group, number of messages there."""


class LogSegment(Struct):
    """Groups that are removed together.

    `sends` counts messages that were sent or moved here, `live` those that are still here.
    """

    number: int
    bytes: int = 0
    sends: int = 0
    live: int = 0
    moved: set[int] = set()
    """Sequences of live messages that cleaning has moved here."""

    @property
    def live_bytes(self) -> int:
        """An estimate: messages differ in size, and groups have other rows too."""
        return self.bytes * self.live // self.sends if self.live else 0


class _Groups:
    """First sequences and positions of groups that have messages, in order."""

    __slots__ = ("firsts", "positions")

    def __init__(self) -> None:
        self.firsts = array("q")
        self.positions = array("q")

    def add(self, first: int, position: int) -> None:
        if not self.positions or self.positions[-1] != position:
            self.firsts.append(first)
            self.positions.append(position)

    def find(self, sequence: int) -> int | None:
        at = bisect_right(self.firsts, sequence)
        return self.positions[at - 1] if at else None

    def cut(self, before: int) -> None:
        """Forget groups before this position."""
        at = bisect_left(self.positions, before)
        del self.firsts[:at]
        del self.positions[:at]


class Segments:
    """All segments of a log, the oldest first. `epoch` is that of the owner, who appends."""

    def __init__(self, epoch: int, segment_bytes: int = SEGMENT_BYTES) -> None:
        self._segment_bytes = segment_bytes
        self._first = first_position(epoch)
        self._next = self._first
        self._table: dict[int, LogSegment] = {}
        self._tail = _Groups()
        self._snapshot: _Groups | None = None
        self._moved: dict[int, int] = {}
        self.bytes = 0
        """The size of all groups that were appended or found."""

    def next_position(self) -> int:
        """The position of the next group. A full segment is closed before."""
        number = segment_of(self._next)
        open_one = self._table.get(number)
        full = open_one is not None and open_one.bytes >= self._segment_bytes
        if full or self._next - segment_start(number) == SLOTS_MAX - 1:
            self._next = segment_start(number + 1)
        return self._next

    def begin_segment(self) -> int:
        """Close the open segment, if it has groups. Returns the position of the next group."""
        number = segment_of(self._next)
        if self._next > segment_start(number):
            self._next = segment_start(number + 1)
        return self._next

    def appended(self, position: int, size: int, sequences: Sequence[int]) -> None:
        """A group is in the log; `sequences` are the messages sent in it, in order."""
        self._next = max(self._next, position + 1)
        segment = self._segment(position)
        segment.bytes += size
        segment.sends += len(sequences)
        segment.live += len(sequences)
        self.bytes += size
        if sequences:
            self._tail.add(sequences[0], position)

    def moved(self, sequence: int, position: int, *, known: bool = True) -> None:
        """A message was appended again; `known` False: its earlier copy was not counted here."""
        if known:
            self.removed(sequence)
        segment = self._segment(position)
        segment.sends += 1
        segment.live += 1
        segment.moved.add(sequence)
        self._moved[sequence] = position

    def removed(self, sequence: int) -> None:
        """A message has left. One that is unknown was in a segment that was removed."""
        position = self._moved.pop(sequence, None)
        found = self._fresh(sequence) if position is None else position
        segment = None if found is None else self._table.get(segment_of(found))
        if segment is None:
            return
        segment.live = max(0, segment.live - 1)
        segment.moved.discard(sequence)

    def position_of(self, sequence: int) -> int | None:
        """The group that has this message, if it is in the log at all."""
        return self._moved.get(sequence) or self._fresh(sequence)

    def places(self, sequences: Iterable[int]) -> tuple[list[PlaceRow], list[tuple[int, int]]]:
        """The groups of messages in order of sequence; moved messages one by one, apart."""
        places: list[PlaceRow] = []
        moved: list[tuple[int, int]] = []
        for sequence in sequences:
            position = self._moved.get(sequence)
            if position is not None:
                moved.append((sequence, position))
                continue
            position = self._fresh(sequence)
            if position is None:
                continue
            if places and places[-1][1] == position:
                first, _, count = places[-1]
                places[-1] = (first, position, count + 1)
            else:
                places.append((sequence, position, 1))
        return places, moved

    def segment(self, number: int) -> LogSegment | None:
        return self._table.get(number)

    def all(self) -> list[LogSegment]:
        return [self._table[number] for number in sorted(self._table)]

    def rows(self) -> list[SegmentRow]:
        return [(each.number, each.bytes, each.sends) for each in self.all()]

    def range_of(self, number: int) -> tuple[int, int] | None:
        """First sequence sent in a segment, and the first one sent after it; None if none was.

        The second is 0 if the segment has the newest messages.
        """
        positions, firsts = self._tail.positions, self._tail.firsts
        begin = bisect_left(positions, segment_start(number))
        end = bisect_left(positions, segment_start(number + 1))
        if begin == end:
            return None
        return firsts[begin], firsts[end] if end < len(firsts) else 0

    def cleared(self, number: int) -> None:
        """Nothing in this segment is needed any more, whatever was counted."""
        segment = self._table.get(number)
        if segment is not None:
            segment.live = 0
            segment.moved.clear()

    def trimmed(self, before: int) -> None:
        """Forget the segments before this position."""
        kept_from = segment_of(before)
        for number in [number for number in self._table if number < kept_from]:
            self.bytes -= self._table.pop(number).bytes
        self._tail.cut(before)

    def known(self, rows: Iterable[SegmentRow]) -> None:
        """Segments that a snapshot tells of, and their sizes when it began."""
        for number, size, sends in rows:
            segment = self._segment(segment_start(number))
            segment.bytes += size
            segment.sends += sends
            self.bytes += size

    def begin_loading(self) -> None:
        self._snapshot = _Groups()

    def load(self, places: Iterable[PlaceRow], moved: Iterable[tuple[int, int]]) -> None:
        """Add messages of a page of a snapshot; pages come in order of sequence."""
        assert self._snapshot is not None
        for first, position, count in places:
            self._snapshot.add(first, position)
            self._segment(position).live += count
        for sequence, position in moved:
            segment = self._segment(position)
            segment.live += 1
            if sequence not in self._moved:
                self._moved[sequence] = position
                segment.moved.add(sequence)

    def unload(self, sequence: int, position: int, *, gone: bool) -> None:
        """Do not count a message of a page: it is gone, or the tail has counted it already."""
        segment = self._segment(position)
        segment.live = max(0, segment.live - 1)
        if gone and self._moved.pop(sequence, None) is not None:
            segment.moved.discard(sequence)

    def end_loading(self) -> None:
        """Join the groups of the snapshot with those of the tail."""
        assert self._snapshot is not None
        joined, tail = self._snapshot, self._tail
        # Messages that were sent while the snapshot was taken are in both.
        if tail.positions:
            at = bisect_left(joined.positions, tail.positions[0])
            del joined.firsts[at:]
            del joined.positions[at:]
        joined.firsts.extend(tail.firsts)
        joined.positions.extend(tail.positions)
        self._tail, self._snapshot = joined, None

    def _fresh(self, sequence: int) -> int | None:
        """The group in which the message was sent."""
        position = self._tail.find(sequence)
        if position is None and self._snapshot is not None:
            return self._snapshot.find(sequence)
        return position

    def _segment(self, position: int) -> LogSegment:
        number = segment_of(position)
        segment = self._table.get(number)
        if segment is None:
            segment = self._table[number] = LogSegment(number)
        return segment
