"""Where the rows of a journal stand: in a mapped file, or in memory.

A mapped file keeps every row that was written when the process is killed, without a system call
per row: the kernel holds the pages. Power loss is not guarded against; a journal outlives its
writer, not its machine.
"""

import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

CHUNK_ROWS: Final = 65_536
"""As many as the bytes of the largest pages, so that chunks of any row size end with a page."""
MEMORY_CHUNK_ROWS: Final = 256

Buffer: TypeAlias = bytearray | mmap.mmap
Slot: TypeAlias = tuple[Buffer, int]
"""One row: a chunk and the offset in it."""


class JournalRows:
    """Rows of one size, given out one after another. Chunks stay until the journal is closed."""

    def __init__(self, row_bytes: int, chunk_rows: int, new_chunk: Callable[[int], Buffer]) -> None:
        self._row_bytes = row_bytes
        self._chunk_rows = chunk_rows
        self._chunk_bytes = row_bytes * chunk_rows
        self._new_chunk = new_chunk
        self._chunk: Buffer = bytearray()
        self._next = self._chunk_bytes
        self.chunks: list[Buffer] = []

    def __len__(self) -> int:
        unused = (self._chunk_bytes - self._next) // self._row_bytes
        return len(self.chunks) * self._chunk_rows - unused

    def new(self) -> Slot:
        at = self._next
        if at == self._chunk_bytes:
            self._chunk = self._new_chunk(self._chunk_bytes)
            self.chunks.append(self._chunk)
            at = 0
        self._next = at + self._row_bytes
        return self._chunk, at


class MappedFile:
    """A new file that grows by mapped chunks after its head."""

    def __init__(self, path: Path, head: bytes) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        self._head_bytes = self._size = len(head)
        self._chunks: list[mmap.mmap] = []
        os.write(self._descriptor, head)

    def new_chunk(self, size: int) -> mmap.mmap:
        os.truncate(self._descriptor, self._size + size)
        if hasattr(os, "posix_fallocate"):
            # Space that is not there must fail here and not as a signal at some later row.
            os.posix_fallocate(self._descriptor, self._size, size)
        chunk = mmap.mmap(self._descriptor, size, offset=self._size)
        self._size += size
        self._chunks.append(chunk)
        return chunk

    def close(self, used_bytes: int) -> None:
        """Give back what follows the rows in use. Idempotent."""
        if self._descriptor < 0:
            return
        for chunk in self._chunks:
            chunk.close()
        os.truncate(self._descriptor, self._head_bytes + used_bytes)
        os.close(self._descriptor)
        self._descriptor = -1
