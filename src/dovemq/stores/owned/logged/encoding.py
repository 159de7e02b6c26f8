"""Groups of a log as bytes, and back.

    version (1 byte) │ crc32 of the rest (4 bytes) │ LogGroup as MessagePack

A group is the unit that is durable as a whole or not at all. Its parts take effect in this order:
deletes, sends, moved messages, leases, forgotten deduplication ids. Bytes that were damaged, or
written by a newer release, are refused by an error of their own: nothing is guessed from them.
"""

import struct
import zlib
from typing import Final

import msgspec
from msgspec import Struct

VERSION: Final = 1

_HEADER: Final = struct.Struct(">BI")

LeaseRow = tuple[int, int, int, int]
"""Sequence, visible_ms, receive_count, first_received_ms."""

KeyRow = tuple[bytes, str, int, int]
"""Deduplication key, message id, sequence, the time at which it expires."""

AdoptedRow = tuple[bytes, int]
"""Digest of the id of an adopted message, and its sequence."""

SegmentRow = tuple[int, int, int]
"""Number of a segment, its bytes, the messages that were sent or moved into it."""


class GroupUnreadable(Exception):
    """The bytes at a position of a log are not a group that this release can read."""

    def __init__(self, found: str) -> None:
        super().__init__(found)
        self.found = found


class GroupDamaged(GroupUnreadable):
    pass


class GroupOfNewerRelease(GroupUnreadable):
    def __init__(self, version: int) -> None:
        super().__init__(f"a group of version {version}, newer than {VERSION}: use a newer release")
        self.version = version


class LoggedSend(Struct, array_like=True, frozen=True, gc=False):
    """A message with the state of its entry. `message_id` is set if `key` or `adopted` is."""

    sequence: int
    visible_ms: int
    sent_ms: int
    receive_count: int
    first_received_ms: int
    group: str | None
    units: int
    crc32: int
    record: bytes
    key: bytes | None = None
    adopted: bool = False
    message_id: str | None = None


class SnapshotPage(Struct, array_like=True, frozen=True):
    """A part of a snapshot of the index; `snapshot.py` makes and reads its entries.

    `snapshot` is the position of page 0 and names the snapshot. Page 0 has the segments that were
    there before it. Known ids are in pages too, so that no send has to be read again.
    """

    snapshot: int
    number: int
    last: bool
    entries: bytes = b""
    keys: list[KeyRow] = []
    adopted: list[AdoptedRow] = []
    segments: list[SegmentRow] = []


class LogGroup(Struct, array_like=True, frozen=True):
    """One group of a log.

    `at_ms` is the time of the append. `moved` are messages that cleaning appends again with the
    state of now; the earlier copy no longer counts. `forgotten_ms`: keys of messages sent before
    this time are forgotten. `seal` is in the first group of an epoch only: groups of earlier epochs
    beyond this position are void (see `seals.py`).
    """

    at_ms: int
    deletes: list[int] = []
    sends: list[LoggedSend] = []
    moved: list[LoggedSend] = []
    leases: list[LeaseRow] = []
    forgotten_ms: int = 0
    seal: int | None = None
    page: SnapshotPage | None = None


class GroupCodec:
    def __init__(self) -> None:
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(LogGroup).decode

    def encode(self, group: LogGroup) -> bytes:
        body = self._encode(group)
        return _HEADER.pack(VERSION, zlib.crc32(body)) + body

    def decode(self, data: bytes) -> LogGroup:
        """Raises `GroupUnreadable`."""
        if len(data) < _HEADER.size:
            raise GroupDamaged(f"{len(data)} bytes, fewer than a header has")
        version, crc32 = _HEADER.unpack_from(data)
        body = memoryview(data)[_HEADER.size :]
        if version > VERSION:
            # A flipped bit looks the same: the checksum covers the body alone, in every version.
            if zlib.crc32(body) == crc32:
                raise GroupOfNewerRelease(version)
            raise GroupDamaged("the checksum does not match")
        if version != VERSION or zlib.crc32(body) != crc32:
            raise GroupDamaged("the checksum does not match")
        try:
            return self._decode(body)
        except msgspec.DecodeError as error:
            raise GroupDamaged(f"the checksum matches, the contents do not: {error}") from None
