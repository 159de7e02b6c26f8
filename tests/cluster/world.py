"""Several front ends over one database, in one process and in virtual time."""

import asyncio
import functools
import inspect
import itertools
from collections.abc import Callable, Coroutine
from typing import Any, Final

from msgspec import Struct

from dovemq.cluster.sightings import LeaseTimes
from dovemq.cluster.store import ClusterStore
from dovemq.core.commands import Ask, Draft, Leased
from dovemq.core.errors import QueueMissing
from dovemq.core.ports import Partition
from dovemq.core.queue import Queue, QueueKey, QueueSettings
from dovemq.stores.owned.group import PartitionKey
from dovemq.testing.clock import VirtualLoop, run_virtually
from dovemq.testing.memory_database import MemoryDatabase, MemoryDatabaseState
from tests.cluster.network import Network, NetworkLink
from tests.cluster.shared import Faults, FaultyDatabase, Openings

ACCOUNT: Final = "000000000000"
TIMES: Final = LeaseTimes()
FAILOVER_SECONDS: Final = 12
"""Long enough for a lease to end and for all to see it."""


class SkewedClock:
    def __init__(self, loop: VirtualLoop, ahead_ms: int) -> None:
        self._loop = loop
        self._ahead_ms = ahead_ms

    def now_ms(self) -> int:
        return self._loop.now_ms() + self._ahead_ms


class Member(Struct, eq=False):
    """One front end under test, with its own clocks and its own way to the database."""

    address: str | None
    store: ClusterStore
    faults: Faults
    openings: Openings
    clock: SkewedClock
    link: NetworkLink | None

    async def partition(self, queue: Queue, number: int = 0) -> Partition:
        """The partition as the service gets it, which looks the queue up first."""
        found = await self.store.catalogue.find(queue.key)
        if found is None:
            raise QueueMissing(str(queue.key))
        return self.store.partition(found, number)

    async def send(self, queue: Queue, *bodies: str, partition: int = 0) -> list[str]:
        drafts = [Draft(f"id-{body}", body, ACCOUNT) for body in bodies]
        now_ms = self.clock.now_ms()
        answers = await (await self.partition(queue, partition)).send(drafts, now_ms)
        return [answer.message_id for answer in answers]

    async def lease(self, queue: Queue, count_max: int = 10, lease_ms: int = 30_000) -> Leased:
        ask = Ask(count_max, lease_ms)
        return await (await self.partition(queue)).lease(ask, self.clock.now_ms())

    async def bodies(self, queue: Queue, count_max: int = 10) -> list[str]:
        return [each.message.body for each in (await self.lease(queue, count_max)).messages]

    async def create(self, name: str = "jobs", **settings: Any) -> Queue:
        now_ms = self.clock.now_ms()
        key = QueueKey(ACCOUNT, name)
        queue = Queue(0, key, QueueSettings(**settings), now_ms, now_ms)
        return await self.store.catalogue.create(queue)

    def owns(self, queue: Queue, partition: int = 0) -> bool:
        return (queue.number, partition) in self.store.owned()


class FrontEnds:
    """A cluster: one database, one network, and the members that were started."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.loop = loop
        self.state = MemoryDatabaseState()
        self.network = Network()
        self.opened: list[tuple[PartitionKey, int]] = []
        """Every opening of a partition, with its epoch."""
        self.members: list[Member] = []
        self._tokens = itertools.count(1)

    async def start(self, address: str | None = None, **options: Any) -> Member:
        member = self.prepare(address, **options)
        await member.store.start()
        return member

    async def start_many(self, count: int) -> list[Member]:
        """Front ends that have all seen each other."""
        members = [await self.start() for _ in range(count)]
        await asyncio.sleep(2 * TIMES.heartbeat_ms / 1_000)
        return members

    def prepare(
        self,
        address: str | None = None,
        *,
        ahead_ms: int = 0,
        alone: bool = False,
        times: LeaseTimes = TIMES,
    ) -> Member:
        """A front end that listens and has not joined yet."""
        if not alone:
            address = address or f"host-{len(self.members) + 1}:7000"
        number = len(self.members)
        faults = Faults(number)
        link = NetworkLink(self.network, address) if address else None
        clock = SkewedClock(self.loop, ahead_ms)
        openings = Openings(clock, self.opened)
        store = ClusterStore(
            FaultyDatabase(self.state, faults),
            openings,
            link=link,
            address=address,
            release="1",
            clock=clock,
            # The monotonic clocks of machines have nothing to do with each other.
            monotonic_ms=lambda: round(self.loop.time() * 1_000) + 1_000_000 * number,
            new_token=lambda: f"token-{next(self._tokens)}",
            new_key=lambda: b"key %d of this cluster" % next(self._tokens),
            times=times,
        )
        member = Member(address, store, faults, openings, clock, link)
        self.members.append(member)
        if address:
            self.network.listening[address] = (store.local, clock)
        return member

    def observer(self) -> MemoryDatabase:
        """The database as somebody sees it who is no front end."""
        return MemoryDatabase(self.state)

    @property
    def living(self) -> list[Member]:
        """The members that were started and neither killed nor closed."""
        return [each for each in self.members if each.store.open]

    def kill(self, member: Member) -> None:
        member.store.abandon()
        if member.address:
            self.network.end(member.address)

    def owner(self, queue: Queue, partition: int = 0) -> Member:
        (owner,) = [each for each in self.members if each.owns(queue, partition)]
        return owner

    def other(self, member: Member) -> Member:
        return next(each for each in self.members if each is not member)

    async def close(self) -> None:
        for member in self.members:
            member.faults.resume()
            await member.store.close()


Scenario = Callable[..., Coroutine[Any, Any, None]]


def in_virtual_time(scenario: Scenario) -> Callable[..., None]:
    """Make a test of a coroutine whose first parameter is a `FrontEnds`."""

    def test(**arguments: Any) -> None:
        loop = VirtualLoop()

        async def run() -> None:
            front_ends = FrontEnds(loop)
            try:
                await scenario(front_ends, **arguments)
            finally:
                await front_ends.close()

        run_virtually(run(), loop)

    parameters = list(inspect.signature(scenario).parameters.values())[1:]
    functools.update_wrapper(test, scenario)
    vars(test).pop("__wrapped__")
    vars(test)["__signature__"] = inspect.Signature(parameters)
    return test
