"""Verification: reads a whole database and reports what is wrong with it. Changes nothing."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import apsw
import msgspec
from msgspec import Struct

from dovemq.core.entry import Entry
from dovemq.stores.owned.group import BodyRow
from dovemq.stores.owned.records import DamagedRecord, RecordCodec
from dovemq.stores.sqlite.damage.report import DamagedMessage
from dovemq.stores.sqlite.guards import entry_crc32
from dovemq.stores.sqlite.ledger import ledger_entry
from dovemq.stores.sqlite.reader import BodyReader
from dovemq.stores.sqlite.statements import Statements, load_statements

PROBLEMS_MAX: Final = 100
DAMAGED_LISTED_MAX: Final = 1_000
PAGE_ROWS: Final = 500

_MESSAGE_ID: Final = 9
_CRC32: Final = 10

Progress = Callable[[int, int], None]
"""Called now and then, on the working thread, with the work done and the total."""


class Verification(Struct, frozen=True):
    """The result. `damaged_count` of the `messages` cannot be delivered; `damaged` lists the first.

    `strays` are bodies without an entry, which only take space. `problems` are errors in the
    structure of the file.
    """

    messages: int
    problems: tuple[str, ...] = ()
    damaged: tuple[DamagedMessage, ...] = ()
    damaged_count: int = 0
    strays: int = 0

    @property
    def sound(self) -> bool:
        return not (self.problems or self.damaged_count or self.strays)


def with_damaged_pages(found: Verification, pages: Sequence[int]) -> Verification:
    lines = [
        f"page {page} is not as it was written; a restart saves what can be saved" for page in pages
    ]
    problems = (*found.problems, *lines)[:PROBLEMS_MAX]
    return msgspec.structs.replace(found, problems=problems)


def no_progress(_done: int, _total: int) -> None:
    pass


def verify(connection: apsw.Connection, progress: Progress = no_progress) -> Verification:
    """Verify one snapshot: a store in use is checked as it was at one moment."""
    connection.execute("BEGIN")
    try:
        problems = _structure(connection)
        try:
            return _messages(connection, progress, problems)
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
    connection: apsw.Connection, progress: Progress, problems: tuple[str, ...]
) -> Verification:
    sql = load_statements()
    problems = (*problems, *_ledger(connection, sql))[:PROBLEMS_MAX]
    body_reader = BodyReader(sql)
    names = {row[0]: f"{row[1]}/{row[2]}" for row in connection.execute(sql.select_queues)}
    total = int(connection.execute(sql.count_entries).get)
    damaged: list[DamagedMessage] = []
    done = damaged_count = missing = 0
    for page in _pages(connection, sql):
        rows = {row[0]: row for row in body_reader.rows(connection, [key[2] for key in page])}
        for entry in page:
            number, _, sequence = entry[:3]
            missing += sequence not in rows
            reason = _entry_reason(entry) or _body_reason(
                entry, rows.get(sequence), body_reader.codec
            )
            if reason:
                damaged_count += 1
                if len(damaged) < DAMAGED_LISTED_MAX:
                    name = names.get(number, str(number))
                    damaged.append(DamagedMessage(name, sequence, reason, entry[_MESSAGE_ID]))
        done += len(page)
        progress(done, total)
    # The bodies of a damaged table cannot be counted.
    bodies = done - missing if problems else int(connection.execute(sql.count_bodies).get)
    strays = max(0, bodies - (done - missing))
    return Verification(total, problems, tuple(damaged), damaged_count, strays)


def _ledger(connection: apsw.Connection, sql: Statements) -> Iterator[str]:
    for row in connection.execute(sql.check_ledger):
        if ledger_entry(row) is None:
            yield f"the checksum of the entry {row[1]} of the kind {row[0]} is wrong"


def _entry_reason(row: tuple[Any, ...]) -> str:
    crc32 = row[_CRC32]
    if crc32 is None or crc32 == entry_crc32(row[:2], Entry(*row[2:_MESSAGE_ID])):
        return ""
    return "the checksum of its entry is wrong"


def _body_reason(entry: tuple[Any, ...], row: BodyRow | None, codec: RecordCodec) -> str:
    if row is None:
        return "its body is missing or unreadable"
    try:
        place, _ = codec.placed(row)
    except DamagedRecord:
        return "its checksum is wrong"
    return "" if place in (None, entry[:2]) else "its body is that of another queue"


def _pages(connection: apsw.Connection, sql: Statements) -> Iterator[list[tuple[Any, ...]]]:
    last: tuple[int, ...] = (-1, -1, -1)
    while page := list(connection.execute(sql.page_entries, (*last, PAGE_ROWS))):
        yield page
        last = page[-1][:3]
