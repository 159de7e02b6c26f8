"""Turns the work of one commit into groups of a log of bounded size.

The messages of one request stay in one group, since they become durable together; so a group may be
as long as the longest request. Everything else is divided freely. The order of all rows is that of
the commit in the embedded store: deletes, sends, leases, forgotten deduplication ids. Deletes are
first because a message that is settled here may be adopted again in the same commit.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from dovemq.core.entry import DEAD, Entry
from dovemq.stores.owned.group import CommitGroup, Sending, SendItem
from dovemq.stores.owned.logged.encoding import LeaseRow, LoggedSend, LogGroup

GROUP_BYTES_AIM: Final = 256 * 1024
"""Groups are not filled beyond this size; the messages of one request may be longer alone."""
SEND_BYTES: Final = 64
"""Assumed size of a send without its record."""
DELETE_BYTES: Final = 9
LEASE_BYTES: Final = 28

_Part = int | list[LoggedSend] | LeaseRow
"""A delete, the messages of one request, a lease."""


class _Filling:
    """Lists of a group that is being filled, and their approximate size in bytes."""

    def __init__(self) -> None:
        self.deletes: list[int] = []
        self.sends: list[LoggedSend] = []
        self.leases: list[LeaseRow] = []
        self.size = 0

    def closed(self, at_ms: int, forgotten_ms: int = 0) -> LogGroup:
        return LogGroup(
            at_ms, self.deletes, self.sends, leases=self.leases, forgotten_ms=forgotten_ms
        )


def divided(group: CommitGroup, at_ms: int, *, sends: bool = True) -> list[LogGroup]:
    """The groups to append, one after the other; none if there is nothing to write.

    With `sends` False the messages to be sent are left out: the store has no space for them.
    """
    filling, closed = _Filling(), []
    for part in _parts(group, sends=sends):
        size = _size(part)
        if filling.size and filling.size + size > GROUP_BYTES_AIM:
            closed.append(filling.closed(at_ms))
            filling = _Filling()
        filling.size += size
        if isinstance(part, int):
            filling.deletes.append(part)
        elif isinstance(part, list):
            filling.sends += part
        else:
            filling.leases.append(part)
    forgotten_ms = max((before_ms for _, before_ms in group.forgets), default=0)
    if filling.size or forgotten_ms:
        closed.append(filling.closed(at_ms, forgotten_ms))
    return closed


def logged_send(item: SendItem, *, adopted: bool) -> LoggedSend:
    """The row of a message. The entry is copied, because the loop goes on changing it."""
    entry = item.entry
    _, crc32, record = item.body
    named = adopted or item.key is not None
    return LoggedSend(
        entry.sequence,
        entry.visible_ms,
        entry.sent_ms,
        entry.receive_count,
        entry.first_received_ms,
        entry.group,
        entry.units,
        crc32,
        record,
        item.key,
        adopted,
        item.message.message_id if named else None,
    )


def _size(part: _Part) -> int:
    if isinstance(part, int):
        return DELETE_BYTES
    if isinstance(part, list):
        return sum(len(row.record) + SEND_BYTES for row in part)
    return LEASE_BYTES


def _parts(group: CommitGroup, *, sends: bool) -> Iterator[_Part]:
    for _, _, sequence in (*group.deletes, *group.expired):
        yield sequence
    if sends:
        yield from filter(None, map(_rows, group.sendings))
    yield from _leases(entry for _, entry in group.touched.values())


def _rows(sending: Sending) -> list[LoggedSend]:
    return [logged_send(item, adopted=sending.adopted) for item in sending.items if item.accepted]


def _leases(entries: Iterable[Entry]) -> Iterator[LeaseRow]:
    for entry in entries:
        if entry.receive_count != DEAD:
            yield (
                entry.sequence,
                entry.visible_ms,
                entry.receive_count,
                entry.first_received_ms,
            )
