"""The files of the audit log: appended and synced, closed at a size, bounded in number.

All methods block, so they must not be called on the event loop. One thread appends at a time;
others may read meanwhile.

When there are too many files, the two oldest are merged into one:

    audit-000000000001.jsonl  ┐
    audit-000000000900.jsonl  ┘→ audit-000000000001.jsonl, at most `bytes_max`
    audit-000000001700.jsonl
    audit.jsonl                  the current file

The accounts with the most entries in these two lose their oldest ones. An account that makes many
changes can therefore not displace the entries of the others.
"""

import collections
import contextlib
import errno
import functools
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec
from msgspec import Struct

from dovemq.core.errors import StoreUnusable
from dovemq.system.private_files import sync_directory

NAME: Final = "audit.jsonl"
DRAFT: Final = "audit.jsonl.draft"
TAIL_BYTES: Final = 64 << 10
"""More than the longest line."""
_FULL: Final = re.compile(r"audit-([0-9]{12})\.jsonl", re.ASCII)
_DRAFT_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC


class _Numbered(Struct, frozen=True):
    sequence: int
    account: str | None = None


class AuditFiles:
    """Holds at most `files_max` files, the current one included, of `bytes_max` each.

    With `refuse_when_full` no entry is ever dropped: writing fails until files are moved away.
    """

    def __init__(
        self, directory: Path, *, bytes_max: int, files_max: int, refuse_when_full: bool = False
    ) -> None:
        self._refuse_when_full = refuse_when_full
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
        """Write all lines durably, or raise an OSError and write none."""
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
        """Entries after that sequence, oldest first; with None the newest ones."""
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
            # It was moved away; the next entry creates another.
            return io.BytesIO()

    def close(self) -> None:
        os.close(self._descriptor)

    def _open(self) -> int:
        descriptor = os.open(self._path, _FLAGS, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
            sync_directory(self._directory)
            self._size = os.fstat(descriptor).st_size
            self._first = next(_sequences(os.pread(descriptor, TAIL_BYTES, 0)), None)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def _drop_half_line(self) -> None:
        """Remove the half line that a crash left; its change was not answered."""
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
        """Create a new file if the current one was moved away; drop what a failed write left."""
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
        if self._refuse_when_full and len(self._full_files()) >= self._files_max - 1:
            raise OSError(errno.ENOSPC, f"it is full: move files away from {self._directory}")
        if self._first is not None:
            self._path.rename(self._directory / f"audit-{self._first:012d}.jsonl")
        fresh = self._open()
        os.close(self._descriptor)
        self._descriptor = fresh
        for _ in range(len(self._full_files()) - (self._files_max - 1)):
            self._merge_oldest()

    def _merge_oldest(self) -> None:
        (_, oldest), (_, second) = self._full_files()[:2]
        draft = self._directory / DRAFT
        descriptor = os.open(draft, _DRAFT_FLAGS, 0o600)
        try:
            _write_all(
                descriptor, b"".join(_fair_share(map(_read, (oldest, second)), self._bytes_max))
            )
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        # A crash in between leaves entries in both files; readers and the next merge skip them.
        draft.rename(oldest)
        second.unlink()
        sync_directory(self._directory)

    def _full_files(self) -> list[tuple[int, Path]]:
        """The closed files, by the sequence of their first entry."""
        found = ((_FULL.fullmatch(path.name), path) for path in self._directory.iterdir())
        return sorted((int(match[1]), path) for match, path in found if match)


def _fair_share(files: Iterable[bytes], bytes_max: int) -> list[bytes]:
    """The newest lines of each account that fit together, oldest first."""
    lines: dict[int, tuple[str | None, bytes]] = {}
    for data in files:
        for entry, line in _entries(data):
            lines[entry.sequence] = (entry.account, line + b"\n")
    sizes: collections.Counter[str | None] = collections.Counter()
    for account, line in lines.values():
        sizes[account] += len(line)
    share = _share(sizes, bytes_max)
    used: collections.Counter[str | None] = collections.Counter()
    kept: list[bytes] = []
    for account, line in reversed(lines.values()):
        used[account] += len(line)
        if used[account] <= share:
            kept.append(line)
    return kept[::-1]


def _share(sizes: Mapping[str | None, int], bytes_max: int) -> int:
    """The most bytes that each account may keep so that all of them fit."""
    left = bytes_max
    for count, size in zip(range(len(sizes), 0, -1), sorted(sizes.values()), strict=True):
        if size > left // count:
            return left // count
        left -= size
    return bytes_max


def _newest(full: Sequence[tuple[int, Path]], current: BinaryIO, count_max: int) -> Sequence[bytes]:
    lines = [line for _, line in _numbered(current.read())]
    for _, path in reversed(full):
        if len(lines) >= count_max:
            break
        # The current file may have been closed meanwhile and be among them.
        before = [line for _, line in _numbered(_read(path))]
        if before[-1:] != lines[-1:]:
            lines = before + lines
    return lines[-count_max:]


def _following(
    full: Sequence[tuple[int, Path]], current: BinaryIO, after: int, count_max: int
) -> Sequence[bytes]:
    lines: list[bytes] = []
    last = after
    # A file holds none of the wanted entries if its successor starts with one, or before it.
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


def _entries(data: bytes) -> Iterator[tuple[_Numbered, bytes]]:
    """The whole lines, each with its sequence and account."""
    for line in data[: data.rfind(b"\n") + 1].splitlines():
        with contextlib.suppress(msgspec.DecodeError):
            yield msgspec.json.decode(line, type=_Numbered), line


def _numbered(data: bytes) -> Iterator[tuple[int, bytes]]:
    return ((entry.sequence, line) for entry, line in _entries(data))


def _sequences(data: bytes) -> Iterator[int]:
    return (sequence for sequence, _ in _numbered(data))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        # It was merged into another while it was read.
        return b""


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
