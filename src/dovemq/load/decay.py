"""Damage of a disk to files at rest: a flipped bit, a zeroed block, a cut end.

Works on the files of a data directory whose server is down.
"""

import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

STRETCH_BYTES: Final = 4_096
"""The size of a block that a disk loses at once."""

Kind = Literal["flip", "zero", "cut"]

KINDS: Final[tuple[Kind, ...]] = ("flip", "zero", "cut")
FILES: Final = ("dovemq.db", "dovemq.db-wal")


class Decay(Struct, frozen=True):
    """One damage. `offset` is the byte that is changed, the first byte that is zeroed, or the new
    length."""

    kind: Kind
    file: str
    offset: int
    bit: int = 0


def draw_decay(
    directory: Path, rng: random.Random, kinds: Sequence[Kind] = KINDS, files: Sequence[str] = FILES
) -> Decay | None:
    """Draws a damage; every byte of the files is equally likely. Returns None if they are empty."""
    sizes = {name: _size(directory / name) for name in files}
    total = sum(sizes.values())
    if not total:
        return None
    offset = rng.randrange(total)
    name = files[0]
    for name in files:
        if offset < sizes[name]:
            break
        offset -= sizes[name]
    kind = rng.choice(kinds)
    if kind == "zero":
        offset -= offset % STRETCH_BYTES
    return Decay(kind, name, offset, rng.randrange(8) if kind == "flip" else 0)


def apply_decay(directory: Path, decay: Decay) -> None:
    file = os.open(directory / decay.file, os.O_RDWR | os.O_CLOEXEC)
    try:
        if decay.kind == "cut":
            os.ftruncate(file, decay.offset)
        elif decay.kind == "zero":
            length = min(STRETCH_BYTES, os.fstat(file).st_size - decay.offset)
            os.pwrite(file, bytes(length), decay.offset)
        else:
            (byte,) = os.pread(file, 1, decay.offset)
            os.pwrite(file, bytes([byte ^ (1 << decay.bit)]), decay.offset)
        os.fsync(file)
    finally:
        os.close(file)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
