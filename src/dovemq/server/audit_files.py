"""The files of the audit log: appended and synced, cut at a size, their number bounded.

Does its I/O where it is called: not on the loop. One thread appends at a time; reading needs no
leave of it.
"""

import contextlib
import functools
import io
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec
from msgspec import Struct

from dovemq.core.errors import StoreUnusable

NAME: Final = "audit.jsonl"
TAIL_BYTES: Final = 64 << 10
"""Longer than any line."""
_FULL: Final = re.compile(r"audit-([0-9]{12})\.jsonl", re.ASCII)
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC


class _Numbered(Struct, frozen=True):
    sequence: int


class AuditFiles:
    """`bytes_max` is the size of one file, `files_max` how many there are with the current one."""

    def __init__(self, directory: Path, *, bytes_max: int, files_max: int) -> None:
        self._directory = directory
        self._path = directory / NAME
        self._bytes_max = bytes_max
        self._files_max = files_max
        self._size = 0
        self._first: int | None = None
        try:
            self._descriptor = self._open()
            self._drop_half_line()
            self.last_sequence = self._find_last()
        except OSError as error:
            found = f"cannot be written ({error.strerror})"
            raise StoreUnusable(str(self._path), found, "make it writable") from None

    def append(self, lines: Sequence[tuple[int, bytes]]) -> None:
        """All of them, durably; or an OSError, and none of them counts as written."""
        data = b"".join(line for _, line in lines)
        self._follow_the_name()
        if self._size and self._size + len(data) > self._bytes_max:
            self._begin_another()
        try:
            _write_all(self._descriptor, data)
            os.fsync(self._descriptor)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            raise
        self._size += len(data)
        if self._first is None:
            self._first = lines[0][0]

    def page(self, after: int | None, count_max: int) -> list[dict[str, Any]]:
        """Entries after that sequence, oldest first; None: the newest ones."""
        with self._current() as current:
            full = self._full_files()
            if after is None:
                lines = _newest(full, current, count_max)
            else:
                lines = _following(full, current, after, count_max)
        return [msgspec.json.decode(line) for line in lines]

    def _current(self) -> BinaryIO:
        try:
            return self._path.open("rb")
        except FileNotFoundError:
            # Somebody has taken it away; the next entry makes another.
            return io.BytesIO()

    def close(self) -> None:
        os.close(self._descriptor)

    def _open(self) -> int:
        descriptor = os.open(self._path, _FLAGS, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
            self._sync_directory()
            self._size = os.fstat(descriptor).st_size
            self._first = next(_sequences(os.pread(descriptor, TAIL_BYTES, 0)), None)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def _drop_half_line(self) -> None:
        """A crash left it; its change was not answered."""
        start = max(0, self._size - TAIL_BYTES)
        tail = os.pread(self._descriptor, TAIL_BYTES, start)
        if tail and not tail.endswith(b"\n"):
            self._size = start + tail.rfind(b"\n") + 1
            os.ftruncate(self._descriptor, self._size)

    def _find_last(self) -> int:
        start = max(0, self._size - TAIL_BYTES)
        last = max(_sequences(os.pread(self._descriptor, TAIL_BYTES, start)), default=0)
        if last == 0 and (full := self._full_files()):
            first, path = full[-1]
            last = max(_sequences(path.read_bytes()), default=first)
        return last

    def _follow_the_name(self) -> None:
        """Whoever moved the file away wants a new one; a failed write may have left a half."""
        status = os.fstat(self._descriptor)
        try:
            moved = os.stat(self._path).st_ino != status.st_ino
        except FileNotFoundError:
            moved = True
        if moved:
            fresh = self._open()
            os.close(self._descriptor)
            self._descriptor = fresh
        elif status.st_size > self._size:
            os.ftruncate(self._descriptor, self._size)
        else:
            self._size = status.st_size

    def _begin_another(self) -> None:
        if self._first is not None:
            self._path.rename(self._directory / f"audit-{self._first:012d}.jsonl")
        fresh = self._open()
        os.close(self._descriptor)
        self._descriptor = fresh
        surplus = len(self._full_files()) - (self._files_max - 1)
        for _, path in self._full_files()[: max(0, surplus)]:
            path.unlink(missing_ok=True)

    def _full_files(self) -> list[tuple[int, Path]]:
        """By the sequence of their first entry."""
        found = ((_FULL.fullmatch(path.name), path) for path in self._directory.iterdir())
        return sorted((int(match[1]), path) for match, path in found if match)

    def _sync_directory(self) -> None:
        descriptor = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _newest(full: Sequence[tuple[int, Path]], current: BinaryIO, count_max: int) -> Sequence[bytes]:
    lines = [line for _, line in _numbered(current.read())]
    for _, path in reversed(full):
        if len(lines) >= count_max:
            break
        # Full meanwhile, the current file may stand among them.
        before = [line for _, line in _numbered(_read(path))]
        if before[-1:] != lines[-1:]:
            lines = before + lines
    return lines[-count_max:]


def _following(
    full: Sequence[tuple[int, Path]], current: BinaryIO, after: int, count_max: int
) -> Sequence[bytes]:
    lines: list[bytes] = []
    last = after
    # A file whose successor begins with what is wanted, or before it, holds none of it.
    ends = [first for first, _ in full[1:]]
    passed_over = sum(first <= after + 1 for first in ends)
    reads: list[Callable[[], bytes]] = [
        functools.partial(_read, path) for _, path in full[passed_over:]
    ]
    for read in (*reads, current.read):
        for sequence, line in _numbered(read()):
            if sequence > last:
                last = sequence
                lines.append(line)
                if len(lines) == count_max:
                    return lines
    return lines


def _numbered(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines that are whole, with their sequence."""
    for line in data[: data.rfind(b"\n") + 1].splitlines():
        with contextlib.suppress(msgspec.DecodeError):
            yield msgspec.json.decode(line, type=_Numbered).sequence, line


def _sequences(data: bytes) -> Iterator[int]:
    return (sequence for sequence, _ in _numbered(data))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        # The oldest goes while it is asked for.
        return b""


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
