"""The row of an entry and the checksum in it, which proves the row when its page is damaged.

The checksum does not cover the message's id, which an update does not know; the body has it too.
"""

import struct
import zlib
from typing import Any, Final

from dovemq.core.entry import Entry

_pack: Final = struct.Struct("<8q").pack


def entry_crc32(place: tuple[int, int], entry: Entry) -> int:
    state = _pack(
        place[0],
        place[1],
        entry.sequence,
        entry.visible_ms,
        entry.sent_ms,
        entry.receive_count,
        entry.first_received_ms,
        entry.units,
    )
    group = entry.group
    # A group without a name is not the same as none.
    return zlib.crc32(state if group is None else state + b"g" + group.encode())


def entry_row(
    place: tuple[int, int], entry: Entry, adopted_id: str | None, message_id: str | None
) -> tuple[Any, ...]:
    """All columns of the table `entry`, in order."""
    return (
        *place,
        entry.sequence,
        entry.visible_ms,
        entry.sent_ms,
        entry.receive_count,
        entry.first_received_ms,
        entry.group,
        adopted_id,
        entry.units,
        message_id,
        entry_crc32(place, entry),
    )
