"""Storage of the rows of a journal: a mapped file, or memory.

A mapped file keeps every written row when the process is killed, without a system call per row,
because the kernel holds the pages. A power loss may lose rows.
"""

import mmap
import os
from pathlib import Path
from typing import Final, TypeAlias

CHUNK_ROWS: Final = 65_536
"""The number of bytes of the largest pages, so that chunks of any row size end at a page boundary.
"""
MEMORY_CHUNK_ROWS: Final = 256

Buffer: TypeAlias = bytearray | mmap.mmap
Slot: TypeAlias = tuple[Buffer, int]
"""The position of a row: a chunk and an offset in it."""


class MappedFile:
    """A new file that grows by mapped chunks after its header."""

    def __init__(self, path: Path, head: bytes) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        self._head_bytes = self._size = len(head)
        self._chunks: list[mmap.mmap] = []
        os.write(self._descriptor, head)

    def new_chunk(self, size: int) -> mmap.mmap:
        os.truncate(self._descriptor, self._size + size)
        if hasattr(os, "posix_fallocate"):
            # A full disk must fail here, and not as a signal at a later write to the mapping.
            os.posix_fallocate(self._descriptor, self._size, size)
        chunk = mmap.mmap(self._descriptor, size, offset=self._size)
        self._size += size
        self._chunks.append(chunk)
        return chunk

    def close(self, used_bytes: int) -> None:
        """Truncates the file after the used rows. Idempotent."""
        if self._descriptor < 0:
            return
        for chunk in self._chunks:
            chunk.close()
        os.truncate(self._descriptor, self._head_bytes + used_bytes)
        os.close(self._descriptor)
        self._descriptor = -1
