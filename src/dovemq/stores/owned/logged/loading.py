"""Loading: a replayed log becomes entries for the index, in order of sequence, piece by piece.

A page of the snapshot is decoded when its turn comes. Rows of messages that the tail has deleted
are left out; for messages that the tail has too, the tail's entry is taken; leases of the tail
replace those of the page. The partition serves what was loaded while the rest waits. Pure.
"""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from typing import Final

from dovemq.core.entry import Entry
from dovemq.stores.owned.logged.replay import LogReplay
from dovemq.stores.owned.logged.segments import PlaceRow
from dovemq.stores.owned.logged.snapshot import ColumnCodec, EntryColumns

CHUNK_MAX: Final = 2_000
"""Entries of the tail that are given at a time."""


def loading(replay: LogReplay) -> Iterator[list[Entry]]:
    """Entries in order of sequence, in bounded pieces. Takes the replay over and empties it."""
    tail = iter(sorted(replay.sends))
    following = next(tail, None)
    replay.segments.begin_loading()
    codec = ColumnCodec()
    for number in sorted(replay.pages):
        data = replay.pages.pop(number).entries
        if not data:
            continue
        columns = codec.decode(data)
        entries = _under_tail(columns, replay)
        highest = sum(columns.sequences)
        merged = []
        while following is not None and following <= highest:
            merged.append(replay.sends.pop(following))
            following = next(tail, None)
        yield sorted(entries + merged) if merged else entries
    replay.segments.end_loading()
    replay.gone.clear()
    replay.leases.clear()
    while following is not None:
        chunk = [following, *islice(tail, CHUNK_MAX - 1)]
        following = next(tail, None)
        yield [replay.sends.pop(sequence) for sequence in chunk]


def _under_tail(columns: EntryColumns, replay: LogReplay) -> list[Entry]:
    """The entries of a page that only the page has, with the newest leases."""
    replay.segments.load(columns.places, columns.moved)
    position_of = _Positions(columns)
    kept = []
    for entry in columns.entries():
        sequence = entry.sequence
        gone = sequence in replay.gone
        if gone or sequence in replay.sends:
            position = position_of(sequence)
            if position is not None:
                replay.segments.unload(sequence, position, gone=gone)
            continue
        lease = replay.leases.pop(sequence, None)
        if lease is not None:
            _, entry.visible_ms, entry.receive_count, entry.first_received_ms = lease
        kept.append(entry)
    return kept


class _Positions:
    """Where the page says that its messages are."""

    def __init__(self, columns: EntryColumns) -> None:
        self._places: list[PlaceRow] = columns.places
        self._moved = dict(columns.moved)

    def __call__(self, sequence: int) -> int | None:
        if sequence in self._moved:
            return self._moved[sequence]
        at = bisect_right(self._places, sequence, key=lambda place: place[0])
        return self._places[at - 1][1] if at else None
