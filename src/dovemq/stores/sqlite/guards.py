"""The checksum that an entry carries, so that a row is trusted for itself and not for its page.

It does not cover the message's id, which an update does not know; the body has that too.
"""

import struct
import zlib
from typing import Final

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
