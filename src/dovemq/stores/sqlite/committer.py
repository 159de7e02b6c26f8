"""The writer thread's side of a commit: one group becomes one transaction.

Owns the only connection that writes and checkpoints. Every method runs on the writer thread, and
none knows the event loop.

The order of a commit keeps three promises:

    BEGIN ─ deletes ─ sends ─ updates ─ catalogue ─ COMMIT ─────► the log is synced (FULL)
                                                      │
                                                      └► log hook: the seals note the new frame
    checkpoint ─► pages copied into the database, synced ─► the seals of these pages, synced
                                                                        │
                    only now may the next commit write the log from its start

1. SQLite calls the log hook after its sync, so a mark in the seals never runs ahead of the disk.
2. A page is vouched for by the log until its seal is synced: the same thread seals and commits, so
   no commit can overwrite the log in between.
3. A commit or checkpoint that fails for another reason than a full disk is final (FAILED). After a
   failed fsync the kernel may drop the pages and report success the next time: nothing may be
   written on top of what the disk may not hold.
"""

from typing import Final

import apsw

from dovemq.core import limits
from dovemq.core.commands import Duplicate, Sent
from dovemq.stores.owned.group import CommitOutcome, CommitResult, Sending, SendItem
from dovemq.stores.sqlite.connection import out_of_space
from dovemq.stores.sqlite.directory import Reserve
from dovemq.stores.sqlite.group import SEQUENCES_RESERVED, SqliteGroup
from dovemq.stores.sqlite.guards import entry_crc32, entry_row
from dovemq.stores.sqlite.seals import SealFile
from dovemq.stores.sqlite.statements import Statements

CHECKPOINT_PAGES: Final = 2_000
"""Pages of the log between two checkpoints; fewer on a volume with a small reserve."""
SWEEP_ROWS_MAX: Final = 100
DEDUPLICATIONS_EXPIRED_MIN: Final = 20
SEQUENCE_KEY: Final = "sequence_reserved"


class Committer:
    def __init__(
        self,
        connection: apsw.Connection,
        sql: Statements,
        reserve: Reserve,
        reserved: int,
        seals: SealFile,
        messages: int,
    ) -> None:
        self._connection = connection
        self._sql = sql
        self._reserve = reserve
        self._page_bytes = int(connection.pragma("page_size"))
        self._checkpoint_pages = min(CHECKPOINT_PAGES, reserve.size // self._page_bytes)
        self._reserved = reserved
        self._seals = seals
        self._messages = messages
        self._short_of_space = not reserve.make()
        self._wal_pages = 0
        self._wal_pages_checkpointed = 0
        self._log_copied = False
        connection.set_wal_hook(self._note_wal_pages)

    def commit(self, group: SqliteGroup) -> CommitResult:
        if group.remake_reserve:
            self._short_of_space = not self._reserve.make()
        try:
            self._apply(group, sends=True)
            if self._short_of_space:
                group.free_pages_bytes = self._free_pages_bytes()
            return CommitResult(CommitOutcome.COMMITTED)
        except apsw.Error as error:
            if not out_of_space(error):
                return _failure(error)
        return self._commit_rest(group)

    def checkpoint_due(self) -> bool:
        if self._wal_pages < self._wal_pages_checkpointed:
            self._wal_pages_checkpointed = 0
        return self._wal_pages >= self._wal_pages_checkpointed + self._checkpoint_pages

    def checkpoint(self) -> CommitResult:
        """Copy the log into the database, as far as readers allow; a later call copies the rest."""
        self._wal_pages_checkpointed = self._wal_pages
        return self._checkpoint(apsw.SQLITE_CHECKPOINT_PASSIVE)

    def finish(self) -> CommitResult:
        """Leave one file behind and an empty log, so that the next start is quick."""
        result = self._checkpoint(apsw.SQLITE_CHECKPOINT_PASSIVE)
        if not self._log_copied:
            return result
        return self._checkpoint(apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def close(self) -> None:
        self._connection.close(True)

    def _commit_rest(self, group: SqliteGroup) -> CommitResult:
        """Commit everything but the sends on a full disk.

        The reserve gives space to the checkpoint, and after that the log starts from its beginning
        again, in space that it has already.
        """
        self._short_of_space = True
        self._reserve.release()
        checkpointed = self.checkpoint()
        if checkpointed.outcome is CommitOutcome.FAILED:
            return checkpointed
        try:
            self._apply(group, sends=False)
            group.free_pages_bytes = self._free_pages_bytes()
            return CommitResult(CommitOutcome.SENDS_REFUSED)
        except apsw.Error as error:
            return _failure(error)

    def _checkpoint(self, mode: int) -> CommitResult:
        try:
            self._log_copied = False
            frames, copied = self._connection.wal_checkpoint(mode=mode)
            self._seals.checkpointed(copied)
            self._log_copied = frames == copied
        except OSError as error:
            return CommitResult(CommitOutcome.FAILED, f"pages cannot be sealed: {error.strerror}")
        except apsw.BusyError:
            return CommitResult(CommitOutcome.COMMITTED)
        except apsw.Error as error:
            return _failure(error)
        return CommitResult(CommitOutcome.COMMITTED)

    def _apply(self, group: SqliteGroup, *, sends: bool) -> None:
        if not group.writes:
            return
        connection = self._connection
        messages = self._messages
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Deletes first: a message that was settled here may be adopted again in this group.
            self._delete(group)
            self._forget(group)
            reserved = self._send(group) if sends else self._reserved
            if group.updates:
                connection.executemany(self._sql.update_entry, group.updates)
            for work in group.works:
                work.result = work.run(connection)
            connection.execute("COMMIT")
        except BaseException:
            # Some errors (a full disk among them) have rolled back already.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            self._messages = messages
            raise
        # Not before the commit: after a rollback the next group must write the mark again.
        self._reserved = reserved

    def _delete(self, group: SqliteGroup) -> None:
        keys = [*group.deletes, *group.expired]
        if group.sweep is not None:
            swept = list(
                self._connection.execute(self._sql.sweep_select, (group.sweep, SWEEP_ROWS_MAX))
            )
            group.swept = len(swept)
            keys += swept
        if keys:
            self._messages -= len(keys)
            self._connection.executemany(self._sql.delete_entry, keys)
            self._connection.executemany(self._sql.delete_body, [(key[2],) for key in keys])

    def _send(self, group: SqliteGroup) -> int:
        """Write what is new; return the sequence up to which numbers are reserved."""
        if not group.sendings:
            return self._reserved
        bodies = []
        entries = []
        for sending in group.sendings:
            if sending.adopted:
                self._adopt(sending)
                continue
            place = sending.place
            for item in sending.items:
                if item.key is not None and not self._claim(item, item.key, sending):
                    continue
                entry = item.entry
                bodies.append(item.body)
                row = (*place, entry.sequence, entry.visible_ms, entry.sent_ms, entry.group)
                message_id = item.message.message_id
                entries.append((*row, entry.units, message_id, entry_crc32(place, entry)))
        if bodies:
            self._messages += len(bodies)
            self._connection.executemany(self._sql.insert_body, bodies)
            self._connection.executemany(self._sql.insert_entry, entries)
        self._expire_deduplication(group.sendings)
        return self._reserve_sequences(group.sendings[-1].items[-1].entry.sequence)

    def _reserve_sequences(self, last: int) -> int:
        if last <= self._reserved:
            return self._reserved
        reserved = last + SEQUENCES_RESERVED
        self._connection.execute(self._sql.set_meta, (SEQUENCE_KEY, reserved))
        return reserved

    def _claim(self, item: SendItem, key: bytes, sending: Sending) -> bool:
        """Whether the deduplication key is new; if not, the item is answered as a duplicate."""
        queue, now_ms = sending.place[0], sending.now_ms
        ids = (item.message.message_id, item.entry.sequence)
        claim = (queue, key, now_ms + limits.DEDUPLICATION_MS, *ids, now_ms)
        if self._connection.execute(self._sql.claim_deduplication, claim).get is not None:
            return True
        first = self._connection.execute(self._sql.find_deduplication, (queue, key)).get
        item.accepted = False
        item.answer = Duplicate(*first)
        return False

    def _expire_deduplication(self, sendings: list[Sending]) -> None:
        """Delete twice as many old ids as came in, so that the table shrinks to the recent ones."""
        claimed = sum(len(each.items) for each in sendings if each.items[0].key is not None)
        if claimed:
            count = max(DEDUPLICATIONS_EXPIRED_MIN, 2 * claimed)
            bound = (sendings[-1].now_ms, count)
            self._connection.execute(self._sql.expire_deduplication, bound)

    def _forget(self, group: SqliteGroup) -> None:
        for place, sent_before_ms in group.forgets:
            bound = (place[0], sent_before_ms + limits.DEDUPLICATION_MS)
            self._connection.execute(self._sql.forget_deduplication, bound)

    def _adopt(self, sending: Sending) -> None:
        for item in sending.items:
            message_id = item.message.message_id
            row = entry_row(sending.place, item.entry, message_id, message_id)
            if self._connection.execute(self._sql.adopt_entry, row).get is not None:
                self._connection.execute(self._sql.insert_body, item.body)
                self._messages += 1
                continue
            key = (*sending.place, message_id)
            sequence = self._connection.execute(self._sql.find_adopted, key).get
            item.accepted = False
            item.answer = Sent(message_id, sequence)

    def _free_pages_bytes(self) -> int:
        return int(self._connection.pragma("freelist_count")) * self._page_bytes

    def _note_wal_pages(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        """SQLite's log hook: called within COMMIT, after the sync of the log."""
        self._wal_pages = pages
        self._seals.committed(pages, self._messages)
        return apsw.SQLITE_OK


def _failure(error: apsw.Error) -> CommitResult:
    if out_of_space(error):
        return CommitResult(CommitOutcome.FULL)
    return CommitResult(CommitOutcome.FAILED, str(error))
