"""Replay: the groups of a log, in order of position, become the state of a partition.

The state is that of the log's *tail*, from the bookmark on. Without a bookmark this is all. With
one, a snapshot of the index began at the bookmark; its pages stay bytes here, and `loading.py` puts
them under the tail: what the tail says of a message is newer than what a page says.

Void groups are skipped (`seals.py`). The last group that counts is kept back: it is in doubt, and
takes effect where the new owner appends it again, as part of the seal. Rows that come twice,
deletes of unknown messages and leases of deleted ones do no harm. Pure.
"""

from msgspec import Struct

from dovemq.core.entry import Entry
from dovemq.stores.owned.logged.encoding import (
    GroupCodec,
    LeaseRow,
    LoggedSend,
    LogGroup,
    SnapshotPage,
)
from dovemq.stores.owned.logged.identities import Identities
from dovemq.stores.owned.logged.seals import Seals
from dovemq.stores.owned.logged.segments import Segments


class InDoubt(Struct, frozen=True):
    """The last group that a new owner found, and the last position before it that counts."""

    end: int
    position: int
    group: LogGroup


class LogReplay:
    """`bookmark` is 0 if there is no snapshot to build on."""

    def __init__(self, segments: Segments, bookmark: int, seals: Seals) -> None:
        self.bookmark = bookmark
        self.segments = segments
        self.identities = Identities()
        self.sends: dict[int, Entry] = {}
        """Messages that were sent or moved in the tail, and are still here."""
        self.gone: set[int] = set()
        """Deleted messages that a page of the snapshot may have."""
        self.leases: dict[int, LeaseRow] = {}
        """Newest leases of messages that only the snapshot has."""
        self.pages: dict[int, SnapshotPage] = {}
        self.snapshot_bytes = self.tail_bytes = 0
        """The size of the snapshot's pages, and of all other groups."""
        self.first_ms: int | None = None
        """The time of the first group that counts."""
        self.snapshot_ms = 0
        """The time of the snapshot's oldest page that was found."""
        self._seals = seals
        self._codec = GroupCodec()
        self._kept_back: tuple[int, LogGroup, int] | None = None
        self._end = max(0, bookmark - 1)

    def take(self, position: int, data: bytes) -> None:
        """Replay the next group of the log. Raises `GroupUnreadable`."""
        if not self._seals.count(position):
            return
        group = self._codec.decode(data)
        if self.first_ms is None:
            self.first_ms = group.at_ms
        if self._kept_back is not None:
            self._end = self._kept_back[0]
            self._apply(*self._kept_back)
        self._kept_back = (position, group, len(data))

    def in_doubt(self) -> InDoubt:
        """The contents that the seal must have; an empty group if the log is empty."""
        if self._kept_back is None:
            return InDoubt(self._end, self._end, LogGroup(0))
        position, group, _ = self._kept_back
        return InDoubt(self._end, position, group)

    def take_effect(self, position: int, group: LogGroup) -> None:
        """Let a group change the state; `position` is where it is durable."""
        for sequence in group.deletes:
            self._delete(sequence)
        for row in group.sends:
            self._send(row)
        for row in group.moved:
            self._move(row, position)
        for lease in group.leases:
            self._lease(lease)
        if group.forgotten_ms:
            self.identities.forget(group.forgotten_ms)
        if group.page is not None and group.page.snapshot == self.bookmark:
            self._keep(group.page, group.at_ms)

    def _apply(self, position: int, group: LogGroup, size: int) -> None:
        self.segments.appended(position, size, [row.sequence for row in group.sends])
        if group.page is not None and group.page.snapshot == self.bookmark:
            self.snapshot_bytes += size
        else:
            self.tail_bytes += size
        self.take_effect(position, group)

    def is_complete(self) -> bool:
        """Whether all pages of the snapshot were found, if there is one."""
        if not self.bookmark:
            return True
        last = max((number for number, page in self.pages.items() if page.last), default=None)
        return last is not None and len(self.pages) == last + 1

    def _delete(self, sequence: int) -> None:
        if self.sends.pop(sequence, None) is not None:
            self.segments.removed(sequence)
        if self.bookmark:
            self.gone.add(sequence)
            self.leases.pop(sequence, None)

    def _send(self, row: LoggedSend) -> None:
        self.sends[row.sequence] = entry_of(row)
        self.identities.note(row)

    def _move(self, row: LoggedSend, position: int) -> None:
        sequence = row.sequence
        if sequence in self.gone:
            return
        self.segments.moved(sequence, position, known=sequence in self.sends)
        self.sends[sequence] = entry_of(row)
        self.leases.pop(sequence, None)
        self.identities.note(row)

    def _lease(self, lease: LeaseRow) -> None:
        entry = self.sends.get(lease[0])
        if entry is not None:
            _, entry.visible_ms, entry.receive_count, entry.first_received_ms = lease
        elif self.bookmark and lease[0] not in self.gone:
            self.leases[lease[0]] = lease

    def _keep(self, page: SnapshotPage, at_ms: int) -> None:
        self.snapshot_ms = self.snapshot_ms or at_ms
        self.pages[page.number] = page
        self.identities.restore(page.keys)
        self.identities.restore_adopted(page.adopted)
        self.segments.known(page.segments)


def entry_of(row: LoggedSend) -> Entry:
    return Entry(
        row.sequence,
        row.visible_ms,
        row.sent_ms,
        row.receive_count,
        row.first_received_ms,
        row.group,
        row.units,
    )
