"""Reads a whole database and tells what is wrong with it; changes nothing."""

from collections.abc import Callable, Iterator
from typing import Final

import apsw
from msgspec import Struct

from dovemq.stores.sqlite.reader import BodyReader
from dovemq.stores.sqlite.rows import DamagedRecord, RecordCodec
from dovemq.stores.sqlite.statements import Statements

PROBLEMS_MAX: Final = 100
DAMAGED_LISTED_MAX: Final = 1_000
PAGE_ROWS: Final = 500

Progress = Callable[[int, int], None]
"""Called now and then, on the working thread, with what is done and what there is in all."""


class DamagedMessage(Struct, frozen=True):
    queue: str
    """As `account/name`; the bare number when the queue is gone."""
    sequence: int
    reason: str


class Verification(Struct, frozen=True):
    """`messages` counts all, `damaged_count` those unfit to deliver; `damaged` lists the first.

    `strays`: bodies that no entry names; they cost space and nothing else. `problems`: what
    SQLite finds wrong with the structure of the file.
    """

    messages: int
    problems: tuple[str, ...] = ()
    damaged: tuple[DamagedMessage, ...] = ()
    damaged_count: int = 0
    strays: int = 0

    @property
    def sound(self) -> bool:
        return not (self.problems or self.damaged_count or self.strays)


def no_progress(_done: int, _total: int) -> None:
    pass


def verify(
    connection: apsw.Connection,
    sql: Statements,
    body_reader: BodyReader,
    codec: RecordCodec,
    progress: Progress = no_progress,
) -> Verification:
    """One snapshot, so that a busy store is judged as it was at one moment."""
    connection.execute("BEGIN")
    try:
        problems = _structure(connection)
        try:
            return _messages(connection, sql, body_reader, codec, progress, problems)
        except apsw.CorruptError as error:
            return Verification(messages=0, problems=(*problems, str(error)))
    finally:
        connection.execute("ROLLBACK")


def _structure(connection: apsw.Connection) -> tuple[str, ...]:
    try:
        found = connection.execute(f"PRAGMA integrity_check({PROBLEMS_MAX})").fetchall()
    except apsw.CorruptError as error:
        return (str(error),)
    return tuple(str(line) for (line,) in found if line != "ok")


def _messages(
    connection: apsw.Connection,
    sql: Statements,
    body_reader: BodyReader,
    codec: RecordCodec,
    progress: Progress,
    problems: tuple[str, ...],
) -> Verification:
    names = {row[0]: f"{row[1]}/{row[2]}" for row in connection.execute(sql.select_queues)}
    total = int(connection.execute(sql.count_entries).get)
    damaged: list[DamagedMessage] = []
    done = damaged_count = missing = 0
    for page in _pages(connection, sql):
        rows = {row[0]: row for row in body_reader.rows(connection, [key[2] for key in page])}
        for number, _, sequence in page:
            reason = ""
            if sequence not in rows:
                reason = "its body is missing or unreadable"
                missing += 1
            else:
                try:
                    codec.message(rows[sequence])
                except DamagedRecord:
                    reason = "its checksum is wrong"
            if reason:
                damaged_count += 1
                if len(damaged) < DAMAGED_LISTED_MAX:
                    damaged.append(DamagedMessage(names.get(number, str(number)), sequence, reason))
        done += len(page)
        progress(done, total)
    # Nobody can count the bodies of a broken table.
    bodies = done - missing if problems else int(connection.execute(sql.count_bodies).get)
    strays = max(0, bodies - (done - missing))
    return Verification(total, problems, tuple(damaged), damaged_count, strays)


def _pages(connection: apsw.Connection, sql: Statements) -> Iterator[list[tuple[int, int, int]]]:
    last = (-1, -1, -1)
    while page := list(connection.execute(sql.page_entries, (*last, PAGE_ROWS))):
        yield page
        last = page[-1]
