"""The embedded store's journal: a thread that commits groups to SQLite.

    event loop                                       writer thread (`_run`)
    `GroupCommit` ── start ──► _inbox ─────────────► Committer.commit, synced
         ▲                                                │
         └─────────── _committed_group ◄──────────────────┤
                                                     checkpoint, if one is due

The loop owns the index and every future; the writer thread owns the connection that writes. A group
passes from one to the other and back, so there is no lock.

- After a commit that failed, everything is refused until a restart: what the disk holds is unknown,
  and an fsync that failed must not be tried again (see `Committer`).
- Sweeps remove the rows of deleted queues: those of `orphans`, which an earlier process left, too.
"""

import asyncio
import logging
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import apsw

from dovemq.stores.owned.committing import GroupCommit
from dovemq.stores.owned.futures import post, resolve
from dovemq.stores.owned.group import CommitOutcome, CommitResult
from dovemq.stores.owned.statistics import Statistics
from dovemq.stores.sqlite.committer import SWEEP_ROWS_MAX, Committer
from dovemq.stores.sqlite.directory import Reserve, Space
from dovemq.stores.sqlite.group import SqliteGroup, Work

_log = logging.getLogger(__name__)


class Writer(GroupCommit[SqliteGroup]):
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        committer: Committer,
        reserve: Reserve,
        statistics: Statistics,
        orphans: Iterable[int],
        committed: Callable[[int, float], None],
    ) -> None:
        super().__init__(loop, statistics, committed)
        self._committer = committer
        self._space = Space(reserve, statistics)
        self._sweeps: deque[int] = deque(orphans)
        self._inbox: queue.SimpleQueue[SqliteGroup | None] = queue.SimpleQueue()
        self._finish = True
        self._thread = threading.Thread(target=self._run, name="dovemq-writer", daemon=True)
        self._thread.start()
        if self._sweeps:
            self._arm()

    def new_group(self) -> SqliteGroup:
        return SqliteGroup()

    def start(self, group: SqliteGroup) -> None:
        group.freeze()
        self._inbox.put(group)

    def check_returned(self, now_ms: int) -> None:
        self._space.check_returned(now_ms)
        self._pending.remake_reserve = True

    def refuse_sends(self, now_ms: int | None = None) -> None:
        self._space.refuse_sends()
        if now_ms is not None:
            self._space.ran_out(now_ms)

    def work(
        self, run: Callable[[apsw.Connection], Any], publish: Callable[[Any], None]
    ) -> asyncio.Future[Any]:
        """Run `run` in the next transaction, and then `publish` with its result on the loop."""
        self.check_usable()
        future: asyncio.Future[Any] = self._loop.create_future()
        self._pending.works.append(Work(run, publish, future))
        self._schedule()
        return future

    def sweep(self, queue_number: int) -> None:
        """Remove the rows of a deleted queue, `SWEEP_ROWS_MAX` with each commit."""
        self._sweeps.append(queue_number)
        self._schedule()

    def add_work(self, group: SqliteGroup) -> None:
        group.sweep = self._sweeps[0] if self._sweeps else None

    def has_work(self) -> bool:
        return bool(self._sweeps)

    def publish_work(self, group: SqliteGroup) -> None:
        if group.sweep is not None:
            self._statistics.swept += group.swept
            if group.swept < SWEEP_ROWS_MAX:
                self._sweeps.popleft()
        for work in group.works:
            work.publish(work.result)
            resolve(work.future, work.result)

    def stop(self) -> None:
        self._inbox.put(None)

    async def stopped(self) -> None:
        await asyncio.to_thread(self._thread.join)

    def abandon(self) -> None:
        self._finish = False
        super().abandon()
        self._thread.join()

    def _run(self) -> None:
        """The writer thread. After a failure it answers every group with it and writes no more."""
        failure: CommitResult | None = None
        while (group := self._inbox.get()) is not None:
            result = failure or self._commit_group(group)
            post(self._loop, self._committed_group, group, result)
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

    def _commit_group(self, group: SqliteGroup) -> CommitResult:
        try:
            return self._committer.commit(group)
        except Exception as error:
            _log.exception("unexpected error in the writer thread")
            return CommitResult(CommitOutcome.FAILED, repr(error))

    def _committed_group(self, group: SqliteGroup, result: CommitResult) -> None:
        """Back on the loop: the group is ours again, and the writer thread is idle."""
        if self._space.is_short(group.free_pages_bytes):
            self._space.refuse_sends()
        self.published(group, result)

    def _checkpointed(self, result: CommitResult) -> None:
        self._statistics.checkpoints += 1
        if result.outcome is CommitOutcome.FAILED:
            self.fail(result.cause)
