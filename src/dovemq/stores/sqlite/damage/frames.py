"""Reads the frames of a write-ahead log and checks each one on its own.

    log:    header (with salts) | frame 1 | frame 2 | …
    frame:  page number | pages of the database, if it ends a commit | salts | checksum | page

The checksum of a frame continues that of the frame before. SQLite stops at the first frame whose
checksum is wrong and ignores the rest. Here a frame is also checked with the checksum that is
stored in the frame before it, so that one damaged frame does not hide those after it.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from dovemq.stores.sqlite.seals import (
    FRAME_HEADER_BYTES,
    LOG_HEADER_BYTES,
    SALTS_BYTES,
    SALTS_OFFSET,
    Mark,
)

MENDED_MAX: Final = 64
"""Wrong frames for which every single bit of the header is flipped to find the right one."""

_MAGIC_LITTLE: Final = 0x377F0682
_MAGIC_BIG: Final = 0x377F0683
_CHECKED_HEADER_BYTES: Final = 24
_GUARDED_BYTES: Final = 8
"""Bytes of a frame's header that its checksum covers: page number and size of the database."""
_SUM_MASK: Final = 0xFFFF_FFFF
_NUMBERS: Final = struct.Struct(">II")

Sums = tuple[int, int]


class LogFrame(Struct, frozen=True):
    """A frame and what its checksum says.

    `commit_pages` is not 0 in the last frame of a commit. A frame that is not `whole` has a wrong
    page number or a wrong page. A frame that is whole but not `clean` had a header that could be
    repaired.
    """

    number: int
    """Counted from 1."""
    page_number: int
    commit_pages: int
    whole: bool
    clean: bool


class WriteAheadLog(Struct, frozen=True):
    """A log. `replayed` is how many frames SQLite would use: those up to the last commit before the
    first wrong frame."""

    salts: bytes
    frames: list[LogFrame]
    replayed: int
    header_whole: bool
    data: bytes
    page_bytes: int

    def page(self, frame: LogFrame) -> bytes:
        start = _frame_start(frame.number, self.page_bytes) + FRAME_HEADER_BYTES
        return self.data[start : start + self.page_bytes]

    def kept(self, synced: Mark | None) -> int:
        """The number of frames up to the last commit that may have been answered.

        Frames that the mark covers were synced. Beyond the mark, a commit that is not whole was
        being written when the power failed; it was not answered, and what follows it is older. Only
        if a single frame is wrong and whole commits follow it was the frame damaged later.
        """
        commits = [frame.number for frame in self.frames if frame.commit_pages]
        answered = self._answered(synced)
        if not commits:
            return answered
        wrong = sum(not frame.clean for frame in self.frames[: commits[-1]])
        if wrong + (not self.header_whole) > 1:
            return max(self.replayed, answered)
        before = commits[-2] if len(commits) > 1 else 0
        newest = self.frames[before : commits[-1]]
        # The header is synced before the first commit is answered.
        whole = (self.header_whole or before) and all(frame.whole for frame in newest)
        return max(commits[-1] if whole else before, answered)

    def _answered(self, synced: Mark | None) -> int:
        if synced is None or synced.salts != self.salts:
            return 0
        return min(synced.frames, len(self.frames))


def read_log(path: Path, page_bytes: int, synced: Mark | None) -> WriteAheadLog | None:
    """The log; None when it is missing or empty."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    if len(data) <= LOG_HEADER_BYTES:
        return None
    magic = int.from_bytes(data[:4], "big")
    word = ">" if magic == _MAGIC_BIG else "<"
    sums = _sums(data[:_CHECKED_HEADER_BYTES], (0, 0), word)
    stored = _NUMBERS.unpack_from(data, _CHECKED_HEADER_BYTES)
    whole = magic in (_MAGIC_LITTLE, _MAGIC_BIG) and sums == stored
    count = (len(data) - LOG_HEADER_BYTES) // (FRAME_HEADER_BYTES + page_bytes)
    salts = data[SALTS_OFFSET : SALTS_OFFSET + SALTS_BYTES]
    if not whole:
        salts = _salts_of_frames(data, count, page_bytes, synced)
        if not any(salts):
            return None
    last = _last_current(data, salts, count, page_bytes)
    if synced is not None and synced.salts == salts:
        # The last frame may have damaged salts.
        last = max(last, min(count, synced.frames))
    judge = _Judge(data, page_bytes, word, salts)
    frames = list(judge.frames(last, (sums, stored)))
    return WriteAheadLog(salts, frames, judge.replayed if whole else 0, whole, data, page_bytes)


class _Judge:
    def __init__(self, data: bytes, page_bytes: int, word: str, salts: bytes) -> None:
        self._data = data
        self._page_bytes = page_bytes
        self._word = word
        self._salts = salts
        self.replayed = 0
        self._mending_left = MENDED_MAX

    def frames(self, last: int, before: tuple[Sums, Sums]) -> Iterator[LogFrame]:
        """`before`: the checksum before the first frame, as computed and as stored."""
        strict = True
        for number in range(1, last + 1):
            start = _frame_start(number, self._page_bytes)
            header = self._data[start : start + FRAME_HEADER_BYTES]
            page = start + FRAME_HEADER_BYTES
            content = self._data[page : page + self._page_bytes]
            stored = _NUMBERS.unpack_from(header, SALTS_OFFSET)
            numbers, whole, computed = self._judged(header, content, before, stored)
            clean = (
                whole
                and self._salts == header[SALTS_BYTES : 2 * SALTS_BYTES]
                and numbers == header[:_GUARDED_BYTES]
            )
            strict = strict and clean and computed == stored and before[0] == before[1]
            page_number, commit_pages = _NUMBERS.unpack(numbers)
            if strict and commit_pages:
                self.replayed = number
            before = (computed, stored)
            yield LogFrame(number, page_number, commit_pages, whole, clean)

    def _judged(
        self, header: bytes, content: bytes, before: tuple[Sums, Sums], stored: Sums
    ) -> tuple[bytes, bool, Sums]:
        numbers = header[:_GUARDED_BYTES]
        computed = (0, 0)
        for seed in dict.fromkeys(before):
            computed = _sums(content, _sums(numbers, seed, self._word), self._word)
            if computed == stored:
                return numbers, True, computed
        if not self._mending_left:
            return numbers, False, computed
        self._mending_left -= 1
        for seed in dict.fromkeys(before):
            for bit in range(8 * _GUARDED_BYTES):
                mended = _flipped(numbers, bit)
                if _sums(content, _sums(mended, seed, self._word), self._word) == stored:
                    return mended, True, stored
        return numbers, False, computed


def _salts_of_frames(data: bytes, count: int, page_bytes: int, synced: Mark | None) -> bytes:
    """The salts of a log whose header is damaged.

    The first frame always belongs to the newest log. If its salts are lost too, those of the mark
    count if the second frame has them; a mark may be older than the log.
    """
    first, second = (_salts_of(data, number, page_bytes) for number in (1, 2))
    if count and any(first):
        return first
    return second if count > 1 and synced is not None and synced.salts == second else b""


def _last_current(data: bytes, salts: bytes, count: int, page_bytes: int) -> int:
    """The last frame with these salts; frames after it are left of an older log."""
    for number in range(count, 0, -1):
        if _salts_of(data, number, page_bytes) == salts:
            return number
    return 0


def _salts_of(data: bytes, number: int, page_bytes: int) -> bytes:
    start = _frame_start(number, page_bytes) + SALTS_BYTES
    return data[start : start + SALTS_BYTES]


def _frame_start(number: int, page_bytes: int) -> int:
    return LOG_HEADER_BYTES + (number - 1) * (FRAME_HEADER_BYTES + page_bytes)


def _sums(data: bytes, seed: Sums, word: str) -> Sums:
    """SQLite's checksum for logs: two sums over pairs of 32-bit words."""
    first, second = seed
    words = iter(struct.unpack(f"{word}{len(data) // 4}I", data))
    for even, odd in zip(words, words, strict=True):
        first = (first + even + second) & _SUM_MASK
        second = (second + odd + first) & _SUM_MASK
    return first, second


def _flipped(data: bytes, bit: int) -> bytes:
    return (int.from_bytes(data, "big") ^ (1 << bit)).to_bytes(len(data), "big")
