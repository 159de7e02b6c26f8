"""The store of one front end among several that share a database.

Implements `core.ports.Store`. Partitions are opened on demand by the front end that should own
them; verbs for others go over the link. `start` makes this front end a member, `close` hands over
what it owns.
"""

import asyncio
import functools
import itertools
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final

from msgspec import Struct, UnsetType

from dovemq.cluster.catalogue import REFRESH_MS, CatalogueChange, SharedCatalogue
from dovemq.cluster.cleaning import Cleaning
from dovemq.cluster.heartbeats import Report
from dovemq.cluster.membership import Membership
from dovemq.cluster.ownership import (
    KIND,
    Owners,
    PartitionOwner,
    owned_place,
    owner_of,
    wanted_owner,
)
from dovemq.cluster.placing import (
    PeerPartition,
    PlacedPartition,
    PlacingContext,
    PlacingStatistics,
)
from dovemq.cluster.ports import Link, NotOwner, OpenPartition
from dovemq.cluster.secrets import shared_secret
from dovemq.cluster.sightings import FrontEnd, LeaseTimes
from dovemq.cluster.tenure import MonotonicClock
from dovemq.cluster.troubles import Troubles
from dovemq.cluster.watchers import Watchers
from dovemq.core.coordination import EVERY, OWNED, Coordination
from dovemq.core.errors import DoveError, Draining, QueueMissing
from dovemq.core.ports import Clock, Ledger, Partition
from dovemq.core.queue import Queue
from dovemq.stores.owned.group import PartitionKey
from dovemq.stores.owned.logged.ports import Database
from dovemq.stores.shared_index.opening import SharedIndexes

HAND_OVERS_AT_A_TIME: Final = 16
EXPIRY_PERIOD_MS: Final = 60_000
"""The interval at which expired messages of unused queues are removed."""
TENDING_MS: Final = 1_000
"""The interval at which partitions that another front end should own are handed over."""
RECEIPT_KEY: Final = "receipt_key"


class ClusterStatus(Struct, frozen=True):
    """The cluster as one front end sees it. `owners` holds all partitions that were ever opened."""

    incarnation: int
    leads: bool
    front_ends: tuple[FrontEnd, ...]
    owners: dict[PartitionKey, PartitionOwner]
    statistics: PlacingStatistics


class ClusterStore:
    """Made on the loop that uses it. It owns the database and the link, and closes them.

    `address` is where the link of other front ends reaches this one; a front end without one must
    be alone. `new_token` gives unique text, `new_key` a secret for receipts.
    """

    receipt_key: bytes

    def __init__(
        self,
        database: Database,
        open_partition: OpenPartition,
        *,
        link: Link | None,
        address: str | None,
        release: str,
        clock: Clock,
        monotonic_ms: MonotonicClock,
        new_token: Callable[[], str],
        new_key: Callable[[], bytes],
        times: LeaseTimes | None = None,
        unowned: SharedIndexes | None = None,
    ) -> None:
        times = times or LeaseTimes()
        self.statistics = PlacingStatistics()
        self.unowned = unowned
        self.coordinations: tuple[Coordination, ...] = EVERY if unowned else OWNED
        self._troubles = Troubles(monotonic_ms)
        self._database = database
        self._link = link
        self._new_key = new_key
        self._closing = asyncio.Lock()
        self._closed = False
        self._partitions: dict[PartitionKey, PlacedPartition] = {}
        self._peers: dict[PartitionKey, tuple[PeerPartition, Watchers]] = {}
        self._addresses: dict[int, str | None] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._refresh_now = asyncio.Event()
        self._on_change: Callable[[CatalogueChange], None] = lambda _: None
        self.catalogue = SharedCatalogue(
            database.records,
            check_open=self._check_open,
            changed=self._catalogue_changed,
            monotonic_ms=monotonic_ms,
            new_token=new_token,
        )
        self.membership = Membership(
            database,
            address=address,
            release=release,
            monotonic_ms=monotonic_ms,
            new_token=new_token,
            times=times,
            refusal=self._refusal,
            changed=self._front_ends_changed,
            dropped=self._drop,
        )
        self._around = PlacingContext(
            database,
            self.membership,
            Owners(database.records, self.membership),
            link,
            address,
            open_partition,
            clock,
            monotonic_ms,
            self._refresh_now.set,
            self.statistics,
        )
        self._cleaning = Cleaning(database, self.catalogue, monotonic_ms, times)
        self.local = LocalPartitions(self._peer)

    async def start(self) -> None:
        """Read the catalogue and join, or raise as `Membership.join` does."""
        self.receipt_key = await shared_secret(self._database.records, RECEIPT_KEY, self._new_key)
        await self.catalogue.refresh()
        await self.membership.join()
        self.membership.start()
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._refresh()), loop.create_task(self._tend())]

    @property
    def open(self) -> bool:
        return not self._closed

    @property
    def ledger(self) -> Ledger:
        self._check_open()
        return self._database.ledger

    def leads(self) -> bool:
        """Whether this front end runs move tasks and housekeeping, at this moment."""
        return not self._closed and self.membership.leads()

    def watch_catalogue(self, changed: Callable[[CatalogueChange], None]) -> None:
        """Call `changed` after each change of the catalogue in memory, whoever has made it."""
        self._on_change = changed

    def partition(self, queue: Queue, number: int) -> Partition:
        if self.unowned is not None and queue.settings.coordination not in OWNED:
            self._check_holds(queue)
            return self.unowned.partition(queue)
        return self._placed_partition(queue, number)

    def _placed_partition(self, queue: Queue, number: int) -> PlacedPartition:
        place = (queue.number, number)
        placed = self._partitions.get(place)
        if placed is None:
            self._check_holds(queue)
            placed = PlacedPartition(queue, number, self._around, self._peer_of(place)[1])
            self._partitions[place] = placed
        placed.follow(queue)
        return placed

    def is_local(self, queue_number: int, number: int) -> bool:
        """Whether this front end has the partition open, or should open it when it is used."""
        placed = self._partitions.get((queue_number, number))
        if placed is not None and placed.owned:
            return True
        if placed is not None and placed.is_elsewhere:
            return False
        me = self.membership.incarnation
        return bool(me) and self.wanted_at(queue_number, number) == me

    def wanted_at(self, queue_number: int, number: int) -> int:
        """The incarnation that should own the partition; 0 if no front end serves."""
        wanted = wanted_owner((queue_number, number), self.membership.serving())
        return wanted.incarnation if wanted else 0

    def report_load(self, report: Report) -> None:
        """Add this report to each heartbeat from now on."""
        self.membership.report = report

    def loads_of_others(self) -> dict[int, bytes]:
        """The newest reports of the other living front ends, by incarnation."""
        return {
            each.incarnation: bytes(each.heartbeat.load)
            for each in self.membership.front_ends
            if each.incarnation != self.membership.incarnation
            and not isinstance(each.heartbeat.load, UnsetType)
        }

    def owned(self) -> dict[PartitionKey, int]:
        """The partitions that are open here, with their epochs."""
        return {place: each.epoch for place, each in self._partitions.items() if each.owned}

    async def status(self) -> ClusterStatus:
        owners = await self._database.records.all(KIND)
        return ClusterStatus(
            self.membership.incarnation,
            self.leads(),
            self.membership.front_ends,
            {owned_place(record.name): owner_of(record) for record in owners},
            self.statistics,
        )

    async def close(self) -> None:
        """Hand over all partitions, leave the cluster, then refuse everything."""
        async with self._closing:
            if self._closed:
                return
            await _end(self._tasks)
            await self._attempt("The announcement that it stops", self.membership.begin_leaving())
            await self._hand_over(self._partitions.values())
            self._closed = True
            for placed in self._partitions.values():
                placed.refuse(Draining)
            if self.unowned is not None:
                await self.unowned.close()
            await self.membership.leave()
            if self._link is not None:
                await self._link.close()
            await self._database.close()

    def abandon(self) -> None:
        """Stop as a killed process would. For tests."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        self.membership.abandon()
        for placed in self._partitions.values():
            placed.refuse(Draining)

    def _check_open(self) -> None:
        if self._closed:
            raise Draining()

    def _check_holds(self, queue: Queue) -> None:
        self._check_open()
        if not self.catalogue.holds(queue):
            raise QueueMissing(str(queue.key))

    async def _refusal(self, address: str) -> str | None:
        return None if self._link is None else await self._link.refusal(address)

    def _peer(self, queue_number: int, partition: int, version: int) -> PeerPartition:
        peer, _ = self._peer_of((queue_number, partition))
        peer.version = max(peer.version, version)
        return peer

    def _peer_of(self, place: PartitionKey) -> tuple[PeerPartition, Watchers]:
        known = self._peers.get(place)
        if known is None:
            watchers = Watchers()
            peer = PeerPartition(lambda: self._placed(place), watchers)
            known = self._peers[place] = (peer, watchers)
        return known

    async def _placed(self, place: PartitionKey) -> PlacedPartition:
        """The partition for another front end, which may know more of the queue than this one."""
        if self._closed:
            raise NotOwner(*place)
        peer, _ = self._peer_of(place)
        queue = self.catalogue.numbered(place[0])
        if queue is None or queue.version < peer.version:
            await self.catalogue.refresh()
            queue = self.catalogue.numbered(place[0])
        if queue is None:
            self._peers.pop(place, None)
            raise QueueMissing(f"of number {place[0]}")
        peer.version = queue.version
        return self._placed_partition(queue, place[1])

    def _catalogue_changed(self, change: CatalogueChange) -> None:
        newer = {queue.number: queue for queue in change.queues}
        removed = {queue.number: queue for queue in change.removed}
        if newer or removed:
            for place, placed in list(self._partitions.items()):
                if place[0] in newer:
                    placed.follow(newer[place[0]])
                elif place[0] in removed:
                    placed.refuse(functools.partial(QueueMissing, str(removed[place[0]].key)))
                    del self._partitions[place]
                    self._peers.pop(place, None)
        if self.unowned is not None:
            self.unowned.changed(change.queues, change.removed)
        self._on_change(change)

    def _front_ends_changed(self) -> None:
        before, now = self._addresses, self.membership.front_ends
        self._addresses = {each.incarnation: each.address for each in now}
        # One that has left ends its links itself, after its last answers.
        gone = before.keys() - self._addresses.keys() - self.membership.left
        for incarnation in gone:
            if self._link is not None and (address := before[incarnation]):
                self._link.forget(address)
        for placed in self._partitions.values():
            placed.look_for_owner()

    def _drop(self) -> None:
        for placed in self._partitions.values():
            placed.lose()

    async def _refresh(self) -> None:
        while True:
            try:
                async with asyncio.timeout(REFRESH_MS / 1_000):
                    await self._refresh_now.wait()
            except TimeoutError:
                pass
            self._refresh_now.clear()
            await self._attempt("The reading of queues and accounts", self.catalogue.refresh())

    async def _tend(self) -> None:
        for turn in itertools.count(1):
            await asyncio.sleep(TENDING_MS / 1_000)
            if turn % (EXPIRY_PERIOD_MS // TENDING_MS) == 0:
                for placed in self._partitions.values():
                    placed.expire()
            await self._attempt("The hand-over of queues", self._hand_over(self._misplaced()))
            if self.leads():
                await self._attempt("The removal of deleted queues", self._cleaning.clean())

    def _misplaced(self) -> list[PlacedPartition]:
        if not self.membership.may_own():
            return []
        me = self.membership.incarnation
        return [
            placed
            for placed in self._partitions.values()
            if placed.owned and (to := self._wanted(placed)) and to.incarnation != me
        ]

    def _wanted(self, placed: PlacedPartition) -> FrontEnd | None:
        return wanted_owner(placed.place, self.membership.serving())

    async def _attempt(self, what: str, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except DoveError as error:
            self._troubles.note(what, error)
        else:
            self._troubles.end(what)

    async def _hand_over(self, partitions: Iterable[PlacedPartition]) -> None:
        owned = [placed for placed in partitions if placed.owned]
        for start in range(0, len(owned), HAND_OVERS_AT_A_TIME):
            some = owned[start : start + HAND_OVERS_AT_A_TIME]
            await asyncio.gather(*(placed.hand_over(self._wanted(placed)) for placed in some))


class LocalPartitions:
    """Implements `ports.Local`."""

    def __init__(self, peer: Callable[[int, int, int], PeerPartition]) -> None:
        self._peer = peer

    def partition(self, queue_number: int, partition: int, version: int = 0) -> PeerPartition:
        return self._peer(queue_number, partition, version)


async def _end(tasks: Iterable["asyncio.Task[None]"]) -> None:
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
