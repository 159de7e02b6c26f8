"""Opens the files of a data directory and builds what the store holds in memory.

The order matters:

    examine            compares pages and log with the seals; rebuilds a damaged database
    _check_untouched   refuses a file of a newer release before anything is written to it
    open_writer        undoes an interrupted transaction
    migrate            brings the schema up to date
    read rows          queues, moves, accounts; an index for each partition
    SealFile           goes on from the seals that were compared, or seals all pages

`examine` comes first, since opening a database makes SQLite replay the log: it would take a damaged
log for a short one. Only narrow rows are read and no bodies, so a start takes seconds per million
messages.
"""

import random
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import apsw
from msgspec import Struct

from dovemq.core.accounts import Account
from dovemq.core.commands import Move
from dovemq.core.entry import Entry
from dovemq.core.index import Index, index_for
from dovemq.core.queue import Queue
from dovemq.stores.owned.group import PartitionKey
from dovemq.stores.sqlite.committer import SEQUENCE_KEY
from dovemq.stores.sqlite.connection import open_reader, open_writer, start_log
from dovemq.stores.sqlite.damage.examination import examine
from dovemq.stores.sqlite.damage.report import DamageReport
from dovemq.stores.sqlite.rows import account_from_row, move_from_record, queue_from_row
from dovemq.stores.sqlite.schema import check_version, load_steps, migrate
from dovemq.stores.sqlite.seals import SealFile
from dovemq.stores.sqlite.statements import Statements
from dovemq.system.private_files import sync_directory

RECEIPT_KEY: Final = "receipt_key"
RECEIPT_KEY_BYTES: Final = 32


class Recovered(Struct, frozen=True):
    writing: apsw.Connection
    reading: apsw.Connection
    queues: list[Queue]
    moves: list[Move]
    accounts: list[Account]
    indexes: dict[PartitionKey, Index]
    orphans: list[int]
    """Numbers of removed queues that still have rows."""
    sequence_reserved: int
    receipt_key: bytes
    seals: SealFile
    messages: int
    """Number of messages on disk, those of removed queues included."""
    report: DamageReport | None
    """The damage that this start found; None if there was none."""


def recover(
    path: Path, sql: Statements, rng: random.Random, vfs: str | None, now_ms: int
) -> Recovered:
    """Open the store's files. Raises errors of apsw and `StoreUnusable`."""
    steps = load_steps()
    examined = examine(path.parent, len(steps), now_ms)
    if path.exists() and path.stat().st_size:
        _check_untouched(path, len(steps), vfs)
    writing = open_writer(path, vfs)
    seals = None
    try:
        check_version(writing, path, len(steps))
        start_log(writing, path)
        migrate(writing, steps)
        sync_directory(path.parent)
        receipt_key = _receipt_key(writing, sql)
        queues = [queue_from_row(row) for row in writing.execute(sql.select_queues)]
        moves = [move_from_record(record) for (record,) in writing.execute(sql.select_moves)]
        accounts = [account_from_row(*row) for row in writing.execute(sql.select_accounts)]
        indexes, orphans, messages = _indexes(writing, sql, {q.number: q for q in queues}, rng)
        reserved = int(writing.execute(sql.get_meta, (SEQUENCE_KEY,)).get or 0)
        seals = SealFile(path)
        roots = dict(writing.execute(sql.select_roots))
        seals.begin(examined.sealed, int(writing.pragma("page_size")), len(steps), roots)
        reading = open_reader(path, vfs)
    except BaseException:
        writing.close(True)
        if seals is not None:
            seals.close()
        raise
    return Recovered(
        writing,
        reading,
        queues,
        moves,
        accounts,
        indexes,
        orphans,
        reserved,
        receipt_key,
        seals,
        messages,
        examined.report,
    )


def _check_untouched(path: Path, known: int, vfs: str | None) -> None:
    """Check the version before anything is written: a refused file stays as it was found."""
    try:
        reading = open_reader(path, vfs)
        try:
            check_version(reading, path, known)
        finally:
            reading.close(True)
    except apsw.ReadOnlyError:
        # The first start was interrupted; only a connection that writes can undo it.
        return


def _receipt_key(connection: apsw.Connection, sql: Statements) -> bytes:
    found = connection.execute(sql.get_meta, (RECEIPT_KEY,)).get
    if found is None:
        found = secrets.token_bytes(RECEIPT_KEY_BYTES)
        connection.execute(sql.set_meta, (RECEIPT_KEY, found))
    return bytes(found)


def _indexes(
    connection: apsw.Connection,
    sql: Statements,
    queues: Mapping[int, Queue],
    rng: random.Random,
) -> tuple[dict[PartitionKey, Index], list[int], int]:
    indexes: dict[PartitionKey, Index] = {}
    messages = 0
    orphans: list[int] = []
    place: PartitionKey | None = None
    add = None
    for number, partition, *state in connection.execute(sql.select_entries):
        if place != (number, partition):
            place = (number, partition)
            queue = queues.get(number)
            add = None
            if queue is not None:
                indexes[place] = index_for(queue.settings, rng)
                add = indexes[place].add
            elif number not in orphans[-1:]:
                orphans.append(number)
        messages += 1
        if add is not None:
            add(Entry(*state))
    return indexes, orphans, messages
