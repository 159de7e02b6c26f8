"""Messages as records, and back.

The part of a message that never changes is one MessagePack record, which begins with the queue and
partition. Its crc32 is seeded with the sequence, so an intact record under a wrong sequence does
not pass either.
"""

import hashlib
import zlib
from typing import Any, Final

import msgspec

from dovemq.core.choosing import deduplication_key
from dovemq.core.message import Attribute, Message
from dovemq.core.queue import QueueSettings
from dovemq.stores.owned.group import BodyRow

_SEED_MASK: Final = 0xFFFF_FFFF

_OLDER_MARK: Final = 0x99
"""First byte of a record of an older release: an array of nine, without queue and partition."""

_Held = dict[str, tuple[str, Any]]
_Text = str | None
_Older = tuple[str, str, int, str, _Held, _Text, _Text, _Text, _Text]
_Record = tuple[int, int, str, str, int, str, _Held, _Text, _Text, _Text, _Text]


class DamagedRecord(Exception):
    """A record that does not match its checksum. Handled within the store."""


class RecordCodec:
    def __init__(self) -> None:
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(_Record).decode
        self._decode_older = msgspec.msgpack.Decoder(_Older).decode

    def row(self, message: Message, place: tuple[int, int]) -> BodyRow:
        attributes = message.attributes
        record = self._encode(
            (
                place[0],
                place[1],
                message.message_id,
                message.body,
                message.sent_ms,
                message.sender,
                {name: (held.type, held.value) for name, held in attributes.items()}
                if attributes
                else attributes,
                message.group,
                message.deduplication_id,
                message.xray_header,
                message.source,
            )
        )
        sequence = message.sequence
        return sequence, zlib.crc32(record, sequence & _SEED_MASK), record

    def message(self, row: BodyRow) -> Message:
        return self.placed(row)[1]

    def placed(self, row: BodyRow) -> tuple[tuple[int, int] | None, Message]:
        """The message, and its queue and partition unless an older release wrote it."""
        sequence, crc32, record = row
        if zlib.crc32(record, sequence & _SEED_MASK) != crc32:
            raise DamagedRecord
        place = None
        try:
            if record[0] == _OLDER_MARK:
                message_id, body, sent_ms, sender, held, *rest = self._decode_older(record)
            else:
                queue, partition, message_id, body, sent_ms, sender, held, *rest = self._decode(
                    record
                )
                place = (queue, partition)
        except (msgspec.DecodeError, IndexError):
            raise DamagedRecord from None
        attributes = {name: Attribute(*pair) for name, pair in held.items()} if held else {}
        return place, Message(message_id, sequence, body, sent_ms, sender, attributes, *rest)


def deduplication_digest(settings: QueueSettings, message: Message) -> bytes:
    text = deduplication_key(settings, message.group or "", message.deduplication_id or "")
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
