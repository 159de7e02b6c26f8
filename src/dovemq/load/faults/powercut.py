"""Simulates a power cut for a real process: leaves its files as a disk might.

The shim records what is written and not synced yet. After the process has died, `strike` reads that
record and picks, by a seed, one of the possible states of the disk: each unsynced sector has any of
the contents since its last sync, each file any of its sizes, and each unsynced create, unlink or
rename is kept or undone.
"""

import contextlib
import os
import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

SECTOR_BYTES: Final = 512
_RECORD: Final = struct.Struct("<cQQQI")
_EFFECTS: Final = struct.Struct("<qq")
_RECORDS: Final = "journal"
_GARBAGE_BYTES: Final = 32 * 1024


class DiskRecord(NamedTuple):
    kind: bytes
    inode: int
    first: int
    second: int
    payload: bytes
    position: int

    @property
    def paths(self) -> list[Path]:
        return [Path(os.fsdecode(part)) for part in self.payload.split(b"\0") if part]


class Damage(NamedTuple):
    """The effect of a power cut."""

    sectors_unsynced: int
    sectors_undone: int
    names_undone: int
    unsynced_files: frozenset[str]
    """Names of the files with unsynced sectors."""


class Effects(NamedTuple):
    """Failed syncs and refused writes of all processes so far."""

    syncs_failed: int
    writes_refused: int


class PowerCutDisk:
    """A directory on a disk whose power can be cut, once for each process that writes to it."""

    def __init__(self, place: Path, shim: Path) -> None:
        self.root = (place / "data").resolve()
        self._journal = (place / "journal").resolve()
        self._shim = shim
        self.root.mkdir(parents=True, exist_ok=True)
        self._journal.mkdir(exist_ok=True)
        self.forget()

    def environment(
        self, *, cut_at: int = 0, lie: bool = False, sync_us: int = 0
    ) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(self._shim),
            "POWERCUT_ROOT": str(self.root),
            "POWERCUT_JOURNAL": str(self._journal),
            "POWERCUT_AT": str(cut_at),
            "POWERCUT_SYNC": "lie" if lie else "honest",
            "POWERCUT_SYNC_US": str(sync_us),
        }

    def switch(self, name: str, *, on: bool) -> None:
        path = self._journal / name
        if on:
            path.touch()
        else:
            path.unlink(missing_ok=True)

    def forget(self) -> None:
        """Starts a new record: everything on the disk now counts as synced."""
        for path in (self._journal / _RECORDS, *self._journal.glob("kept-*")):
            path.unlink(missing_ok=True)

    def effects(self) -> Effects:
        try:
            return Effects(*_EFFECTS.unpack((self._journal / "effects").read_bytes()))
        except (FileNotFoundError, struct.error):
            return Effects(0, 0)

    def operations(self) -> int:
        """Returns the number of operations of the last process at which a cut could have happened.

        A record that was started anew in the meantime does not have them all.
        """
        return sum(record.kind == b"." for record in self._records())

    def strike(self, rng: random.Random) -> Damage:
        """Turns the files of a dead process into a possible state of the disk."""
        unsynced = _unsynced(self._records())
        sectors, undone = 0, 0
        by_inode: dict[int, list[DiskRecord]] = {}
        for record in unsynced:
            if record.kind in b"WZ":
                by_inode.setdefault(record.inode, []).append(record)
        found = _paths_by_inode(self.root, self._journal)
        at_risk = {inode: path for inode, path in found.items() if inode in by_inode}
        for inode, path in sorted(at_risk.items()):
            counted = _undo_contents(path, by_inode[inode], rng)
            sectors, undone = sectors + counted[0], undone + counted[1]
        named = _undo_names(
            [record for record in unsynced if record.kind in b"CUR"], rng, self._journal
        )
        _garble_shared_memory(self.root, rng)
        self.forget()
        return Damage(sectors, undone, named, frozenset(path.name for path in at_risk.values()))

    def _records(self) -> Iterator[DiskRecord]:
        with contextlib.suppress(FileNotFoundError):
            yield from _parse((self._journal / _RECORDS).read_bytes())


def _parse(data: bytes) -> Iterator[DiskRecord]:
    position = 0
    while position + _RECORD.size <= len(data):
        kind, inode, first, second, length = _RECORD.unpack_from(data, position)
        start = position + _RECORD.size
        if start + length > len(data):
            return
        yield DiskRecord(kind, inode, first, second, data[start : start + length], position)
        position = start + length


def _unsynced(records: Iterator[DiskRecord]) -> list[DiskRecord]:
    """Returns unsynced records: contents are synced with their file, names with their directory."""
    kept = list(records)
    synced: dict[int, int] = {}
    for record in kept:
        if record.kind == b"S":
            synced[record.inode] = record.first
    contents = [r for r in kept if r.kind in b"WZ" and r.position >= synced.get(r.inode, 0)]
    names = [r for r in kept if r.kind in b"CUR" and r.position >= synced.get(r.first, 0)]
    return contents + names


def _paths_by_inode(*directories: Path) -> dict[int, Path]:
    return {
        path.stat().st_ino: path
        for directory in directories
        for path in directory.rglob("*")
        if path.is_file()
    }


def _undo_contents(path: Path, records: list[DiskRecord], rng: random.Random) -> tuple[int, int]:
    sectors: dict[int, list[bytes]] = {}
    sizes: list[int] = []
    for record in records:
        if record.kind == b"W":
            sectors.setdefault(record.first, []).append(record.payload)
        else:
            sizes.append(record.first)
    undone = 0
    with path.open("r+b") as file:
        size_now = os.fstat(file.fileno()).st_size
        for sector, contents in sorted(sectors.items()):
            version = rng.randrange(len(contents) + 1)
            if version < len(contents):
                undone += 1
                file.seek(sector * SECTOR_BYTES)
                file.write(contents[version].ljust(SECTOR_BYTES, b"\0"))
        file.flush()
        file.truncate(rng.choice([*sizes, size_now]))
    return len(sectors), undone


def _undo_names(records: list[DiskRecord], rng: random.Random, journal: Path) -> int:
    """Undoes random operations on names, and all later ones on the same names, newest first."""
    touched: set[Path] = set()
    undone: list[DiskRecord] = []
    for record in records:
        if rng.random() < 0.5 or not touched.isdisjoint(record.paths):
            touched.update(record.paths)
            undone.append(record)
    for record in reversed(undone):
        _undo_name(record, journal)
    return len(undone)


def _undo_name(record: DiskRecord, journal: Path) -> None:
    kept = journal / f"kept-{record.second}"
    if record.kind == b"C":
        path = record.paths[0]
        if path.exists() and path.stat().st_ino == record.inode:
            path.unlink()
    elif record.kind == b"U":
        path = record.paths[0]
        if kept.exists() and not path.exists():
            path.hardlink_to(kept)
    elif record.kind == b"R":
        old, new = record.paths
        if new.exists() and new.stat().st_ino == record.inode:
            new.rename(old)
            if kept.exists():
                new.hardlink_to(kept)


def _garble_shared_memory(root: Path, rng: random.Random) -> None:
    """Damages the -shm files, which SQLite rebuilds after a crash."""
    for path in root.rglob("*-shm"):
        fate = rng.randrange(3)
        if fate == 0:
            path.unlink()
        elif fate == 1:
            path.write_bytes(rng.randbytes(_GARBAGE_BYTES))
