"""Partitions as this front end's service sees them, wherever they are owned.

A `PlacedPartition` hands each verb to the partition that this front end has opened, or over the
link to the owner. It looks for the owner when it has none, and again when an answer shows that the
owner has changed. A `PeerPartition` takes the verbs of other front ends and forwards none of them.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeVar

from msgspec import Struct

from dovemq.cluster.membership import Membership
from dovemq.cluster.ownership import OwnerClaim, Owners
from dovemq.cluster.ports import Link, LocalPartition, NotOwner, OpenPartition, PeerUnreachable
from dovemq.cluster.routing import RoutedPartition, Verb
from dovemq.cluster.sightings import FrontEnd
from dovemq.cluster.tenure import MonotonicClock, Tenure
from dovemq.cluster.watchers import OwnFirst, Wake, Watchers
from dovemq.core.errors import (
    Busy,
    DoveError,
    Draining,
    OwnerChanged,
    QueueMissing,
    UnavailableError,
)
from dovemq.core.ports import Clock, Partition
from dovemq.core.queue import Queue
from dovemq.stores.owned.group import PartitionKey
from dovemq.stores.owned.logged.opening import Ownership
from dovemq.stores.owned.logged.ports import Database

T = TypeVar("T")

OPENING_SECONDS_MAX: Final = 10
"""The longest wait of a verb for a partition that is being opened or handed over."""
CLOSING_SECONDS_MAX: Final = 10
"""The longest wait for the pending writes of a partition that is handed over."""
PATIENCE_MS: Final = 5_000
"""The longest time for which a verb looks for an owner that takes it."""
PAUSE_MS_MIN: Final = 50
PAUSE_MS_MAX: Final = 500


class PlacingStatistics(Struct):
    opened: int = 0
    opening_ms_max: int = 0
    handed_over: int = 0
    lost: int = 0


class PlacingContext(Struct, frozen=True, eq=False):
    """Everything that the partitions of one front end share."""

    database: Database
    membership: Membership
    owners: Owners
    link: Link | None
    address: str | None
    open_partition: OpenPartition
    clock: Clock
    monotonic_ms: MonotonicClock
    refresh_soon: Callable[[], None]
    """Called when another front end knows of a removed queue."""
    statistics: PlacingStatistics


class _Here(Struct, frozen=True, eq=False):
    partition: LocalPartition
    claim: OwnerClaim
    tenure: Tenure


class _There(Struct, frozen=True, eq=False):
    partition: Partition
    owner: FrontEnd


class PlacedPartition(RoutedPartition):
    """`peers` are the watchers of other front ends, which count only while it is owned here."""

    def __init__(self, queue: Queue, number: int, around: PlacingContext, peers: Watchers) -> None:
        self.place: PartitionKey = (queue.number, number)
        self._queue = queue
        self._around = around
        self._here: _Here | None = None
        self._there: _There | None = None
        self._moving: asyncio.Task[None] | None = None
        self._opened_epoch = 0
        self._lost_epoch = 0
        self._refusal: Callable[[], DoveError] | None = None
        self._watchers = Watchers()
        self._peers = peers
        self._watched: Partition | None = None
        self._unwatch: Wake = lambda: None
        self._waking = OwnFirst(self._watchers, peers, self._is_something_left)
        self._watchers.changed = peers.changed = self._listen

    @property
    def owned(self) -> bool:
        return self._here is not None

    @property
    def is_elsewhere(self) -> bool:
        """Whether another front end is known to own it."""
        return self._there is not None

    @property
    def epoch(self) -> int:
        """The epoch in which it is open here; 0 if it is not."""
        return self._here.claim.epoch if self._here else 0

    def watch(self, wake: Wake) -> Wake:
        return self._watchers.add(wake)

    def follow(self, queue: Queue) -> None:
        """Use the settings of this version of the queue, unless a newer one is known."""
        if queue.version > self._queue.version:
            self._queue = queue
            if self._here:
                self._here.partition.follow(queue)
            elif self._there:
                self._go_to(self._there.owner)
            self._watchers.wake()

    async def route(self, verb: Verb[T], now_ms: int, *, repeatable: bool = True) -> T:
        here = self._here
        try:
            if here is None or not here.tenure.holds():
                return await self._route_slowly(verb, repeatable=repeatable)
            try:
                return await self._do_here(here, verb, now_ms)
            except OwnerChanged:
                if not repeatable:
                    raise
            return await self._route_slowly(verb, repeatable=False)
        except (NotOwner, OwnerChanged) as error:
            trouble = self._around.membership.trouble
            if trouble is None:
                raise
            # No front end owns anything without a lease, and this is why it has none.
            raise trouble.with_traceback(None) from error

    async def serve(self, verb: Verb[T]) -> T:
        """Do a verb of another front end; `NotOwner` if the partition is not owned here."""
        with contextlib.suppress(Draining):
            await self._settle(asked_by_peer=True)
        if self._here is None:
            raise NotOwner(*self.place)
        return await self._do_here(self._here, verb, self._around.clock.now_ms())

    def lose(self) -> None:
        """Drop the partition at once: the lease of this front end has ended."""
        if self._here is not None:
            self._lose(self._here)

    def refuse(self, refusal: Callable[[], DoveError]) -> None:
        """Drop the partition and refuse all verbs: its queue was removed, or the store closed."""
        self._refusal = refusal
        self._there = None
        self.lose()
        self._listen()
        self._wake_all()

    def look_for_owner(self) -> None:
        """Front ends have changed: forget an owner that has ended."""
        living = {each.incarnation for each in self._around.membership.front_ends}
        if self._there is not None and self._there.owner.incarnation not in living:
            self._forget(self._there)

    def expire(self) -> None:
        """Remove expired messages of a partition that is open here."""
        if self._here is not None:
            self._here.partition.expire(self._around.clock.now_ms())

    async def hand_over(self, to: FrontEnd | None) -> None:
        """Write what is pending and let the other front end open it; verbs wait meanwhile."""
        while self._moving is not None:
            await asyncio.wait([self._moving])
        if self._here is not None:
            here, self._here = self._here, None
            self._listen()
            await asyncio.wait([self._begin(self._move(here, to))])
            self._wake_all()

    async def _route_slowly(self, verb: Verb[T], *, repeatable: bool) -> T:
        """Look for the owner first. Time has passed then, so the clock is read again."""
        patience = _Patience(self._around.monotonic_ms)
        while True:
            try:
                await self._settle(asked_by_peer=False)
                return await self._do(verb, self._around.clock.now_ms())
            except (NotOwner, OwnerChanged, PeerUnreachable) as error:
                nothing_done = isinstance(error, NotOwner) or not getattr(error, "sent", True)
                if patience.over or not (nothing_done or repeatable):
                    raise
                repeatable = repeatable and nothing_done
            await patience.pause()
            await self._around.membership.look_again()

    async def _do(self, verb: Verb[T], now_ms: int) -> T:
        if self._here is not None:
            return await self._do_here(self._here, verb, now_ms)
        there = self._there
        if there is None:
            raise NotOwner(*self.place)
        try:
            return await verb(there.partition, now_ms)
        except (NotOwner, OwnerChanged, PeerUnreachable):
            self._forget(there)
            raise
        except QueueMissing:
            self._around.refresh_soon()
            raise

    async def _do_here(self, here: _Here, verb: Verb[T], now_ms: int) -> T:
        if not here.tenure.holds():
            self._lose(here)
            raise NotOwner(*self.place)
        try:
            answer = await verb(here.partition, now_ms)
        except OwnerChanged:
            self._lose(here)
            raise
        except UnavailableError as error:
            if self._here is here:
                raise
            # It was stopped or abandoned meanwhile, and refuses what is under way.
            raise OwnerChanged(*self.place) from error
        if not here.tenure.holds():
            # The partition checks this after its writes; a receive has none.
            self._lose(here)
            raise OwnerChanged(*self.place)
        return answer

    async def _settle(self, *, asked_by_peer: bool) -> None:
        """Find the owner, or open the partition here; callers at the same time share that."""
        if self._moving is not None:
            await self._wait(self._moving)
        if self._refusal is not None:
            raise self._refusal()
        if self._here is not None and not self._here.tenure.holds():
            self._lose(self._here)
        if self._here is None and (asked_by_peer or self._there is None):
            await self._wait(self._moving or self._begin(self._find(asked_by_peer=asked_by_peer)))

    async def _wait(self, moving: "asyncio.Task[None]") -> None:
        try:
            async with asyncio.timeout(OPENING_SECONDS_MAX):
                await asyncio.shield(moving)
        except TimeoutError:
            queue_number, partition = self.place
            raise Busy(f"Partition {partition} of queue {queue_number} is being opened") from None

    def _begin(self, moving: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Start a change of the owner. It goes on if the verb that needs it is cancelled."""
        task = asyncio.get_running_loop().create_task(moving)
        self._moving = task
        task.add_done_callback(self._moved)
        return task

    def _moved(self, task: "asyncio.Task[None]") -> None:
        self._moving = None
        if not task.cancelled():
            # Read the exception, so that asyncio does not log it if nobody waits any more.
            task.exception()

    async def _find(self, *, asked_by_peer: bool) -> None:
        around = self._around
        tenure = around.membership.tenure
        found = await around.owners.settle(
            self.place, opened_epoch=self._opened_epoch, asked_by_peer=asked_by_peer
        )
        if isinstance(found, FrontEnd):
            self._go_to(found)
        elif tenure is None or not tenure.holds():
            raise NotOwner(*self.place)
        else:
            await self._open(found, tenure)

    def _go_to(self, owner: FrontEnd) -> None:
        link, address = self._around.link, owner.address
        if link is None or address is None or address == self._around.address:
            # It was an earlier incarnation of this front end, whose lease has not ended.
            raise NotOwner(*self.place)
        partition = link.partition(address, self._queue, self.place)
        self._there = _There(partition, owner)
        self._listen()

    async def _open(self, claim: OwnerClaim, tenure: Tenure) -> None:
        around = self._around
        began_ms = around.monotonic_ms()
        self._opened_epoch = claim.epoch
        log = await around.database.open_log(self.place, claim.epoch)
        ownership = Ownership(claim.epoch, tenure.holds, lambda: self._lost(claim))
        partition = await around.open_partition(log, self._queue, self.place[1], ownership)
        if self._lost_epoch >= claim.epoch or not tenure.holds():
            partition.abandon()
            raise OwnerChanged(*self.place)
        if self._refusal is not None:
            partition.abandon()
            raise self._refusal()
        partition.follow(self._queue)
        self._there = None
        self._here = _Here(partition, claim, tenure)
        statistics = around.statistics
        statistics.opened += 1
        took_ms = around.monotonic_ms() - began_ms
        statistics.opening_ms_max = max(statistics.opening_ms_max, took_ms)
        self._listen()

    async def _move(self, here: _Here, to: FrontEnd | None) -> None:
        try:
            async with asyncio.timeout(CLOSING_SECONDS_MAX):
                await here.partition.stop()
        except (DoveError, TimeoutError):
            # The next owner reads from the log all that was answered.
            here.partition.abandon()
        if to is not None and here.tenure.holds():
            await self._around.owners.hand_over(self.place, here.claim, to)
            self._around.statistics.handed_over += 1

    def _lost(self, claim: OwnerClaim) -> None:
        """The partition has found that it has another owner, perhaps while it was opened."""
        self._lost_epoch = max(self._lost_epoch, claim.epoch)
        if self._here is not None and self._here.claim == claim:
            self._lose(self._here)

    def _lose(self, here: _Here) -> None:
        if self._here is here:
            self._here = None
            self._around.statistics.lost += 1
            here.partition.abandon()
            self._listen()
            self._wake_all()

    def _forget(self, there: _There) -> None:
        if self._there is there:
            self._there = None
            self._listen()
            self._watchers.wake()

    def _listen(self) -> None:
        """Watch the present partition while it is watched here."""
        wanted: Partition | None = None
        if self._here is not None and (self._watchers or self._peers):
            wanted = self._here.partition
        elif self._there is not None and self._watchers:
            wanted = self._there.partition
        if wanted is self._watched:
            return
        self._unwatch()
        self._watched, self._unwatch = wanted, lambda: None
        if wanted is not None:
            self._unwatch = wanted.watch(
                self._waking.arrived if self._here else self._watchers.wake
            )

    async def _is_something_left(self) -> bool:
        here = self._here
        if here is not None:
            with contextlib.suppress(DoveError):
                return (await here.partition.counts(self._around.clock.now_ms())).visible > 0
        return True

    def _wake_all(self) -> None:
        self._watchers.wake()
        self._peers.wake()


class _Patience:
    """Growing pauses, up to a total."""

    def __init__(self, monotonic_ms: MonotonicClock) -> None:
        self._monotonic_ms = monotonic_ms
        self._until_ms = monotonic_ms() + PATIENCE_MS
        self._pause_ms = 0

    @property
    def over(self) -> bool:
        return self._monotonic_ms() >= self._until_ms

    async def pause(self) -> None:
        """Wait; the first time not at all, since most owners have changed long ago."""
        await asyncio.sleep(self._pause_ms / 1_000)
        self._pause_ms = min(PAUSE_MS_MAX, max(PAUSE_MS_MIN, 2 * self._pause_ms))


class PeerPartition(RoutedPartition):
    """A partition for the verbs of other front ends."""

    def __init__(
        self, placed: Callable[[], Awaitable[PlacedPartition]], watchers: Watchers
    ) -> None:
        self.version = 0
        """The newest version of the queue that another front end knows."""
        self._placed = placed
        self._watchers = watchers

    def watch(self, wake: Wake) -> Wake:
        return self._watchers.add(wake)

    async def route(self, verb: Verb[T], now_ms: int, *, repeatable: bool = True) -> T:
        placed = await self._placed()
        return await placed.serve(verb)
