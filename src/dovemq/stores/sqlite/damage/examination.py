"""Examination at start: compares the files with their seals and rebuilds a damaged database.

It comes before SQLite opens the files: SQLite would take a damaged log for a short one, and an
outdated page for the current one.
"""

import logging
import os
from pathlib import Path
from typing import Final

import apsw
from msgspec import Struct

from dovemq.core.errors import StoreUnusable
from dovemq.stores.sqlite.connection import open_reader
from dovemq.stores.sqlite.damage.btree import PAGE_ONE_HEADER_BYTES
from dovemq.stores.sqlite.damage.evidence import (
    REBUILT_NAME,
    change_places,
    new_evidence,
    save_report,
)
from dovemq.stores.sqlite.damage.frames import WriteAheadLog, read_log
from dovemq.stores.sqlite.damage.image import Image
from dovemq.stores.sqlite.damage.rebuilding import Rebuilding
from dovemq.stores.sqlite.damage.report import DamageReport, DamageReportBuilder
from dovemq.stores.sqlite.damage.salvage import RowSalvage
from dovemq.stores.sqlite.directory import DATABASE_NAME, PARTIAL_SUFFIX, SEALS_NAME
from dovemq.stores.sqlite.schema import APPLICATION_ID
from dovemq.stores.sqlite.seals import Mark, Sealed, read_seals
from dovemq.system.private_files import create_private, sync_directory, sync_file

PAGES_NAMED_MAX: Final = 100

_PAGE_BYTES_DEFAULT: Final = 4_096
_PAGE_BYTES_AT: Final = 16
_VERSION_AT: Final = 60
_APPLICATION_AT: Final = 68
_PAGE_BYTES_CODED: Final = 1
"""The code of 65,536 in the header."""

_log = logging.getLogger(__name__)


class Examined(Struct, frozen=True):
    """The result. `sealed` is None when the pages have to be sealed as they are now."""

    sealed: Sealed | None
    report: DamageReport | None


def examine(directory: Path, version_known: int, now_ms: int) -> Examined:
    """Examine the files and rebuild a damaged database.

    The directory must be locked and no connection open. A database of another program or of a newer
    release is left alone; `check_version` refuses it later.
    """
    change_places(directory)
    database = directory / DATABASE_NAME
    seals = directory / SEALS_NAME
    sealed = read_seals(seals)
    size = database.stat().st_size if database.exists() else 0
    if sealed is None and not (size and _is_ours(_header(database), version_known)):
        return Examined(None, None)
    if sealed is not None and sealed.schema_version > version_known:
        return Examined(None, None)
    page_bytes = sealed.page_bytes if sealed is not None else _page_bytes(_header(database))
    synced = sealed.synced if sealed is not None else None
    log = read_log(database.with_name(f"{DATABASE_NAME}-wal"), page_bytes, synced)
    notes = _log_notes(log, sealed)
    image = Image(database, page_bytes, sealed, log)
    try:
        if sealed is None:
            if seals.exists():
                _log.warning("%s cannot be read: all pages are checked and sealed again", seals)
            if not notes:
                notes = _structure_notes(database)
        damaged = list(image.unsound())
        if not damaged and not notes:
            return Examined(sealed, None)
        roots = sealed.roots if sealed is not None else {}
        _log.error("%s is damaged: a new database is built from its intact rows", database)
        stored = _stored(log, sealed)
        report = _rebuild(directory, RowSalvage(image, roots), damaged, notes, stored, now_ms)
    finally:
        image.close()
    change_places(directory)
    for line in report.lines():
        _log.error("%s", line)
    return Examined(None, report)


def _log_notes(log: WriteAheadLog | None, sealed: Sealed | None) -> list[str]:
    synced = sealed.synced if sealed is not None else None
    copied = _frames_of(log, sealed.checkpointed if sealed is not None else None)
    if sealed is not None and synced is None:
        _log.warning(
            "the mark of the log cannot be read: a log that was cut short would not be noticed"
        )
    notes = []
    missing = _missing(log, sealed)
    if missing:
        notes.append(
            f"{missing} pages of the log are missing: messages that were sent last may be lost, "
            "and messages that were deleted last may be back"
        )
    if log is None:
        return notes
    kept = log.kept(synced)
    # SQLite would put older pages over newer ones, or lose commits that were answered. A log that
    # was copied, and of which SQLite uses nothing, does no harm.
    if 0 < log.replayed < copied or log.replayed < kept > copied:
        notes += [] if log.header_whole else ["the header of the log is damaged"]
        wrong = [frame.number for frame in log.frames[:kept] if not frame.whole]
        for number in (wrong or [log.replayed + 1])[:PAGES_NAMED_MAX]:
            notes.append(f"the log is damaged at frame {number} of {len(log.frames)}")
    elif any(frame.commit_pages for frame in log.frames[kept:]):
        _log.warning("the last commit of the log is not whole; it was not answered, and is dropped")
    return notes


def _missing(log: WriteAheadLog | None, sealed: Sealed | None) -> int:
    """Number of frames that were synced and are neither in the log nor in the database."""
    if sealed is None or sealed.synced is None:
        return 0
    synced, copied = sealed.synced, sealed.checkpointed
    there = len(log.frames) if log is not None and log.salts == synced.salts else 0
    if copied is not None and copied.salts == synced.salts:
        there = max(there, copied.frames)
    return max(0, synced.frames - there)


def _frames_of(log: WriteAheadLog | None, mark: Mark | None) -> int:
    return mark.frames if log is not None and mark is not None and mark.salts == log.salts else 0


def _structure_notes(database: Path) -> list[str]:
    """Errors that SQLite's own check finds, for a database without seals."""
    try:
        connection = open_reader(database)
        try:
            found = connection.execute(f"PRAGMA integrity_check({PAGES_NAMED_MAX})").fetchall()
        finally:
            connection.close(True)
    except apsw.ReadOnlyError:
        # The first start was interrupted; a connection that writes will undo it.
        return []
    except (apsw.CorruptError, apsw.NotADBError) as error:
        return [str(error)]
    return [str(line) for (line,) in found if line != "ok"]


def _stored(log: WriteAheadLog | None, sealed: Sealed | None) -> int | None:
    """Number of messages there were; None if the log has commits after the mark."""
    synced = sealed.synced if sealed is not None else None
    if synced is None or not synced.frames:
        return None
    if log is None or log.salts != synced.salts:
        return synced.messages
    return synced.messages if log.kept(synced) <= synced.frames else None


def _rebuild(
    directory: Path,
    salvage: RowSalvage,
    damaged: list[int],
    notes: list[str],
    stored: int | None,
    now_ms: int,
) -> DamageReport:
    database = directory / DATABASE_NAME
    _check_space(directory, database)
    builder = DamageReportBuilder()
    builder.notes += notes
    partial = directory / (REBUILT_NAME + PARTIAL_SUFFIX)
    create_private(partial)
    kept = Rebuilding(salvage, partial, builder).run()
    for number in damaged[:PAGES_NAMED_MAX]:
        table = salvage.damaged.get(number)
        builder.notes.append(f"page {number} is damaged ({table or 'nothing was stored on it'})")
    if len(damaged) > PAGES_NAMED_MAX:
        builder.notes.append(f"{len(damaged) - PAGES_NAMED_MAX} more pages are damaged")
    sync_file(partial)
    report = builder.report(now_ms, new_evidence(directory), kept, stored)
    save_report(directory, report)
    sync_directory(directory)
    partial.rename(directory / REBUILT_NAME)
    sync_directory(directory)
    return report


def _check_space(directory: Path, database: Path) -> None:
    needed = database.stat().st_size if database.exists() else 0
    found = os.statvfs(directory)
    free = found.f_bavail * found.f_frsize
    if free < needed:
        raise StoreUnusable(
            str(database),
            "damaged, and a new one has no space beside it",
            f"free {needed - free} bytes; the file was left as it is",
        )


def _header(database: Path) -> bytes:
    with database.open("rb") as file:
        return file.read(PAGE_ONE_HEADER_BYTES)


def _is_ours(header: bytes, version_known: int) -> bool:
    version = int.from_bytes(header[_VERSION_AT : _VERSION_AT + 4], "big")
    application = int.from_bytes(header[_APPLICATION_AT : _APPLICATION_AT + 4], "big")
    return application == APPLICATION_ID and version <= version_known


def _page_bytes(header: bytes) -> int:
    found = int.from_bytes(header[_PAGE_BYTES_AT : _PAGE_BYTES_AT + 2], "big")
    if found == _PAGE_BYTES_CODED:
        return 65_536
    return found if found >= 512 and not found & (found - 1) else _PAGE_BYTES_DEFAULT
