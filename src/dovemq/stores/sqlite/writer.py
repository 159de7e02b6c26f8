"""Group commit: everything that the loop asks for between two commits becomes one transaction.

    event loop (all methods but `_run`)              writer thread (`_run`)
    send, delete, work ──► _pending
                             │ handed over when the writer is idle
                        _committing ───────────────► Committer.commit, synced
                                                          │
    1. index, catalogue ◄── _published ◄──────────────────┤
    2. futures                                            │
    3. the next group                                checkpoint, if one is due

The loop owns the index and every future; the writer thread owns the connection that writes. A group
passes from one to the other and back, so there is no lock. Requests of one turn of the loop, or of
a crowd of clients (`Gathering`), share a commit. What arrives during a commit goes into the next.

- A send or a delete is answered after its commit. Before the answer the index is changed, so a
  client that has its answer sees what it did.
- A lease is written up to `LEASE_WRITE_MS_MAX` later. Most messages are deleted before that, and
  then their lease is never written; of the others only the newest state is.
- After a commit that failed, everything is refused until a restart: what the disk holds is unknown,
  and an fsync that failed must not be tried again (see `Committer`).
- Sweeps remove the rows of deleted queues: those of `orphans`, which an earlier process left, too.
- `committed` is called after each commit with its number of changes and its seconds.
"""

import asyncio
import contextlib
import logging
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import apsw

from dovemq.core.commands import Duplicate, Sent
from dovemq.core.entry import Entry
from dovemq.core.errors import Draining, StoreFailed, StoreFull, UnavailableError
from dovemq.stores.sqlite.committer import SWEEP_ROWS_MAX, CommitOutcome, CommitResult, Committer
from dovemq.stores.sqlite.directory import Reserve, Space
from dovemq.stores.sqlite.futures import post, reject, resolve
from dovemq.stores.sqlite.gathering import Gathering
from dovemq.stores.sqlite.group import (
    CommitGroup,
    EntryKey,
    PartitionKey,
    PendingSend,
    Touched,
    Work,
)
from dovemq.stores.sqlite.statistics import Statistics, StoreState

LEASE_WRITE_MS_MAX: Final = 200
EXPIRED_PER_GROUP_MAX: Final = 2_000

_log = logging.getLogger(__name__)


class Writer:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        committer: Committer,
        reserve: Reserve,
        statistics: Statistics,
        orphans: Iterable[int],
        committed: Callable[[int, float], None],
    ) -> None:
        self._loop = loop
        self._committer = committer
        self._space = Space(reserve, statistics)
        self._statistics = statistics
        self._committed = committed
        self._pending = CommitGroup()
        self._committing: CommitGroup | None = None
        self._touched: Touched = {}
        self._touched_due = False
        self._deleting: set[int] = set()
        self._expired: deque[tuple[PartitionKey, list[int]]] = deque()
        self._sweeps: deque[int] = deque(orphans)
        self._gathering = Gathering(loop, self._hand_over)
        self._timer: asyncio.TimerHandle | None = None
        self._closing = False
        self._stopped = False
        self._abandoned = False
        self._inbox: queue.SimpleQueue[CommitGroup | None] = queue.SimpleQueue()
        self._finish = True
        self._thread = threading.Thread(target=self._run, name="dovemq-writer", daemon=True)
        self._thread.start()
        if self._sweeps:
            self._arm()

    def check_open(self) -> None:
        if self._closing:
            raise Draining()

    def check_usable(self) -> None:
        if self._closing:
            raise Draining()
        if self._statistics.state is StoreState.FAILED:
            raise StoreFailed(self._statistics.failure or "unknown")

    def check_space(self, now_ms: int) -> None:
        """Refuse sends on a full disk; accept them again when space has returned."""
        if self._statistics.state is StoreState.OK and not self._closing:
            return
        self.check_usable()
        self._space.check_returned(now_ms)
        self._pending.remake_reserve = True

    def send(self, sending: PendingSend) -> asyncio.Future[list[Sent | Duplicate]]:
        self._pending.sendings.append(sending)
        self._schedule()
        return sending.future

    def work(
        self, run: Callable[[apsw.Connection], Any], publish: Callable[[Any], None]
    ) -> asyncio.Future[Any]:
        """Run `run` in the next transaction, and then `publish` with its result on the loop."""
        self.check_usable()
        future: asyncio.Future[Any] = self._loop.create_future()
        self._pending.works.append(Work(run, publish, future))
        self._schedule()
        return future

    def touch(self, place: PartitionKey, entries: Sequence[Entry]) -> None:
        """Write the entries' state soon; nobody waits for it."""
        touched = self._touched
        for entry in entries:
            touched[entry.sequence] = (place, entry)
        if self._timer is None:
            self._arm()

    def delete(self, place: PartitionKey, sequence: int) -> None:
        """Delete the message with the next commit; the caller then asks for `commit`."""
        # A lease that is not on disk yet need not be written any more.
        self._touched.pop(sequence, None)
        self._pending.deletes.append((*place, sequence))
        self._deleting.add(sequence)

    def deleting(self, sequence: int) -> bool:
        """Whether the message is gone from the index, but its delete is not durable yet."""
        return sequence in self._deleting

    def expire(self, place: PartitionKey, sequences: list[int]) -> None:
        """Delete expired messages in bounded pieces. Nobody waits: after a crash they expire again.

        Takes the list over.
        """
        for sequence in sequences:
            self._touched.pop(sequence, None)
        self._expired.append((place, sequences))
        if self._timer is None:
            self._arm()

    def sweep(self, queue_number: int) -> None:
        """Remove the rows of a deleted queue, `SWEEP_ROWS_MAX` with each commit."""
        self._sweeps.append(queue_number)
        self._schedule()

    def commit(self) -> asyncio.Future[None]:
        """A future that is done when everything that was asked so far is durable."""
        future: asyncio.Future[None] = self._loop.create_future()
        self._pending.waiters.append(future)
        self._schedule()
        return future

    async def flush(self) -> None:
        """Wait until everything is durable, also leases and expired messages."""
        self.check_usable()
        await self._flush()

    async def close(self) -> None:
        """Write what is pending and end the thread. A call that was cancelled may be repeated."""
        self._closing = True
        if not self._stopped:
            if self._statistics.state is not StoreState.FAILED:
                with contextlib.suppress(UnavailableError):
                    await self._flush()
            self._stop()
        await asyncio.to_thread(self._thread.join)

    def abandon(self) -> None:
        """Stop as if the process were killed: a commit under way ends, nothing else is written."""
        self._closing = self._abandoned = True
        self._finish = False
        self._stop()
        self._thread.join()
        self._fail_all(StoreFailed("abandoned"))

    async def _flush(self) -> None:
        self._touched_due = True
        await self.commit()
        while self._expired:
            await self.commit()

    def _stop(self) -> None:
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
        self._inbox.put(None)

    def _schedule(self) -> None:
        if self._committing is None:
            self._gathering.joined(self._pending.requests)

    def _arm(self) -> None:
        self._timer = self._loop.call_later(LEASE_WRITE_MS_MAX / 1_000, self._timer_ended)

    def _timer_ended(self) -> None:
        self._timer = None
        self._touched_due = True
        self._hand_over()

    def _hand_over(self) -> None:
        if self._committing is not None or self._abandoned:
            return
        group = self._pending
        if self._touched_due:
            group.freeze(self._touched)
            self._touched, self._touched_due = {}, False
        group.expired = _taken(self._expired)
        group.sweep = self._sweeps[0] if self._sweeps else None
        if not (group.writes or group.waiters or group.remake_reserve):
            return
        self._pending = CommitGroup()
        self._committing = group
        group.begun = self._loop.time()
        self._inbox.put(group)

    def _run(self) -> None:
        """The writer thread. After a failure it answers every group with it and writes no more."""
        failure: CommitResult | None = None
        while (group := self._inbox.get()) is not None:
            result = failure or self._commit_group(group)
            post(self._loop, self._published, group, result)
            if result.outcome is CommitOutcome.FAILED:
                failure = result
            elif self._committer.checkpoint_due():
                checkpointed = self._committer.checkpoint()
                post(self._loop, self._checkpointed, checkpointed)
                if checkpointed.outcome is CommitOutcome.FAILED:
                    failure = checkpointed
        if self._finish and failure is None:
            self._committer.finish()
        self._committer.close()

    def _commit_group(self, group: CommitGroup) -> CommitResult:
        try:
            return self._committer.commit(group)
        except Exception as error:
            _log.exception("unexpected error in the writer thread")
            return CommitResult(CommitOutcome.FAILED, repr(error))

    def _checkpointed(self, result: CommitResult) -> None:
        self._statistics.checkpoints += 1
        if result.outcome is CommitOutcome.FAILED:
            self._failed(result.cause)

    def _published(self, group: CommitGroup, result: CommitResult) -> None:
        """Back on the loop: the group is ours again, and the writer thread is idle."""
        if self._abandoned:
            return
        self._committing = None
        self._gathering.committed(group.requests + self._pending.requests)
        is_short = self._space.is_short(group.free_pages_bytes)
        self._committed(group.items, self._loop.time() - group.begun)
        if result.outcome is CommitOutcome.FAILED:
            self._failed(result.cause, group)
            return
        if result.outcome is CommitOutcome.FULL:
            self._put_back(group)
        else:
            try:
                self._publish(group, sent=result.outcome is CommitOutcome.COMMITTED)
            except Exception as error:
                # The disk and the index differ now, and only a restart makes them equal again.
                _log.exception("a commit cannot be published")
                self._failed(repr(error), group)
                return
            if is_short:
                self._space.refuse_sends()
        self._continue(idle=result.outcome is CommitOutcome.FULL)

    def _continue(self, *, idle: bool) -> None:
        """Start the next group: at once if somebody waits for it, else when leases are due.

        `idle`: on a full disk nothing is tried again before somebody asks for something.
        """
        pending = self._pending
        if pending.requests:
            self._schedule()
        elif idle:
            return
        elif self._expired or self._sweeps or self._touched_due:
            self._hand_over()
        elif self._touched and self._timer is None:
            self._arm()

    def _publish(self, group: CommitGroup, *, sent: bool) -> None:
        """Make the group visible, then answer its callers. Everything in it is durable.

        `publish` changes the index or the catalogue. It comes before the future of the request, and
        no other task runs in between: a client that has its answer finds the change.
        """
        for key in group.deletes:
            self._deleting.discard(key[2])
        if group.sweep is not None:
            self._statistics.swept += group.swept
            if group.swept < SWEEP_ROWS_MAX:
                self._sweeps.popleft()
        for work in group.works:
            work.publish(work.result)
            resolve(work.future, work.result)
        for waiter in group.waiters:
            resolve(waiter, None)
        if not sent:
            self._full(group)
            return
        for sending in group.sendings:
            sending.publish(sending)
            resolve(sending.future, sending.answers)

    def _full(self, group: CommitGroup) -> None:
        self._space.refuse_sends()
        for sending in group.sendings:
            self._space.ran_out(sending.now_ms)
            reject(sending.future, StoreFull())

    def _put_back(self, group: CommitGroup) -> None:
        """Keep what could not be written, deletes included; the next group tries it again.

        The index has forgotten the deleted messages already, so their deletes must not be lost. A
        lease that changed meanwhile is newer than the one in the group, and stays.
        """
        self._full(group)
        for future in group.futures():
            reject(future, StoreFull())
        self._pending.deletes[:0] = group.deletes
        self._expired.extend(((queue, part), [sequence]) for queue, part, sequence in group.expired)
        for sequence, touched in group.touched.items():
            if sequence not in self._deleting:
                self._touched.setdefault(sequence, touched)

    def _failed(self, cause: str, group: CommitGroup | None = None) -> None:
        _log.critical("a commit failed (%s): nothing is accepted until restart", cause)
        self._statistics.state = StoreState.FAILED
        self._statistics.failure = cause
        self._fail_all(StoreFailed(cause), group)

    def _fail_all(self, error: UnavailableError, group: CommitGroup | None = None) -> None:
        for failed in (group, self._committing, self._pending):
            if failed is None:
                continue
            for future in failed.futures():
                reject(future, error)
        self._committing = None
        self._pending = CommitGroup()


def _taken(expired: deque[tuple[PartitionKey, list[int]]]) -> list[EntryKey]:
    """Remove and return as many expired entries as go into one group."""
    taken: list[EntryKey] = []
    while expired and len(taken) < EXPIRED_PER_GROUP_MAX:
        place, sequences = expired[0]
        start = max(0, len(sequences) - (EXPIRED_PER_GROUP_MAX - len(taken)))
        taken += [(*place, sequence) for sequence in sequences[start:]]
        del sequences[start:]
        if not sequences:
            expired.popleft()
    return taken
