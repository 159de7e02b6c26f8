"""A diagnosis of the data directory of an embedded store for `dovemq doctor`.

A server may be running on the directory, so nothing here takes its lock or reads its database.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import apsw

from dovemq.core.checks import Check
from dovemq.core.errors import StoreUnusable
from dovemq.stores.sqlite.connection import check_library
from dovemq.stores.sqlite.damage.evidence import read_reports
from dovemq.stores.sqlite.directory import DATABASE_NAME, RESERVES_FREE_MIN, Reserve
from dovemq.system.private_files import check_private_directory

MOUNTS: Final = Path("/proc/self/mounts")
OF_MEMORY: Final = ("tmpfs", "ramfs")
OF_NETWORKS: Final = ("9p", "afs", "ceph", "cifs", "nfs", "nfs4", "smb3")
_MEBIBYTE: Final = 1 << 20
_OCTAL: Final = re.compile(r"\\([0-7]{3})")


def inspect_directory(directory: Path) -> Iterator[Check]:
    yield _library()
    if not directory.exists():
        yield Check(f"data directory {directory}", "ok", "none yet; the first start makes it")
        return
    try:
        check_private_directory(directory)
    except (StoreUnusable, OSError) as error:
        yield Check(f"data directory {directory}", "broken", str(error))
        return
    has_messages = (directory / DATABASE_NAME).exists()
    found = "holds a store" if has_messages else "holds no store yet"
    yield Check(f"data directory {directory}", "ok", found)
    yield _file_system(directory.resolve())
    yield _free_space(directory)
    yield _damage(directory)


def _library() -> Check:
    found = apsw.sqlite_lib_version()
    try:
        check_library(found)
    except StoreUnusable as error:
        return Check("SQLite", "broken", str(error))
    return Check("SQLite", "ok", f"{found}; each commit is synced (WAL, synchronous=FULL)")


def _file_system(directory: Path) -> Check:
    kind = file_system_of(directory, MOUNTS)
    if kind in OF_MEMORY:
        return Check("file system", "weak", f"{kind}: a restart of the machine loses everything")
    if kind in OF_NETWORKS:
        found = f"{kind}: a network may not keep what it reports as synced; use a local disk"
        return Check("file system", "weak", found)
    return Check("file system", "ok", kind or "unknown")


def file_system_of(directory: Path, mounts: Path) -> str | None:
    """The kind of the file system at the longest mounted path above the directory."""
    try:
        lines = mounts.read_text(errors="replace").splitlines()
    except OSError:
        return None
    fields = [line.split(" ") for line in lines]
    above = [(each[1], each[2]) for each in fields if directory.is_relative_to(_path(each[1]))]
    # Of two mounts at one path the later one counts.
    return max(reversed(above), key=lambda each: len(each[0]))[1] if above else None


def _path(written: str) -> Path:
    r"""The path in a line of mounts, where a space is written as `\040`."""
    return Path(_OCTAL.sub(lambda each: chr(int(each[1], 8)), written))


def _free_space(directory: Path) -> Check:
    reserve = Reserve(directory)
    free = reserve.free_bytes()
    found = f"{free // _MEBIBYTE} MiB"
    if free < RESERVES_FREE_MIN * reserve.size:
        least = RESERVES_FREE_MIN * reserve.size // _MEBIBYTE
        return Check("free space", "broken", f"{found}: sends are refused below {least} MiB")
    return Check("free space", "ok", found)


def _damage(directory: Path) -> Check:
    reports = read_reports(directory)
    lost = sum(report.lost_count for report in reports)
    if not reports:
        return Check("earlier damage", "ok", "none")
    evidence = ", ".join(report.evidence for report in reports)
    found = f"{lost} messages were lost; see `dovemq verify` and {evidence} in the data directory"
    return Check("earlier damage", "weak", found)
