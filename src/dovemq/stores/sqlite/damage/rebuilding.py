"""Builds a new database from the rows of a damaged one.

A message has two rows, an entry and a body, which are written and deleted together. So it still
exists when either of them is found on a page in use and its checksum is right:

    entry and body    kept
    entry alone       the body is searched in every older version of every page; else it is lost
    body alone        the newest older entry is used, or a new one is made: the message is visible

Bodies never change, so an older copy with the right checksum is the body.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import apsw
from msgspec import Struct

from dovemq.core import limits
from dovemq.core.entry import Entry
from dovemq.core.ledger import LedgerEntry
from dovemq.core.message import Message
from dovemq.core.queue import Queue, QueueKey, QueueSettings
from dovemq.core.sending import stored_units
from dovemq.stores.owned.group import BodyRow, PartitionKey
from dovemq.stores.owned.records import DamagedRecord, RecordCodec, deduplication_digest
from dovemq.stores.sqlite.committer import SEQUENCE_KEY
from dovemq.stores.sqlite.damage.report import DamagedMessage, DamageReportBuilder
from dovemq.stores.sqlite.damage.salvage import Found, RowSalvage
from dovemq.stores.sqlite.guards import entry_crc32, entry_row
from dovemq.stores.sqlite.ledger import ledger_entry, ledger_row
from dovemq.stores.sqlite.rows import queue_columns, queue_from_row
from dovemq.stores.sqlite.schema import load_steps, migrate
from dovemq.stores.sqlite.statements import load_statements, read_sections

SEQUENCES_SKIPPED: Final = 1 << 32
"""Sequences skipped: numbers whose rows were lost must not be used again."""

NUMBERS_SKIPPED: Final = 1_000_000
"""Numbers of queues and moves skipped, for the same reason."""

_CATALOGUE: Final = ("meta", "queue", "move", "account")
"""Tables that have a copy, with the name of the table and `_twin`."""
_ROWID_TABLES: Final = ("queue", "move")
_COLUMNS: Final = {
    "meta": 2,
    "queue": 8,
    "move": 4,
    "account": 4,
    "body": 3,
    "entry": 12,
    "deduplication": 5,
    "ledger": 9,
}
_ENTRY_COLUMNS_MIN: Final = 9
"""Columns of an entry that the first release wrote."""
_UNITS_OF_OLD: Final = 2
_UNKNOWN_ACCOUNT: Final = "000000000000"


class KeptEntry(Struct, frozen=True):
    place: PartitionKey
    entry: Entry
    adopted_id: str | None
    message_id: str | None

    def row(self) -> tuple[Any, ...]:
        return entry_row(self.place, self.entry, self.adopted_id, self.message_id)


class Rebuilding:
    def __init__(self, salvage: RowSalvage, target: Path, builder: DamageReportBuilder) -> None:
        self._salvage = salvage
        self._builder = builder
        self._sql = load_statements()
        self._own_sql = read_sections("damage", "rebuilding.sql")
        self._inserts = {
            table: f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * count)})"
            for table, count in _COLUMNS.items()
        }
        self._codec = RecordCodec()
        self._broken: dict[int, int] = {}
        """Pages on which bodies are damaged, by sequence."""
        self._doubtful: dict[int, PartitionKey] = {}
        """Entries from unsound pages, by sequence: their checksum does not cover the message id."""
        self._queues: dict[int, Queue] = {}
        self._ledger: dict[tuple[str, str], LedgerEntry] = {}
        self._connection = apsw.Connection(str(target))
        # The file is synced once, when it is complete; until then nobody uses it.
        self._connection.pragma("journal_mode", "off")
        self._connection.pragma("synchronous", "off")

    def run(self) -> int:
        """Fill the new database and return its number of messages."""
        connection = self._connection
        try:
            migrate(connection, load_steps())
            connection.execute("BEGIN")
            catalogue_whole = self._keep_catalogue()
            self._keep_messages()
            self._find_bodies()
            self._make_entries(catalogue_whole)
            if not catalogue_whole:
                self._make_queues()
            self._make_deduplication()
            self._keep_ledger()
            self._set_ids()
            self._skip_numbers()
            connection.execute("COMMIT")
            return int(connection.execute(self._sql.count_entries).get)
        finally:
            connection.close(True)

    def _keep(self, table: str, row: Sequence[Any]) -> None:
        """Insert a row with all columns, unless there is one with its key already."""
        self._connection.execute(self._inserts[table], row)

    def _keep_catalogue(self) -> bool:
        """Keep queues, moves and accounts; whether each row was intact in one of its two copies."""
        whole = True
        for table in _CATALOGUE:
            names = (table, f"{table}_twin")
            doubtful: list[set[tuple[Any, ...]]] = [set(), set()]
            for name, rows in zip(names, doubtful, strict=True):
                for found in self._salvage.rows(name):
                    row = _catalogue_row(table, found)
                    if len(row) != _COLUMNS[table]:
                        continue
                    if found.sound:
                        self._keep(table, row)
                    else:
                        rows.add(row)
            # Rows of unsound pages count if both copies agree.
            for row in doubtful[0] & doubtful[1]:
                self._keep(table, row)
            if all(map(self._salvage.is_damaged, names)):
                whole = False
                self._builder.notes.append(f"both copies of the table {table} are damaged")
        known = self._connection.execute(self._sql.select_queues)
        self._queues = {row[0]: queue_from_row(row) for row in known}
        return whole

    def _keep_messages(self) -> None:
        for found in self._salvage.rows("body"):
            self._keep_body(found)
        for found in self._salvage.rows("entry"):
            self._keep_entry(found)
        for found in self._salvage.rows("ledger"):
            self._note_ledger(found)
        for found in self._salvage.rows("deduplication"):
            values = found.row.values
            # These rows have no checksum, so those of unsound pages are dropped.
            if found.sound and values is not None and len(values) == _COLUMNS["deduplication"]:
                self._keep("deduplication", values)
        self._salvage.reach_others((*_COLUMNS, *(f"{name}_twin" for name in _CATALOGUE)))
        if any(map(self._salvage.is_damaged, ("body", "entry", "ledger"))):
            for found in self._salvage.unreached():
                self._keep_body(found)
                self._keep_entry(found)
                self._note_ledger(found)

    def _keep_body(self, found: Found) -> None:
        row = _body_row(found)
        if row is None:
            return
        try:
            self._codec.placed(row)
        except DamagedRecord:
            damaged = [each for each in found.row.pages if each in self._salvage.damaged]
            self._broken[row[0]] = damaged[0] if damaged else found.page
            return
        self._keep("body", row)

    def _keep_entry(self, found: Found) -> None:
        kept = _entry_of(found)
        if kept is not None:
            self._keep("entry", kept.row())
            if not found.sound:
                self._doubtful[kept.entry.sequence] = kept.place

    def _note_ledger(self, found: Found) -> None:
        values = found.row.values
        if found.row.rowid is None or values is None or len(values) != _COLUMNS["ledger"]:
            return
        entry = ledger_entry(values[1:])
        if entry is None:
            return
        key = (entry.kind, entry.name)
        held = self._ledger.get(key)
        if held is None or held.version < entry.version:
            self._ledger[key] = entry

    def _keep_ledger(self) -> None:
        """Keep the newest intact version of each entry; a job may go back to an earlier one."""
        if self._salvage.is_damaged("ledger"):
            known = len(self._ledger)
            for found in self._salvage.older():
                self._note_ledger(found)
            self._builder.notes.append(
                "the table ledger is damaged: jobs of workflows may be lost or as they were "
                f"before ({len(self._ledger) - known} found in older pages alone)"
            )
        for entry in self._ledger.values():
            self._keep("ledger", ledger_row(entry))

    def _make_deduplication(self) -> None:
        """Make the deduplication rows of kept messages again, if their table is damaged."""
        if not self._salvage.is_damaged("deduplication"):
            return
        self._builder.notes.append("deduplication ids of messages that were deleted may be lost")
        for row in list(self._connection.execute(self._own_sql["all_bodies"])):
            place, message = self._codec.placed(row)
            queue = self._queues.get(place[0]) if place is not None else None
            if queue is None or not queue.settings.fifo:
                continue
            key = deduplication_digest(queue.settings, message)
            expires_ms = message.sent_ms + limits.DEDUPLICATION_MS
            claim = (queue.number, key, expires_ms, message.message_id, message.sequence)
            self._keep("deduplication", claim)

    def _find_bodies(self) -> None:
        """Search older copies of missing bodies; report the messages that are lost."""
        wanted = {row[2] for row in self._connection.execute(self._own_sql["entries_without_body"])}
        if wanted:
            for found in self._salvage.older():
                if found.row.rowid in wanted:
                    self._keep_body(found)
        lost = list(self._connection.execute(self._own_sql["entries_without_body"]))
        for queue, partition, sequence, message_id in lost:
            page = self._broken.get(sequence)
            where = "a page that is gone" if page is None else f"page {page}"
            reason = f"lost, its body was damaged on {where}"
            if sequence in self._doubtful:
                reason += ", and its id stood on a damaged page too"
            name = self._queue_name(queue)
            self._builder.lost.append(DamagedMessage(name, sequence, reason, message_id))
            self._connection.execute(self._sql.delete_entry, (queue, partition, sequence))

    def _make_entries(self, catalogue_whole: bool) -> None:
        self._connection.execute(self._own_sql["note_entries"])
        lone = list(self._connection.execute(self._own_sql["bodies_without_entry"]))
        states = self._older_states({row[0] for row in lone})
        for row in lone:
            place, message = self._codec.placed(row)
            if place is not None and self._is_queue(place[0], message, catalogue_whole):
                self._return(place, message, states.get(message.sequence))
                continue
            self._connection.execute(self._sql.delete_body, (message.sequence,))
            if place is None:
                reason = "lost, since its queue is not known any more"
                self._builder.lost.append(
                    DamagedMessage("unknown", message.sequence, reason, message.message_id)
                )

    def _older_states(self, wanted: set[int]) -> dict[int, KeptEntry]:
        """Older entries of these messages; of several, the one with the most receives."""
        states: dict[int, KeptEntry] = {}
        if not wanted:
            return states
        for found in self._salvage.older():
            kept = _entry_of(found)
            if kept is None or kept.entry.sequence not in wanted:
                continue
            held = states.get(kept.entry.sequence)
            if held is None or _age(kept) > _age(held):
                states[kept.entry.sequence] = kept
        return states

    def _return(self, place: PartitionKey, message: Message, state: KeptEntry | None) -> None:
        if state is None or state.place != place:
            units = stored_units(message)
            sent_ms, sequence = message.sent_ms, message.sequence
            entry = Entry(sequence, sent_ms, sent_ms, 0, 0, message.group, units)
            state = KeptEntry(place, entry, None, message.message_id)
            reason = "its lease, delay and receive count were lost; it is visible again"
        else:
            reason = "its lease and receive count may be older than they were"
        self._keep("entry", state.row())
        name = self._queue_name(place[0])
        self._builder.returned.append(
            DamagedMessage(name, message.sequence, reason, message.message_id)
        )

    def _is_queue(self, number: int, message: Message, catalogue_whole: bool) -> bool:
        """Whether the queue exists. Rows of a removed queue were about to be swept."""
        if number not in self._queues and not catalogue_whole:
            self._make_queue(number, message)
        return number in self._queues

    def _make_queues(self) -> None:
        for row in list(self._connection.execute(self._own_sql["first_bodies"])):
            place, message = self._codec.placed(row)
            if place is not None and place[0] not in self._queues:
                self._make_queue(place[0], message)

    def _make_queue(self, number: int, message: Message) -> None:
        """Make a queue with a new name and default settings, since its own are lost."""
        fifo = message.deduplication_id is not None
        name = f"recovered-{number}{limits.FIFO_SUFFIX if fifo else ''}"
        now_ms = message.sent_ms
        key = QueueKey(_UNKNOWN_ACCOUNT, name)
        queue = Queue(number, key, QueueSettings(fifo=fifo), now_ms, now_ms)
        row = (number, key.account, name, *queue_columns(queue), now_ms, now_ms, queue.version)
        self._keep("queue", row)
        self._queues[number] = queue
        self._builder.notes.append(f"queue {number} lost its name and settings; it is now {key}")

    def _set_ids(self) -> None:
        for sequence, place in self._doubtful.items():
            for row in list(self._connection.execute(self._sql.select_body, (sequence,))):
                message_id = self._codec.message(row).message_id
                self._connection.execute(self._own_sql["set_id"], (message_id, *place, sequence))

    def _skip_numbers(self) -> None:
        known = dict(self._connection.execute(self._own_sql["select_meta"]))
        newest = int(self._connection.execute(self._own_sql["newest_sequence"]).get)
        reserved = max(int(known.get(SEQUENCE_KEY, 0)), newest) + SEQUENCES_SKIPPED
        self._connection.execute(self._sql.set_meta, (SEQUENCE_KEY, reserved))
        for table in _ROWID_TABLES:
            self._connection.execute(self._own_sql["raise_numbers"], (table, 0, NUMBERS_SKIPPED))

    def _queue_name(self, number: int) -> str:
        queue = self._queues.get(number)
        return str(queue.key) if queue is not None else str(number)


def _catalogue_row(table: str, found: Found) -> tuple[Any, ...]:
    values = found.row.values or []
    return (found.row.rowid, *values[1:]) if table in _ROWID_TABLES else tuple(values)


def _body_row(found: Found) -> BodyRow | None:
    rowid, values = found.row.rowid, found.row.values
    if rowid is None:
        return None
    if values is None:
        return (rowid, -1, b"")
    if len(values) != _COLUMNS["body"] or not isinstance(values[2], bytes):
        return None
    return (rowid, values[1] if isinstance(values[1], int) else -1, values[2])


def _entry_of(found: Found) -> KeptEntry | None:
    """The entry, if its checksum is right; without one (older releases) if its page is sound."""
    values = found.row.values
    if found.row.rowid is not None or values is None or len(values) < _ENTRY_COLUMNS_MIN:
        return None
    if not _is_entry(values):
        return None
    queue, partition, sequence, visible_ms, sent_ms, receive_count, first_ms = values[:7]
    group, adopted_id = values[7:9]
    units, message_id, crc32 = (*values[9:12], None, None, None)[:3]
    units = units if isinstance(units, int) else _UNITS_OF_OLD
    entry = Entry(sequence, visible_ms, sent_ms, receive_count, first_ms, group, units)
    if crc32 is None and not found.sound:
        return None
    if crc32 is not None and crc32 != entry_crc32((queue, partition), entry):
        return None
    return KeptEntry((queue, partition), entry, adopted_id, message_id)


def _is_entry(values: list[object]) -> bool:
    texts = (*values[7:9], *values[10:11])
    return (
        len(values) <= _COLUMNS["entry"]
        and all(isinstance(value, int) for value in values[:7])
        and all(value is None or isinstance(value, str) for value in texts)
    )


def _age(kept: KeptEntry) -> tuple[int, int]:
    return kept.entry.receive_count, kept.entry.visible_ms
