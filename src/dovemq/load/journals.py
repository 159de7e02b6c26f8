"""Journals: what senders and receivers saw, as one row for each message sent or received.

A row is written before its request, so that a client that is killed leaves no request without a
row. The answer is filled in when it arrives; a row without an answer may have been done or not.
Columns that the lifecycle trace has too have the same names.

Queues, senders and receivers are numbers within the run. Times are microseconds of one clock that
all clients of the run share.
"""

import enum
import hashlib
import struct
from pathlib import Path
from typing import ClassVar, Final, Literal, Self

import msgspec
import numpy as np
from msgspec import Struct

from dovemq.load.rows import CHUNK_ROWS, MEMORY_CHUNK_ROWS, Buffer, MappedFile, Slot

SUFFIX: Final = ".journal"
MAGIC: Final = b"dovemq journal 1"
HEAD_STEP_BYTES: Final = 65_536
"""The header is padded to a multiple of this, because a mapping must start at a page boundary."""
MESSAGE_ID_BYTES: Final = 36
"""The length of a UUID. A longer id is kept as its digest."""
HEAD_LENGTH: Final = struct.Struct("<I")

_WRITTEN: Final = 1
_OUTCOME_AT: Final = 1
"""The byte after the mark. It is written last, so that an answer is complete when it counts."""


class RequestOutcome(enum.IntEnum):
    """The result of a request, as far as its client knows."""

    NONE = 0
    """The request was not made: the message was received and not settled."""
    ACKNOWLEDGED = 1
    REFUSED = 2
    """The request was certainly not done."""
    UNKNOWN = 3
    """The request was done or not: its answer was lost, or is still to come."""


JournalKind = Literal["sender", "receiver"]


class JournalHeader(Struct, frozen=True):
    """The header of a journal. The number of a queue is its position in `queues`."""

    kind: JournalKind
    run: str
    queues: tuple[str, ...]


SEND: Final = np.dtype(
    [
        ("mark", "u1"),
        ("outcome", "u1"),
        ("spare", "u2"),
        ("queue", "<u4"),
        ("sender", "<u4"),
        ("body_crc32", "<u4"),
        ("send_seq", "<i8"),
        ("sent_us", "<i8"),
        ("answered_us", "<i8"),
        ("message_id", f"S{MESSAGE_ID_BYTES}"),
        ("bytes", "<u4"),
    ]
)
"""`answered_us` is 0 and `message_id` is empty until the answer arrives."""

RECEIVE: Final = np.dtype(
    [
        ("mark", "u1"),
        ("outcome", "u1"),
        ("spare", "u2"),
        ("queue", "<u4"),
        ("receiver", "<u4"),
        ("sender", "<u4"),
        ("body_crc32", "<u4"),
        ("receive_count", "<u4"),
        ("send_seq", "<i8"),
        ("asked_us", "<i8"),
        ("received_us", "<i8"),
        ("lease_until_us", "<i8"),
        ("settled_us", "<i8"),
        ("message_id", f"S{MESSAGE_ID_BYTES}"),
        ("bytes", "<u4"),
    ]
)
"""`asked_us` is when the receive was requested. Until `lease_until_us` no other client may get the
message. `outcome` is that of the settle; `settled_us` is when it was answered, or requested while
there is no answer."""

DTYPES: Final = {"sender": SEND, "receiver": RECEIVE}

_NONE: Final = int(RequestOutcome.NONE)
_ACKNOWLEDGED: Final = int(RequestOutcome.ACKNOWLEDGED)
_REFUSED: Final = int(RequestOutcome.REFUSED)
_UNKNOWN: Final = int(RequestOutcome.UNKNOWN)
"""Plain integers: an enumeration member costs as much to pack as the rest of a row."""

_SEND_ROW: Final = struct.Struct(f"<BBxxIIIqqq{MESSAGE_ID_BYTES}sI")
_SEND_ANSWER: Final = struct.Struct(f"<q{MESSAGE_ID_BYTES}s")
_SEND_ANSWER_AT: Final = 32
_RECEIVE_ROW: Final = struct.Struct(f"<BBxxIIIIIqqqqq{MESSAGE_ID_BYTES}sI")
_TIME: Final = struct.Struct("<q")
_SETTLED_AT: Final = 56


class _Journal:
    """A journal in a new file, or in memory if there is no path."""

    KIND: ClassVar[JournalKind]

    def __init__(self, run: str, queues: tuple[str, ...], path: Path | None = None) -> None:
        self.heading = JournalHeader(self.KIND, run, queues)
        self._dtype = DTYPES[self.KIND]
        self._file = MappedFile(path, head_of(self.heading)) if path else None
        self._row_bytes = self._dtype.itemsize
        self._chunk_bytes = self._row_bytes * (CHUNK_ROWS if path else MEMORY_CHUNK_ROWS)
        self._chunks: list[Buffer] = []
        self._next = self._chunk_bytes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __len__(self) -> int:
        used_bytes = (len(self._chunks) - 1) * self._chunk_bytes + self._next
        return used_bytes // self._row_bytes

    def close(self) -> None:
        if self._file:
            self._file.close(len(self) * self._row_bytes)

    def array(self) -> np.ndarray[tuple[int], np.dtype[np.void]]:
        """Returns a copy of the rows so far."""
        parts = [np.frombuffer(bytes(chunk), self._dtype) for chunk in self._chunks]
        return np.concatenate(parts)[: len(self)] if parts else np.empty(0, self._dtype)

    def _new_row(self) -> Slot:
        if self._next == self._chunk_bytes:
            new_chunk = self._file.new_chunk if self._file else bytearray
            self._chunks.append(new_chunk(self._chunk_bytes))
            self._next = 0
        at = self._next
        self._next += self._row_bytes
        return self._chunks[-1], at


class SenderJournal(_Journal):
    KIND = "sender"

    def sending(
        self, queue: int, sender: int, send_seq: int, body_crc32: int, size: int, now_us: int
    ) -> Slot:
        """Records a send before it is made; a repeated send has its own row."""
        slot = chunk, at = self._new_row()
        _SEND_ROW.pack_into(
            chunk, at, 0, _UNKNOWN, queue, sender, body_crc32, send_seq, now_us, 0, b"", size
        )
        chunk[at] = _WRITTEN
        return slot

    def acknowledged(self, slot: Slot, message_id: str, now_us: int) -> None:
        chunk, at = slot
        _SEND_ANSWER.pack_into(chunk, at + _SEND_ANSWER_AT, now_us, kept_id(message_id))
        chunk[at + _OUTCOME_AT] = _ACKNOWLEDGED

    def refused(self, slot: Slot, now_us: int) -> None:
        """Records that the service refused the message."""
        _finish(slot, _SEND_ANSWER_AT, now_us, _REFUSED)


class ReceiverJournal(_Journal):
    KIND = "receiver"

    def received(
        self,
        queue: int,
        receiver: int,
        sender: int,
        send_seq: int,
        message_id: str,
        body_crc32: int,
        size: int,
        receive_count: int,
        asked_us: int,
        received_us: int,
        lease_us: int,
    ) -> Slot:
        """Records a received message, before anything is done with it.

        `queue` is the queue that it was sent to. The lease starts after the receive was requested.
        """
        slot = chunk, at = self._new_row()
        _RECEIVE_ROW.pack_into(
            chunk,
            at,
            0,
            _NONE,
            queue,
            receiver,
            sender,
            body_crc32,
            receive_count,
            send_seq,
            asked_us,
            received_us,
            asked_us + lease_us,
            0,
            kept_id(message_id),
            size,
        )
        chunk[at] = _WRITTEN
        return slot

    def settling(self, slot: Slot, now_us: int) -> None:
        """Records a settle before it is requested."""
        _finish(slot, _SETTLED_AT, now_us, _UNKNOWN)

    def settled(self, slot: Slot, now_us: int) -> None:
        _finish(slot, _SETTLED_AT, now_us, _ACKNOWLEDGED)

    def settle_refused(self, slot: Slot, now_us: int) -> None:
        _finish(slot, _SETTLED_AT, now_us, _REFUSED)


def _finish(slot: Slot, time_at: int, now_us: int, outcome: int) -> None:
    chunk, at = slot
    _TIME.pack_into(chunk, at + time_at, now_us)
    chunk[at + _OUTCOME_AT] = outcome


def kept_id(message_id: str) -> bytes:
    encoded = message_id.encode()
    if len(encoded) <= MESSAGE_ID_BYTES:
        return encoded
    return hashlib.blake2b(encoded, digest_size=MESSAGE_ID_BYTES // 2).hexdigest().encode()


def head_of(heading: JournalHeader) -> bytes:
    text = msgspec.json.encode(heading)
    return (MAGIC + HEAD_LENGTH.pack(len(text)) + text).ljust(head_bytes(len(text)), b"\0")


def head_bytes(text_bytes: int) -> int:
    """Returns the offset of the rows after a header of that length."""
    used = len(MAGIC) + HEAD_LENGTH.size + text_bytes
    return -(-used // HEAD_STEP_BYTES) * HEAD_STEP_BYTES
