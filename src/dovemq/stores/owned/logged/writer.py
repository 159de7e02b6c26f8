"""Group commit of one partition into its log.

    start(group) ─► duplicates decided ─► one append or several ─► lease still held ─► published
                                                                        │
                                                        one step of upkeep, then the next group

One task does this while there is something to do, so that one append is under way at most.

- *The database does not answer*: the append is repeated until it is answered. After
  `CALLERS_WAIT_MS_MAX` the callers get `StoreUnreachable`, and new requests are refused at once,
  until the append has succeeded; then all that was asked for is in the index after all.
- *The owner has changed*, or the lease has ended before the answer: nothing of the group is
  answered as done. All callers get `OwnerChanged`, now and later, and `lost` is called.
- *The database is full*: sends are refused, and everything else is appended without them. A send
  may try again once in `FULL_RETRY_MS`.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from dovemq.core.commands import Duplicate, Sent
from dovemq.core.errors import OwnerChanged, StoreFull, StoreUnreachable
from dovemq.core.index import Index
from dovemq.stores.owned.committing import GroupCommit
from dovemq.stores.owned.futures import reject
from dovemq.stores.owned.group import (
    CommitGroup,
    CommitOutcome,
    CommitResult,
    PartitionKey,
    Sending,
    SendItem,
)
from dovemq.stores.owned.logged.appending import Appending, Holds
from dovemq.stores.owned.logged.dividing import divided
from dovemq.stores.owned.logged.encoding import LogGroup
from dovemq.stores.owned.logged.identities import Identities
from dovemq.stores.owned.logged.segments import Segments
from dovemq.stores.owned.logged.upkeep import Upkeep
from dovemq.stores.owned.statistics import Statistics, StoreState

CALLERS_WAIT_MS_MAX: Final = 5_000
FULL_RETRY_MS: Final = 1_000
UPKEEP_RETRY_MS: Final = 1_000
"""Upkeep that had to wait is tried again after this long, if no group comes before."""

_log = logging.getLogger(__name__)


class LogWriter(GroupCommit[CommitGroup]):
    """`upkeep` is set when all of the index is loaded; until then the log is only appended to."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        statistics: Statistics,
        committed: Callable[[int, float], None],
        *,
        place: PartitionKey,
        appending: Appending,
        segments: Segments,
        identities: Identities,
        index: Index,
        holds: Holds,
        lost: Callable[[], None],
    ) -> None:
        super().__init__(loop, statistics, committed)
        self._place = place
        self._appending = appending
        self._segments = segments
        self._identities = identities
        self._index = index
        self._holds = holds
        self._lost = lost
        self._is_lost = False
        self._started: CommitGroup | None = None
        self._task: asyncio.Task[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._silent = False
        self._full_until_ms = 0
        self.upkeep: Upkeep | None = None

    def new_group(self) -> CommitGroup:
        return CommitGroup()

    def check_owned(self) -> None:
        if self._is_lost or not self._holds():
            raise OwnerChanged(*self._place)

    def check_usable(self) -> None:
        if not self._closing or self._is_lost:
            self.check_owned()
        super().check_usable()
        if self._silent:
            raise self._appending.unreachable or StoreUnreachable("of this partition", "no answer")

    def check_space(self, now_ms: int) -> None:
        self.check_usable()
        super().check_space(now_ms)

    def check_returned(self, now_ms: int) -> None:
        if now_ms < self._full_until_ms:
            raise StoreFull
        # This send tries whether there is space; others wait for its result or for the next second.
        self._full_until_ms = now_ms + FULL_RETRY_MS

    def refuse_sends(self, now_ms: int | None = None) -> None:
        self._statistics.state = StoreState.FULL
        if now_ms is not None:
            self._full_until_ms = max(self._full_until_ms, now_ms + FULL_RETRY_MS)

    def start(self, group: CommitGroup) -> None:
        self._started = group
        self._alarm = self._loop.call_later(CALLERS_WAIT_MS_MAX / 1_000, self._fall_silent)
        self.look_after()

    def look_after(self) -> None:
        """Do what there is to do, upkeep included."""
        if self._task is None and not self._stopped:
            self._task = self._loop.create_task(self._work())

    def stop(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        if self._task is not None:
            self._task.cancel()

    async def stopped(self) -> None:
        if self._task is not None:
            await asyncio.wait([self._task])

    def publish_work(self, group: CommitGroup) -> None:
        for _, _, sequence in (*group.deletes, *group.expired):
            self._segments.removed(sequence)

    async def _work(self) -> None:
        try:
            while await self._work_once():
                pass
        except OwnerChanged:
            self._lose()
        except Exception as error:
            # What the log holds and what the index holds may differ now.
            _log.exception("unexpected error in the writer of partition %s", self._place)
            self.fail(repr(error))
        finally:
            self._task = None

    async def _work_once(self) -> bool:
        """Whether there may be more to do."""
        group, self._started = self._started, None
        if group is not None:
            await self._commit(group)
        if self.upkeep is None or self._closing:
            return self._started is not None
        now_ms = self._appending.now_ms()
        worked = await self.upkeep.step(now_ms)
        if worked:
            # Others have their turn, also if the database answers without waiting for anything.
            await asyncio.sleep(0)
        elif self.upkeep.waits(now_ms):
            self._loop.call_later(UPKEEP_RETRY_MS / 1_000, self.look_after)
        return worked or self._started is not None

    async def _commit(self, group: CommitGroup) -> None:
        now_ms = self._appending.now_ms()
        self._decide(group)
        result = CommitResult(CommitOutcome.COMMITTED)
        durable: set[int] = set()
        try:
            for part in divided(group, now_ms):
                await self._append(part, durable)
            if durable and self._statistics.state is StoreState.FULL:
                self._statistics.state = StoreState.OK
        except StoreFull:
            self._refuse(group, durable)
            result = await self._commit_rest(group, now_ms)
        self._appending.require(self._holds)
        self._identities.expire(now_ms)
        self._identities.sweep(lambda sequence: self._index.find(sequence) is not None)
        self._speak()
        self.published(group, result)

    async def _commit_rest(self, group: CommitGroup, now_ms: int) -> CommitResult:
        """Append all but the sends. Deletes that were appended already do no harm."""
        try:
            for part in divided(group, now_ms, sends=False):
                await self._append(part, set(), grow=False)
        except StoreFull:
            return CommitResult(CommitOutcome.FULL)
        return CommitResult(CommitOutcome.COMMITTED)

    async def _append(self, part: LogGroup, durable: set[int], *, grow: bool = True) -> None:
        await self._appending.append(part, self._holds, grow=grow)
        for row in part.sends:
            durable.add(row.sequence)
            self._identities.note(row)
        if part.forgotten_ms:
            self._identities.forget(part.forgotten_ms)

    def _decide(self, group: CommitGroup) -> None:
        """Find out which messages are duplicates, of durable messages or of this group's own."""
        firsts: dict[bytes | str, Duplicate | Sent] = {}
        for sending in group.sendings:
            for item in sending.items:
                name = item.message.message_id if sending.adopted else item.key
                if name is None:
                    continue
                first = firsts.setdefault(name, self._first(item, sending) or item.answer)
                if first is not item.answer:
                    item.accepted = False
                    answer = Sent if sending.adopted else Duplicate
                    item.answer = answer(first.message_id, first.sequence)

    def _first(self, item: SendItem, sending: Sending) -> Duplicate | Sent | None:
        """The durable message that this one repeats."""
        if sending.adopted:
            return self._adopted(item.message.message_id)
        first = self._identities.first_send(item.key or b"", sending.now_ms)
        return None if first is None else Duplicate(first.message_id, first.sequence)

    def _adopted(self, message_id: str) -> Sent | None:
        sequence = self._identities.adopted(message_id)
        if sequence is None or self._index.find(sequence) is None:
            return None
        return Sent(message_id, sequence)

    def _refuse(self, group: CommitGroup, durable: set[int]) -> None:
        """Refuse the requests that have a message, or the first of a duplicate, that is not here.

        The others are durable already, and are published.
        """
        mine = {item.entry.sequence for each in group.sendings for item in each.items}
        refused: list[Sending] = []
        for sending in group.sendings:
            needed = {item.answer.sequence for item in sending.items} & mine
            if not needed <= durable:
                refused.append(sending)
        group.sendings = [each for each in group.sendings if each not in refused]
        for sending in refused:
            self.refuse_sends(sending.now_ms)
            reject(sending.future, StoreFull())

    def _fall_silent(self) -> None:
        """The group has waited too long: answer its callers, and refuse others at once."""
        self._silent = True
        error = self._appending.unreachable or StoreUnreachable("of this partition", "no answer")
        for group in (self._committing, self._pending):
            for future in group.futures() if group is not None else ():
                reject(future, error)

    def _speak(self) -> None:
        self._silent = False
        if self._alarm is not None:
            self._alarm.cancel()

    def _lose(self) -> None:
        if self._is_lost:
            return
        self._is_lost = self._closing = self._stopped = self._abandoned = True
        for timer in (self._alarm, self._timer):
            if timer is not None:
                timer.cancel()
        self._fail_all(OwnerChanged(*self._place))
        self._lost()
