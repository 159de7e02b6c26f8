"""Backup of a running store, and restore into an empty directory."""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import BinaryIO, Final

import apsw

from dovemq.core.errors import StoreUnusable
from dovemq.stores.sqlite.committer import SEQUENCE_KEY
from dovemq.stores.sqlite.connection import check_library, open_reader, unusable
from dovemq.stores.sqlite.directory import (
    COPY_PREFIX,
    DATABASE_NAME,
    LOCK_NAME,
    PARTIAL_SUFFIX,
    DirectoryLock,
    prepare_directory,
    remove_leftovers,
)
from dovemq.stores.sqlite.schema import check_version, load_steps, migrate
from dovemq.stores.sqlite.statements import load_statements
from dovemq.stores.sqlite.verification import Progress, Verification, no_progress, verify
from dovemq.system.private_files import create_private, sync_directory, sync_file

PAGES_PER_STEP: Final = 1_024

SEQUENCES_SKIPPED: Final = 1 << 32
"""Sequences skipped by a restore: those given out after the backup must not be used again."""


def back_up(source: apsw.Connection, directory: Path, progress: Progress = no_progress) -> BinaryIO:
    """A copy of the snapshot that `source` sees, as an open file without a name.

    The file vanishes when it is closed, also by a kill. While it is written it has a name in a
    private directory below `directory`, since SQLite must open it by name.
    """
    try:
        with tempfile.TemporaryDirectory(prefix=COPY_PREFIX, dir=directory) as scratch:
            copy = Path(scratch) / DATABASE_NAME
            _copy(source, copy, progress)
            return copy.open("rb")
    except (OSError, apsw.Error) as error:
        raise StoreUnusable(
            str(directory), f"a backup cannot be written there ({error})", "free disk space"
        ) from error


def restore_backup(backup: Path, directory: Path, progress: Progress = no_progress) -> Verification:
    """Make `directory` a data directory with the contents of `backup`.

    Refuses a directory that holds anything, and a backup whose structure is broken. Damaged
    messages are restored as they are and named in the answer.
    """
    check_library(apsw.sqlite_lib_version())
    if not backup.is_file():
        raise StoreUnusable(str(backup), "not a file", "name a backup made by `dovemq backup`")
    prepare_directory(directory)
    partial = directory / (DATABASE_NAME + PARTIAL_SUFFIX)
    # A restore that failed or was killed leaves these two.
    if any(each.name not in (LOCK_NAME, partial.name) for each in directory.iterdir()):
        raise StoreUnusable(str(directory), "not empty", "restore into an empty directory")
    lock = DirectoryLock(directory)
    try:
        remove_leftovers(directory)
        create_private(partial)
        shutil.copyfile(backup, partial)
        verification = _make_ready(partial, backup, progress)
        sync_file(partial)
        os.rename(partial, directory / DATABASE_NAME)
        sync_directory(directory)
    except apsw.Error as error:
        raise unusable(backup, error) from error
    finally:
        partial.unlink(missing_ok=True)
        lock.release()
    return verification


def _copy(source: apsw.Connection, target: Path, progress: Progress) -> None:
    copy = apsw.Connection(str(target))
    try:
        # An open transaction keeps the snapshot: without it each commit restarts the copy.
        source.execute("BEGIN")
        source.execute("SELECT count(*) FROM meta").fetchall()
        with copy.backup("main", source, "main") as steps:
            while not steps.step(PAGES_PER_STEP):
                progress(steps.page_count - steps.remaining, steps.page_count)
            progress(steps.page_count, steps.page_count)
        copy.pragma("journal_mode", "delete")
    finally:
        copy.close(True)
        with contextlib.suppress(apsw.Error):
            source.execute("ROLLBACK")


def _make_ready(partial: Path, backup: Path, progress: Progress) -> Verification:
    steps = load_steps()
    looking = open_reader(partial)
    try:
        version = check_version(looking, backup, len(steps))
    finally:
        looking.close(True)
    if not version:
        raise StoreUnusable(str(backup), "an empty database", "name a backup of a store")
    connection = apsw.Connection(str(partial), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        migrate(connection, steps)
        verification = verify(connection, progress)
        if verification.problems:
            raise StoreUnusable(
                str(backup), f"damaged ({verification.problems[0]})", "use another backup"
            )
        sql = load_statements()
        reserved = int(connection.execute(sql.get_meta, (SEQUENCE_KEY,)).get or 0)
        connection.execute(sql.set_meta, (SEQUENCE_KEY, reserved + SEQUENCES_SKIPPED))
    finally:
        connection.close(True)
    return verification
