"""Move tasks: they move all messages of a dead-letter queue to another queue.

A task is durable: it continues after a restart. A source has one task at a time. Of several front
ends that share a store the leading one runs all tasks; the others start and cancel them in the
catalogue.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from dovemq.core import limits
from dovemq.core.commands import Ask, Lease, Move, MoveStatus
from dovemq.core.errors import (
    Busy,
    DoveError,
    MoveRefused,
    OwnerChanged,
    QueueMissing,
    ResourceMissing,
    StoreUnreachable,
    Unsupported,
)
from dovemq.core.observing import Observer
from dovemq.core.ports import Clock, Store
from dovemq.core.queue import Queue, QueueKey
from dovemq.core.sessions import SESSION
from dovemq.service.transfers import move_back

log = logging.getLogger(__name__)

MOVE_COUNT_MAX: Final = 10
QUEUE_GONE: Final = "AWS.SimpleQueueService.NonExistentQueue"
"""The reason that SQS gives for a task whose queue was removed."""
MOVE_LEASE_MS: Final = limits.MINUTE_MS
RETRY_SECONDS: Final = 1
"""The pause of a task while the store or a partition cannot be reached."""
TWO_TASKS: Final = "AnotherTaskOfThisSourceWasStartedBefore"
_PASSING: Final = (Busy, OwnerChanged, StoreUnreachable)
_ACTIVE: Final = (MoveStatus.RUNNING, MoveStatus.CANCELLING)


class Moves:
    """`leads` tells whether this front end runs the tasks, at this moment."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        observer: Observer,
        new_id: Callable[[], str],
        leads: Callable[[], bool],
    ) -> None:
        self._store = store
        self._leads = leads
        self._observer = observer
        self._catalogue = store.catalogue
        self._clock = clock
        self._new_id = new_id
        self._closing = asyncio.Event()
        self._running: dict[str, asyncio.Task[None]] = {}
        self._progress: dict[str, Move] = {}

    async def resume(self) -> None:
        """Run the tasks that nobody runs: those of the last run, and those of other front ends."""
        if not self._leads():
            return
        sources = {move.source for move in self._progress.values()}
        for move in reversed(await self._catalogue.moves()):
            if move.move_id in self._progress:
                continue
            if move.status is MoveStatus.CANCELLING:
                await self._save(move, status=MoveStatus.CANCELLED)
            elif move.status is MoveStatus.RUNNING:
                await self._resume(move, second=move.source in sources)
                sources.add(move.source)

    async def _resume(self, move: Move, *, second: bool) -> None:
        source = await self._catalogue.find(QueueKey.parse(move.source))
        if source is None:
            await self._save(move, status=MoveStatus.FAILED, failure=QUEUE_GONE)
        elif second:
            # Two front ends have started one each at the same time.
            await self._save(move, status=MoveStatus.FAILED, failure=TWO_TASKS)
        else:
            self._launch(move, source.number)

    async def start(
        self, source: QueueKey, target: QueueKey | None, rate_per_second: int | None
    ) -> Move:
        queue = await self._catalogue.find(source)
        if queue is None:
            raise ResourceMissing("source")
        if not await self._catalogue.sources(source):
            raise MoveRefused("Source queue must be configured as a Dead Letter Queue.")
        if target is not None and await self._catalogue.find(target) is None:
            raise ResourceMissing("target")
        if target == source:
            raise MoveRefused("Source queue arn and destination queue arn cannot be the same.")
        if target is not None and target.fifo != source.fifo:
            raise MoveRefused("Source queue and destination queue must be of the same type.")
        if await self._active(source):
            raise MoveRefused(
                "There is already a task running. Only one active task is allowed for a "
                "source queue arn at a given time."
            )
        now_ms = self._clock.now_ms()
        counts = await self._store.partition(queue, 0).counts(now_ms)
        to = str(target) if target else None
        move = Move(self._new_id(), str(source), to, rate_per_second, now_ms, counts.visible)
        await self._begin(move, queue.number)
        return move

    async def listing(self, source: QueueKey, count_max: int) -> list[Move]:
        """The tasks, newest first; running ones with their current progress."""
        if await self._catalogue.find(source) is None:
            raise ResourceMissing("source")
        saved = await self._catalogue.moves(source)
        return [self._progress.get(move.move_id, move) for move in saved[:count_max]]

    async def cancel(self, move_id: str) -> Move:
        found = [move for move in await self._catalogue.moves() if move.move_id == move_id]
        if not found:
            raise ResourceMissing("task")
        move = self._progress.get(move_id, found[0])
        if move.status is not MoveStatus.RUNNING:
            raise Unsupported("Only active tasks can be cancelled.")
        await self._save(move, status=MoveStatus.CANCELLING)
        return move

    async def close(self) -> None:
        """Finish the batch under way; the task stays RUNNING and the next start resumes it."""
        self._closing.set()
        await self.idle()

    async def idle(self) -> None:
        """Wait until no task runs."""
        if self._running:
            await asyncio.wait(self._running.values())

    async def _active(self, source: QueueKey) -> bool:
        known = [*await self._catalogue.moves(source), *self._progress.values()]
        return any(move.source == str(source) and move.status in _ACTIVE for move in known)

    async def _begin(self, move: Move, source_number: int) -> None:
        # Known before it is durable, so that a second one is refused meanwhile.
        self._progress[move.move_id] = move
        try:
            await self._catalogue.save_move(move)
        except DoveError:
            del self._progress[move.move_id]
            raise
        except asyncio.CancelledError:
            # It becomes durable anyway: a running task must not be without a runner.
            self._launch_or_leave(move, source_number)
            raise
        self._launch_or_leave(move, source_number)

    def _launch_or_leave(self, move: Move, source_number: int) -> None:
        """Run the task, unless another front end does so as soon as it sees it."""
        if self._leads():
            self._launch(move, source_number)
        else:
            self._progress.pop(move.move_id, None)

    def _launch(self, move: Move, source_number: int) -> None:
        self._progress[move.move_id] = move
        task = asyncio.get_running_loop().create_task(self._run(move.move_id, source_number))
        self._running[move.move_id] = task
        task.add_done_callback(lambda _: self._forget(move.move_id))

    def _forget(self, move_id: str) -> None:
        self._running.pop(move_id, None)
        self._progress.pop(move_id, None)

    async def _run(self, move_id: str, source_number: int) -> None:
        # The task outlives the client that has started it.
        SESSION.set(None)
        try:
            while self._may_run() and await self._step_or_wait(move_id, source_number):
                move = self._progress[move_id]
                rate = move.rate_per_second
                await self._pause(_batch(move) / rate if rate else 0)
        except DoveError as error:
            log.warning("move %s failed: %s", move_id, error)
            reason = QUEUE_GONE if isinstance(error, QueueMissing) else str(error)
            await self._save(self._progress[move_id], status=MoveStatus.FAILED, failure=reason)

    def _may_run(self) -> bool:
        return self._leads() and not self._closing.is_set()

    async def _step_or_wait(self, move_id: str, source_number: int) -> bool:
        """Move one batch, or wait if it cannot be moved now; False when the task has ended."""
        try:
            return await self._step(move_id, source_number)
        except _PASSING as error:
            log.warning("move %s waits: %s", move_id, error)
            await self._pause(RETRY_SECONDS)
            return True

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), seconds)

    async def _step(self, move_id: str, source_number: int) -> bool:
        """Move one batch; False when the task has ended."""
        move = self._progress[move_id]
        saved = await self._catalogue.moves(QueueKey.parse(move.source))
        # Another front end may have cancelled it.
        status = next((each.status for each in saved if each.move_id == move_id), move.status)
        if MoveStatus.CANCELLING in (move.status, status):
            await self._save(move, status=MoveStatus.CANCELLED)
            return False
        source = await self._catalogue.find(QueueKey.parse(move.source))
        if source is None or source.number != source_number:
            # The task was removed with its queue; a later queue of that name is another.
            return False
        now_ms = self._clock.now_ms()
        count_max = min(_batch(move), move.to_move - move.moved)
        leases: Sequence[Lease] = ()
        if count_max > 0:
            ask = Ask(count_max, MOVE_LEASE_MS)
            leases = (await self._store.partition(source, 0).lease(ask, now_ms)).messages
        if not leases:
            await self._save(move, status=MoveStatus.COMPLETED)
            return False
        try:
            await self._move(source, move, leases)
        except DoveError:
            receipts = [lease.receipt for lease in leases]
            await self._store.partition(source, 0).release(receipts, self._clock.now_ms())
            raise
        await self._save(self._progress[move_id], moved=move.moved + len(leases))
        return True

    async def _move(self, source: Queue, move: Move, leases: Sequence[Lease]) -> None:
        by_target: dict[str, list[Lease]] = {}
        for lease in leases:
            target = move.target or lease.message.source
            if target is None:
                raise MoveRefused("CouldNotDetermineMessageSource")
            by_target.setdefault(target, []).append(lease)
        for target, group in by_target.items():
            queue = await self._found(target)
            await move_back(self._store, source, queue, group, self._clock.now_ms())
            self._observer.redriven(source, group)

    async def _found(self, name: str) -> Queue:
        queue = await self._catalogue.find(QueueKey.parse(name))
        if queue is None:
            raise QueueMissing(name)
        return queue

    async def _save(self, move: Move, **changes: object) -> None:
        changed = msgspec.structs.replace(move, **changes)
        if move.move_id in self._progress:
            self._progress[move.move_id] = changed
        await self._catalogue.save_move(changed)


def _batch(move: Move) -> int:
    """The messages of one batch: no more than the rate allows in a second."""
    return min(MOVE_COUNT_MAX, move.rate_per_second or MOVE_COUNT_MAX)
