"""Seals: a file beside the database with a checksum of every page, and marks of its log.

    header, 4,096 bytes:  magic, schema version, root pages
                          mark "synced"         after each commit, not synced
                          mark "checkpointed"   after each checkpoint, synced
    then 4 bytes a page:  crc32 of page 1, 2, …; 0: not sealed

Invariant: every page can be checked at any moment, by its seal or by the log. A checkpoint copies
pages from the log to the database; these are sealed, and the seals are synced, before the next
commit may write over the log. A page that is in the log is checked by the log's own checksums.

The mark "synced" says how far the log was synced, so that a log that was cut short is noticed. It
is written after that sync, so it is never ahead of the disk. It is not synced itself: after a power
loss it may be old, after a crash of the process alone it is exact.

This module writes; `damage.examination` compares.
"""

import contextlib
import errno
import json
import logging
import mmap
import os
import struct
import sys
import zlib
from array import array
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from dovemq.stores.sqlite.directory import SEALS_NAME
from dovemq.system.private_files import open_private, sync_directory

LOG_HEADER_BYTES: Final = 32
FRAME_HEADER_BYTES: Final = 24
SALTS_OFFSET: Final = 16
SALTS_BYTES: Final = 8

GROWTH_PAGES: Final = 1 << 14

_MAGIC: Final = b"DOVESEAL"
_HEADER_BYTES: Final = 4_096
_HEADER: Final = struct.Struct("<8sIIII")
_MARK: Final = struct.Struct("<8sIQI")
_FRAMES: Final = struct.Struct("<IQ")
_MARK_AT: Final = 64
_CHECKPOINT_AT: Final = 128
_PAGES_AT: Final = 192
_PAGES: Final = struct.Struct("<II")
_DESCRIBED_AT: Final = 256
_VERSION: Final = 1
_SEAL_BYTES: Final = 4
_NO_SALTS: Final = bytes(SALTS_BYTES)

_log = logging.getLogger(__name__)


class Mark(Struct, frozen=True):
    """A position in the log with these salts, and how many messages were stored then."""

    salts: bytes
    frames: int
    messages: int = 0


class Sealed(Struct, frozen=True):
    """The contents of a file of seals. `seals[n - 1]` is that of page n; 0: not sealed."""

    page_bytes: int
    schema_version: int
    roots: Mapping[str, int]
    """The first page of every table, by its name."""
    seals: "array[int]"
    synced: Mark | None
    """The frame up to which the log was synced, at least; None when the mark is damaged."""
    checkpointed: Mark | None
    """The frame up to which the log was copied into the sealed pages."""

    def vouches(self, number: int, page: bytes) -> bool:
        """Whether the page matches its seal or has none."""
        sealed = self.seals[number - 1] if number <= len(self.seals) else 0
        return not sealed or page_seal(page) == sealed


def page_seal(page: bytes | memoryview) -> int:
    return zlib.crc32(page) or 1


def read_seals(path: Path) -> Sealed | None:
    """The seals; None when the file is missing or its header is damaged."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    if len(data) < _HEADER_BYTES:
        return None
    magic, version, page_bytes, length, crc32 = _HEADER.unpack_from(data)
    described = data[_DESCRIBED_AT : _DESCRIBED_AT + length]
    if magic != _MAGIC or version != _VERSION or crc32 != zlib.crc32(described, page_bytes):
        return None
    pages, pages_crc32 = _PAGES.unpack_from(data, _PAGES_AT)
    held = data[_HEADER_BYTES : _HEADER_BYTES + _SEAL_BYTES * pages]
    if pages_crc32 != _number_crc32(pages) or len(held) != _SEAL_BYTES * pages:
        return None
    known = json.loads(described)
    return Sealed(
        page_bytes,
        known["version"],
        known["roots"],
        _words(held),
        _read_mark(data, _MARK_AT),
        _read_mark(data, _CHECKPOINT_AT),
    )


class SealFile:
    """The open file of seals. Only the thread that commits and checkpoints writes it."""

    def __init__(self, database: Path) -> None:
        self._path = database
        self._log_path = database.with_name(database.name + "-wal")
        self._database = self._log = -1
        self._salts = _NO_SALTS
        self._salts_crc32 = 0
        self._salts_may_change = True
        self._frames_sealed = 0
        self._pages = 0
        self._page_bytes = 0
        self._capacity = 0
        self._void = False
        path = database.with_name(SEALS_NAME)
        is_new = not path.exists()
        self._file = -1
        try:
            self._file = open_private(path, os.O_RDWR | os.O_CREAT)
            if is_new:
                sync_directory(database.parent)
            self._map = self._grown(0)
        except OSError as error:
            self._give_up(error)

    def begin(
        self, known: Sealed | None, page_bytes: int, schema_version: int, roots: Mapping[str, int]
    ) -> None:
        """Go on from known seals, or seal all pages of the database as they are."""
        if self._void:
            return
        self._page_bytes = page_bytes
        # Closed after the last connection: closing any descriptor of a file drops SQLite's locks.
        self._database = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        self._log = os.open(self._log_path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if known is not None and known.page_bytes == page_bytes:
                self._pages = len(known.seals)
                self._reserve(self._pages)
            else:
                # The marks too: they belong to another log.
                self._map[:_HEADER_BYTES] = bytes(_HEADER_BYTES)
                self._seal_file()
        except OSError as error:
            self._give_up(error)
            return
        text = json.dumps({"version": schema_version, "roots": roots}).encode()
        crc32 = zlib.crc32(text, self._page_bytes)
        self._map[_DESCRIBED_AT : _DESCRIBED_AT + len(text)] = text
        header = (_MAGIC, _VERSION, self._page_bytes, len(text), crc32)
        _HEADER.pack_into(self._map, 0, *header)
        self._write_pages()
        os.fdatasync(self._file)

    def committed(self, frames: int, messages: int) -> None:
        """Note that the log is synced up to this frame, with so many messages stored."""
        if self._void:
            return
        if self._salts_may_change:
            self._read_salts()
        self._write_mark(_MARK_AT, frames, messages)

    def checkpointed(self, frames: int) -> None:
        """Seal the pages that a checkpoint has copied from the log, up to this frame."""
        if self._void or not frames:
            return
        self._read_salts()
        try:
            self._seal_frames(self._frames_sealed, frames)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            self._give_up(error)
            return
        self._frames_sealed = frames
        self._write_mark(_CHECKPOINT_AT, frames, 0)
        os.fdatasync(self._file)

    def close(self) -> None:
        if not self._void:
            self._map.close()
            os.close(self._file)
        for file in (self._log, self._database):
            if file >= 0:
                os.close(file)
        self._void, self._log, self._database = True, -1, -1

    def unsound(self) -> list[int]:
        """Numbers of pages that do not match their seal; a page that is being written may be among
        them. May be called by any thread.
        """
        return [] if self._void else self._compared(range(1, self._pages + 1))

    def still_unsound(self, numbers: Sequence[int]) -> list[int]:
        """The pages that still do not match and are not in the log. For the writer thread."""
        if self._void or not numbers:
            return []
        logged = self._logged()
        return self._compared([number for number in numbers if number not in logged])

    def _compared(self, numbers: Sequence[int]) -> list[int]:
        # Not through the map: the writer thread may replace that meanwhile.
        held = os.pread(self._file, _SEAL_BYTES * self._pages, _HEADER_BYTES)
        seals = _words(held[: len(held) - len(held) % _SEAL_BYTES])
        return [
            number
            for number in numbers
            if number <= len(seals)
            and seals[number - 1] not in (0, page_seal(self._read_page(number)))
        ]

    def _logged(self) -> Collection[int]:
        """Numbers of the pages that are in the log."""
        if self._log < 0 and self._log_path.exists():
            self._log = os.open(self._log_path, os.O_RDONLY | os.O_CLOEXEC)
        stride = FRAME_HEADER_BYTES + self._page_bytes
        size = os.fstat(self._log).st_size if self._log >= 0 else 0
        frames = max(0, size - LOG_HEADER_BYTES) // stride
        if not frames:
            return ()
        with mmap.mmap(self._log, 0, access=mmap.ACCESS_READ) as log, memoryview(log) as view:
            salts = bytes(view[SALTS_OFFSET : SALTS_OFFSET + SALTS_BYTES])
            current = 0
            for start in range(LOG_HEADER_BYTES + SALTS_BYTES, size - SALTS_BYTES, stride):
                if bytes(view[start : start + SALTS_BYTES]) != salts:
                    break
                current += 1
            return _newest(view, 0, min(current, frames), stride)

    def _write_mark(self, at: int, frames: int, messages: int) -> None:
        crc32 = zlib.crc32(_FRAMES.pack(frames, messages), self._salts_crc32)
        _MARK.pack_into(self._map, at, self._salts, frames, messages, crc32)

    def _read_salts(self) -> None:
        salts = os.pread(self._log, SALTS_BYTES, SALTS_OFFSET)
        if salts != self._salts:
            self._salts = salts
            self._salts_crc32 = zlib.crc32(salts)
            self._frames_sealed = 0
            # The log starts again only after a checkpoint has copied all of it.
            self._salts_may_change = False

    def _seal_frames(self, done: int, frames: int) -> None:
        stride = FRAME_HEADER_BYTES + self._page_bytes
        self._salts_may_change = True
        with mmap.mmap(self._log, 0, access=mmap.ACCESS_READ) as log, memoryview(log) as view:
            if done >= frames:
                return
            newest = _newest(view, done, frames, stride)
            self._reserve(max(newest))
            for number, frame in newest.items():
                start = LOG_HEADER_BYTES + frame * stride + FRAME_HEADER_BYTES
                with view[start : start + self._page_bytes] as page:
                    self._put(number, page_seal(page))
        self._write_pages()

    def _seal_file(self) -> None:
        count = os.fstat(self._database).st_size // self._page_bytes
        self._reserve(count)
        for number in range(1, count + 1):
            self._put(number, page_seal(self._read_page(number)))

    def _read_page(self, number: int) -> bytes:
        return os.pread(self._database, self._page_bytes, (number - 1) * self._page_bytes)

    def _put(self, number: int, seal: int) -> None:
        at = _HEADER_BYTES + _SEAL_BYTES * (number - 1)
        self._map[at : at + _SEAL_BYTES] = seal.to_bytes(_SEAL_BYTES, "little")
        if number > self._pages:
            self._pages = number

    def _write_pages(self) -> None:
        _PAGES.pack_into(self._map, _PAGES_AT, self._pages, _number_crc32(self._pages))

    def _reserve(self, pages: int) -> None:
        if pages > self._capacity:
            self._map.close()
            self._map = self._grown(pages)

    def _grown(self, pages: int) -> mmap.mmap:
        """Map the file for at least so many pages.

        The space is allocated first: writing to a map on a full disk would kill the process.
        """
        capacity = (pages // GROWTH_PAGES + 1) * GROWTH_PAGES
        length = _HEADER_BYTES + _SEAL_BYTES * capacity
        os.posix_fallocate(self._file, 0, length)
        self._capacity = capacity
        return mmap.mmap(self._file, length)

    def _give_up(self, error: OSError) -> None:
        """Stop sealing and void the file; the next start checks all pages and seals them again."""
        _log.warning("pages cannot be sealed (%s): the next start checks all of them", error)
        if not self._void:
            self._void = True
            with contextlib.suppress(OSError):
                os.pwrite(self._file, bytes(_HEADER.size), 0)
                os.close(self._file)


def _newest(view: memoryview, done: int, frames: int, stride: int) -> dict[int, int]:
    """The last of these frames for each page number; frames are counted from 0."""
    start = LOG_HEADER_BYTES + done * stride
    end = LOG_HEADER_BYTES + frames * stride
    with view[start:end] as part, part.cast("I") as words:
        numbers = array("I", words[:: stride // _SEAL_BYTES].tolist())
    if sys.byteorder == "little":
        numbers.byteswap()
    return {number: frame for frame, number in enumerate(numbers, start=done)}


def _read_mark(data: bytes, at: int) -> Mark | None:
    salts, frames, messages, crc32 = _MARK.unpack_from(data, at)
    if zlib.crc32(_FRAMES.pack(frames, messages), zlib.crc32(salts)) != crc32:
        return None if any(data[at : at + _MARK.size]) else Mark(_NO_SALTS, 0)
    return Mark(salts, frames, messages)


def _words(data: bytes) -> "array[int]":
    words = array("I", data)
    if sys.byteorder == "big":
        words.byteswap()
    return words


def _number_crc32(number: int) -> int:
    return zlib.crc32(number.to_bytes(4, "little"))
