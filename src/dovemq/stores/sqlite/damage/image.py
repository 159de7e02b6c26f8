"""The pages of a database: the file with the log laid over it, and which pages can be trusted."""

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from dovemq.stores.sqlite.damage.frames import LogFrame, WriteAheadLog
from dovemq.stores.sqlite.seals import Mark, Sealed, page_seal

_FREELIST_AT = 32


class ImagePage(Struct, frozen=True):
    data: bytes
    sound: bool


class Image:
    """An open database file with its log.

    Close it only while the process has no connection to the database: closing any descriptor of
    a file drops the locks that SQLite holds on it.
    """

    def __init__(
        self, database: Path, page_bytes: int, sealed: Sealed | None, log: WriteAheadLog | None
    ) -> None:
        self._page_bytes = page_bytes
        self._sealed = sealed
        self._log = log
        synced = sealed.synced if sealed is not None else None
        self._kept = log.kept(synced) if log is not None else 0
        self._copied = _copied(sealed.checkpointed if sealed is not None else None, log)
        self._file = os.open(database, os.O_RDONLY | os.O_CLOEXEC) if database.exists() else -1
        size = os.fstat(self._file).st_size if self._file >= 0 else 0
        sealed_pages = len(sealed.seals) if sealed is not None else 0
        pages = max(-(-size // page_bytes), sealed_pages)
        self._newest = _newest(log, self._kept, pages)
        self.page_count = max(pages, *self._newest, 0)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def page(self, number: int) -> ImagePage | None:
        """The newest version of the page; None when there is none."""
        raw = self._raw(number)
        frame = self._newest.get(number)
        if frame is None or self._log is None:
            if raw is None:
                return None
            return ImagePage(raw, self._sealed is None or self._sealed.vouches(number, raw))
        if frame.number <= self._copied and raw is not None and self._is_sealed(number, raw):
            # Later frames of the page may have been lost from the log; the file has the newest.
            return ImagePage(raw, True)
        return ImagePage(self._log.page(frame), frame.whole)

    def data(self, number: int) -> bytes | None:
        page = self.page(number)
        return None if page is None else page.data

    def raw_data(self, number: int) -> bytes | None:
        """The page as it is in the file, without the log."""
        return self._raw(number)

    def unsound(self) -> Iterator[int]:
        """Numbers of pages that SQLite would read from the file and that do not match their seal.

        Pages that SQLite would read from the log are checked by the checksums of the log.
        """
        if self._sealed is None:
            return
        replayed = self._log.frames[: self._log.replayed] if self._log is not None else []
        logged = {frame.page_number for frame in replayed}
        for number in range(1, len(self._sealed.seals) + 1):
            if number in logged:
                continue
            raw = self._raw(number)
            if not self._sealed.vouches(number, raw or b""):
                yield number

    def older_pages(self) -> Iterator[tuple[int, bytes]]:
        """Every version of every page, in the file and in the log, free pages included."""
        for number in range(1, self.page_count + 1):
            raw = self._raw(number)
            if raw is not None:
                yield number, raw
        if self._log is not None:
            for frame in self._log.frames:
                yield frame.page_number, self._log.page(frame)

    def free_pages(self) -> set[int] | None:
        """Numbers of the free pages; None when their list is damaged."""
        first = self.page(1)
        if first is None or not first.sound:
            return None
        free: set[int] = set()
        trunk = int.from_bytes(first.data[_FREELIST_AT : _FREELIST_AT + 4], "big")
        while trunk:
            page = self.page(trunk)
            if page is None or not page.sound or trunk in free:
                return None
            free.add(trunk)
            count = int.from_bytes(page.data[4:8], "big")
            for at in range(8, min(8 + 4 * count, self._page_bytes), 4):
                free.add(int.from_bytes(page.data[at : at + 4], "big"))
            trunk = int.from_bytes(page.data[:4], "big")
        return free

    def _raw(self, number: int) -> bytes | None:
        if self._file < 0 or number < 1:
            return None
        try:
            data = os.pread(self._file, self._page_bytes, (number - 1) * self._page_bytes)
        except OSError:
            # The disk cannot read this page; it may read the others.
            return None
        return data if len(data) == self._page_bytes else None

    def _is_sealed(self, number: int, data: bytes) -> bool:
        sealed = self._sealed
        if sealed is None or number > len(sealed.seals):
            return False
        return sealed.seals[number - 1] == page_seal(data)


def _newest(log: WriteAheadLog | None, kept: int, pages: int) -> dict[int, LogFrame]:
    """The last kept frame of each page; impossible page numbers are skipped."""
    if log is None:
        return {}
    most = pages + len(log.frames)
    return {each.page_number: each for each in log.frames[:kept] if 0 < each.page_number <= most}


def _copied(checkpointed: Mark | None, log: WriteAheadLog | None) -> int:
    if checkpointed is None or log is None or checkpointed.salts != log.salts:
        return 0
    return checkpointed.frames
