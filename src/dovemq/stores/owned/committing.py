"""Group commit: everything that the loop asks for between two commits becomes one group.

    event loop                                       journal (thread, or database)
    send, delete, touch ──► _pending
                             │ handed over when the journal is idle
                        _committing ─── start ─────► makes the group durable
                                                          │
    1. index ◄───────────── published ◄───────────────────┘
    2. futures
    3. the next group

The loop owns the index and every future. Requests of one turn of the loop, or of a crowd of clients
(`Gathering`), share a commit. What arrives during a commit goes into the next.

| asked for               | written                    | the caller waits for the commit          |
|-------------------------|----------------------------|------------------------------------------|
| send, adopt             | with the next commit       | yes; the message is visible only then    |
| delete (settle, drop)   | with the next commit       | yes; the index has forgotten it before   |
| forget_deduplication    | with the next commit       | yes                                      |
| touch (lease, extend,   | `LEASE_WRITE_MS_MAX` later | no: a crash may forget it, and then the  |
|   release)              | at most, newest state only | message is delivered again               |
| expire                  | soon, in bounded pieces    | no: after a crash it expires again       |

- Before an answer the index is changed, so a client that has its answer sees what it did.
- Most messages are deleted before their lease is written, and then it is never written.
- After a commit that failed, everything is refused: what the journal holds is unknown.
- `committed` is called after each commit with its number of changes and its seconds.
"""

import abc
import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from dovemq.core.commands import Duplicate, Sent
from dovemq.core.entry import Entry
from dovemq.core.errors import Draining, StoreFailed, StoreFull, UnavailableError
from dovemq.stores.owned.futures import reject, resolve
from dovemq.stores.owned.gathering import Gathering
from dovemq.stores.owned.group import (
    CommitGroup,
    CommitOutcome,
    CommitResult,
    EntryKey,
    PartitionKey,
    Sending,
    Touched,
)
from dovemq.stores.owned.statistics import Statistics, StoreState

LEASE_WRITE_MS_MAX: Final = 200
EXPIRED_PER_GROUP_MAX: Final = 2_000

_log = logging.getLogger(__name__)

Group = TypeVar("Group", bound=CommitGroup)


class GroupCommit(abc.ABC, Generic[Group]):
    """The loop's side of a journal; a journal implements the abstract methods."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        statistics: Statistics,
        committed: Callable[[int, float], None],
    ) -> None:
        self._loop = loop
        self._statistics = statistics
        self._committed = committed
        self._pending = self.new_group()
        self._committing: Group | None = None
        self._touched: Touched = {}
        self._touched_due = False
        self._deleting: set[int] = set()
        self._expired: deque[tuple[PartitionKey, list[int]]] = deque()
        self._gathering = Gathering(loop, self._hand_over)
        self._timer: asyncio.TimerHandle | None = None
        self._closing = False
        self._stopped = False
        self._abandoned = False

    @abc.abstractmethod
    def new_group(self) -> Group: ...

    @abc.abstractmethod
    def start(self, group: Group) -> None:
        """Begin to make the group durable; `published` is called on the loop afterwards."""

    @abc.abstractmethod
    def check_returned(self, now_ms: int) -> None:
        """Raise `StoreFull` until a full store has space for sends again."""

    @abc.abstractmethod
    def refuse_sends(self, now_ms: int | None = None) -> None:
        """The store is full. `now_ms` is the time of a send that found no space."""

    @abc.abstractmethod
    def stop(self) -> None:
        """End the journal: no group is started any more."""

    @abc.abstractmethod
    async def stopped(self) -> None:
        """Wait until the journal has ended."""

    def add_work(self, group: Group) -> None:
        """Add work of the journal's own to a group that is about to be started."""

    def has_work(self) -> bool:
        """Whether the journal has work of its own that no caller waits for."""
        return False

    def publish_work(self, group: Group) -> None:
        """Publish the journal's own part of a durable group."""

    def check_open(self) -> None:
        if self._closing:
            raise Draining()

    def check_usable(self) -> None:
        if self._closing:
            raise Draining()
        if self._statistics.state is StoreState.FAILED:
            raise StoreFailed(self._statistics.failure or "unknown")

    def check_space(self, now_ms: int) -> None:
        """Refuse sends to a full store; accept them again when space has returned."""
        if self._statistics.state is StoreState.OK and not self._closing:
            return
        self.check_usable()
        self.check_returned(now_ms)

    def send(self, sending: Sending) -> asyncio.Future[list[Sent | Duplicate]]:
        self._pending.sendings.append(sending)
        self._schedule()
        return sending.future

    def touch(self, place: PartitionKey, entries: Sequence[Entry]) -> None:
        """Write the entries' state soon; nobody waits for it."""
        touched = self._touched
        for entry in entries:
            touched[entry.sequence] = (place, entry)
        if self._timer is None:
            self._arm()

    def delete(self, place: PartitionKey, sequence: int) -> None:
        """Delete the message with the next commit; the caller then asks for `commit`."""
        # A lease that is not durable yet need not be written any more.
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

    def forget_deduplication(self, place: PartitionKey, sent_before_ms: int) -> None:
        """Forget ids with the next commit; the caller then asks for `commit`."""
        self._pending.forgets.append((place, sent_before_ms))

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
        """Write what is pending and end the journal. A call that was cancelled may be repeated."""
        self._closing = True
        if not self._stopped:
            if self._statistics.state is not StoreState.FAILED:
                with contextlib.suppress(UnavailableError):
                    await self._flush()
            self._stop()
        await self.stopped()

    def abandon(self) -> None:
        """Stop as if the process were killed: a commit under way ends, nothing else is written."""
        self._closing = self._abandoned = True
        self._stop()
        self._fail_all(StoreFailed("abandoned"))

    def published(self, group: Group, result: CommitResult) -> None:
        """Take a group back from the journal, which is idle now. Called on the loop."""
        if self._abandoned:
            return
        self._committing = None
        self._gathering.committed(group.requests + self._pending.requests)
        self._committed(group.items, self._loop.time() - group.begun)
        if result.outcome is CommitOutcome.FAILED:
            self.fail(result.cause, group)
            return
        if result.outcome is CommitOutcome.FULL:
            self._put_back(group)
        else:
            try:
                self._publish(group, sent=result.outcome is CommitOutcome.COMMITTED)
            except Exception as error:
                # The journal and the index differ now, and only a restart makes them equal again.
                _log.exception("a commit cannot be published")
                self.fail(repr(error), group)
                return
        self._continue(idle=result.outcome is CommitOutcome.FULL)

    def fail(self, cause: str, group: Group | None = None) -> None:
        """Refuse everything from now on, and all who wait."""
        _log.critical("a commit failed (%s): nothing is accepted until restart", cause)
        self._statistics.state = StoreState.FAILED
        self._statistics.failure = cause
        self._fail_all(StoreFailed(cause), group)

    async def _flush(self) -> None:
        self._touched_due = True
        await self.commit()
        while self._expired:
            await self.commit()

    def _stop(self) -> None:
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
        self.stop()

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
            group.touched = self._touched
            self._touched, self._touched_due = {}, False
        group.expired = _taken(self._expired)
        self.add_work(group)
        if not (group.writes or group.waiters):
            return
        self._pending = self.new_group()
        self._committing = group
        group.begun = self._loop.time()
        self.start(group)

    def _continue(self, *, idle: bool) -> None:
        """Start the next group: at once if somebody waits for it, else when leases are due.

        `idle`: in a full store nothing is tried again before somebody asks for something.
        """
        if self._pending.requests:
            self._schedule()
        elif idle:
            return
        elif self._expired or self._touched_due or self.has_work():
            self._hand_over()
        elif self._touched and self._timer is None:
            self._arm()

    def _publish(self, group: Group, *, sent: bool) -> None:
        """Make the group visible, then answer its callers. Everything in it is durable.

        `publish` changes the index. It comes before the future of the request, and no other task
        runs in between: a client that has its answer finds the change.
        """
        for key in group.deletes:
            self._deleting.discard(key[2])
        self.publish_work(group)
        for waiter in group.waiters:
            resolve(waiter, None)
        if not sent:
            self._full(group)
            return
        for sending in group.sendings:
            sending.publish(sending)
            resolve(sending.future, [item.answer for item in sending.items])

    def _full(self, group: Group) -> None:
        self.refuse_sends()
        for sending in group.sendings:
            self.refuse_sends(sending.now_ms)
            reject(sending.future, StoreFull())

    def _put_back(self, group: Group) -> None:
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

    def _fail_all(self, error: UnavailableError, group: Group | None = None) -> None:
        for failed in (group, self._committing, self._pending):
            if failed is None:
                continue
            for future in failed.futures():
                reject(future, error)
        self._committing = None
        self._pending = self.new_group()


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
