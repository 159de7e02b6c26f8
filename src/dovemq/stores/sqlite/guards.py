"""Checksums that entries carry, so that a row is trusted for itself and not for its page.

The state of an entry and the id of its message are guarded apart: an update knows the state alone.
"""

import struct
import zlib
from typing import Final

from dovemq.core.entry import Entry

_STATE: Final = struct.Struct("<8q")
_CRC32: Final = struct.Struct("<I")
_SEED_MASK: Final = 0xFFFF_FFFF


def entry_crc32(place: tuple[int, int], entry: Entry) -> int:
    state = _STATE.pack(
        *place,
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


def guard_id(sequence: int, message_id: str) -> bytes:
    text = message_id.encode()
    return _CRC32.pack(zlib.crc32(text, sequence & _SEED_MASK)) + text


def read_guarded_id(sequence: int, guarded: bytes | None) -> str | None:
    """The id, unless it is not there or not what was written."""
    if not guarded or len(guarded) <= _CRC32.size:
        return None
    text = guarded[_CRC32.size :]
    (crc32,) = _CRC32.unpack_from(guarded)
    return text.decode() if zlib.crc32(text, sequence & _SEED_MASK) == crc32 else None
