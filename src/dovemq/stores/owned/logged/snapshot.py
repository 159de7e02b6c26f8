"""Snapshots of the index, so that a new owner need not read the log from its beginning.

A snapshot is a number of pages, which are groups of the log itself. It is *fuzzy*: pages are made
one by one between other groups, while the partition goes on, and each shows the index as it is when
the page is made. The snapshot begins at position P, that of page 0. When the last page is durable,
the bookmark is set to P, and the next owner scans from there. It takes the pages and puts the tail,
all groups after P, on top. The result is right, although no page is of the same moment as another:

- A message sent before P that stays is in exactly one page, since pages follow the sequences.
- A message sent after P is in the tail. If a page has it too, the tail's row is taken.
- A message deleted after P: if a page has it, the tail has its delete. If it left the index before
  its page was made and its delete is not durable yet, no page has it. After a crash at this moment
  it is gone although nobody was told so: a settle without an answer may have been done or not.
- A lease that is held back may be in a page before it is in the log. The tail may then have an
  older lease, which wins: a crash may undo leases. While the owner lives, it writes the newest
  state after the page, because the lease stays held back until it is durable.
- A message that cleaning moves after its page was made is in the tail with its new position, which
  wins. One that was moved before is in the page with its new position. Its old segment is removed
  only after the move is durable, so the snapshot before this one, with the tail after it, is right
  as well.
- A deduplication key is written as it is known when its page is made. Keys that are claimed later
  are in the tail. Keys that are forgotten later are forgotten by the tail, which comes after.
- A crash in the middle leaves the bookmark as it was. Pages say to which snapshot they belong, and
  pages of another one than the bookmark's are ignored.
- A takeover in the middle is such a crash. If the old owner had set the bookmark already, all pages
  were durable, and the new owner has found them; the last one, if it is in doubt, is in the seal.
  If the old owner's request to set the bookmark arrives late, it names a complete snapshot, and all
  that was written after P still counts, unless it is void for every owner.

Entries are encoded as columns with differences, which takes some 10 bytes a message.
"""

import operator
from collections.abc import Callable
from itertools import accumulate, chain
from typing import Final

import msgspec
from msgspec import Struct

from dovemq.core.entry import DEAD, Entry
from dovemq.stores.owned.logged.encoding import AdoptedRow, KeyRow, SnapshotPage
from dovemq.stores.owned.logged.identities import Identities
from dovemq.stores.owned.logged.segments import PlaceRow, Segments

SLICES_MAX: Final = 16
"""Looks for further entries of a page, if there are many dead ones among them."""
PAGE_IDS_MAX: Final = 1_000
"""Deduplication keys, or ids of adopted messages, of one page."""


class EntryColumns(Struct, array_like=True, frozen=True):
    """Entries in order of sequence. The first sequence and time are absolute, others differences.

    `visible_ms` counts from `sent_ms`. `places` are the groups of all but the `moved` messages.
    """

    sequences: list[int]
    sent_ms: list[int]
    visible_ms: list[int]
    receive_counts: list[int]
    first_received_ms: list[int]
    groups: list[str | None]
    units: list[int]
    places: list[PlaceRow]
    moved: list[tuple[int, int]]

    def entries(self) -> list[Entry]:
        sent_ms = list(accumulate(self.sent_ms))
        return list(
            map(
                Entry,
                accumulate(self.sequences),
                map(operator.add, sent_ms, self.visible_ms),
                sent_ms,
                self.receive_counts,
                self.first_received_ms,
                self.groups,
                self.units,
            )
        )


class ColumnCodec:
    def __init__(self) -> None:
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(EntryColumns).decode

    def encode(self, entries: list[Entry], segments: Segments) -> bytes:
        sequences = [entry.sequence for entry in entries]
        sent_ms = [entry.sent_ms for entry in entries]
        places, moved = segments.places(sequences)
        columns = EntryColumns(
            _differences(sequences),
            _differences(sent_ms),
            [entry.visible_ms - entry.sent_ms for entry in entries],
            [entry.receive_count for entry in entries],
            [entry.first_received_ms for entry in entries],
            [entry.group for entry in entries],
            [entry.units for entry in entries],
            places,
            moved,
        )
        return self._encode(columns)

    def decode(self, data: bytes) -> EntryColumns:
        return self._decode(data)


class SnapshotTaking:
    """A snapshot that is being taken. `entries` are those of its beginning, in order of sequence.

    `position` is that of page 0, which is made and appended in the same turn of the loop in which
    the snapshot begins: all messages before it are in `entries`. `find` gives the entry that stands
    for a sequence now, if the message is still here.
    """

    def __init__(
        self,
        position: int,
        entries: list[Entry],
        find: Callable[[int], Entry | None],
        identities: Identities,
        segments: Segments,
        page_entries_max: int,
    ) -> None:
        self._page_entries_max = page_entries_max
        self.position = position
        self.size = 0
        """Bytes of the pages that are durable."""
        self.complete = False
        """Whether the last page was made."""
        self._entries = entries
        self._find = find
        self._identities = identities
        self._segments = segments
        self._codec = ColumnCodec()
        self._keys = identities.keys()
        self._adopted = identities.adopted_rows()
        self._rows = segments.rows()
        self._number = 0
        self._entries_at = self._keys_at = self._adopted_at = 0

    def page(self, now_ms: int) -> SnapshotPage:
        """The next page, of the state of now. Not called again after the last one."""
        number = self._number
        self._number += 1
        entries, keys, adopted = b"", [], []
        if self._entries_at < len(self._entries):
            entries = self._next_entries()
        else:
            keys, adopted = self._next_keys(now_ms), self._next_adopted()
        self.complete = (
            self._entries_at >= len(self._entries)
            and self._keys_at >= len(self._keys)
            and self._adopted_at >= len(self._adopted)
        )
        segments = self._rows if number == 0 else []
        return SnapshotPage(self.position, number, self.complete, entries, keys, adopted, segments)

    def _next_entries(self) -> bytes:
        living: list[Entry] = []
        for _ in range(SLICES_MAX):
            room = self._page_entries_max - len(living)
            begin, self._entries_at = self._entries_at, self._entries_at + room
            living += self._living(self._entries[begin : self._entries_at])
            if len(living) == self._page_entries_max or self._entries_at >= len(self._entries):
                break
        return self._codec.encode(living, self._segments) if living else b""

    def _next_keys(self, now_ms: int) -> list[KeyRow]:
        begin, self._keys_at = self._keys_at, self._keys_at + PAGE_IDS_MAX
        return self._identities.key_rows(self._keys[begin : self._keys_at], now_ms)

    def _next_adopted(self) -> list[AdoptedRow]:
        begin, self._adopted_at = self._adopted_at, self._adopted_at + PAGE_IDS_MAX
        rows = self._adopted[begin : self._adopted_at]
        return [row for row in rows if self._find(row[1]) is not None]

    def _living(self, entries: list[Entry]) -> list[Entry]:
        """Entries that are still here. A dead one may have a successor that stands for it."""
        living = (
            entry if entry.receive_count != DEAD else self._find(entry.sequence)
            for entry in entries
        )
        return [entry for entry in living if entry is not None]


def _differences(values: list[int]) -> list[int]:
    return list(map(operator.sub, values, chain((0,), values)))
