"""Random schedules of several front ends over replicas that disagree, in virtual time.

A schedule is a seed. Workers on front ends send, receive, settle, extend and give back; front ends
die in the middle and are replaced; replicas go down; answers are lost; clocks differ. Then all is
calm, every lease ends, and what is still there is received.
"""

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Callable

import msgspec
from msgspec import Struct

from dovemq.core.commands import Ask, Draft, Extension, Lease, Transfer
from dovemq.core.coordination import Coordination
from dovemq.core.errors import UnavailableError
from dovemq.core.observing import Observer
from dovemq.core.queue import Queue, QueueKey, QueueSettings
from dovemq.core.sending import accepted
from dovemq.stores.shared_index.partition import IndexContext, SharedIndexPartition
from dovemq.stores.shared_index.sequences import Sequences
from dovemq.testing.clock import VirtualLoop, run_virtually
from dovemq.testing.memory_tables import (
    MemoryIndexTables,
    ReplicaNature,
    ReplicaSet,
    TableLevels,
)

LEASES_MS = (0, 50, 2_000, 30_000)
QUEUE_NUMBER = 7


class Plan(Struct, frozen=True):
    """How bad it gets. `skew_ms`: clocks of front ends are off by up to this."""

    coordination: Coordination
    levels: TableLevels
    seed: int
    order_hint: int = 1
    front_ends: int = 2
    workers: int = 2
    steps: int = 12
    skew_ms: int = 0
    idle: float = 0.05
    """The share of steps before which a worker is idle for so long that buckets are closed."""
    crashes: bool = True
    outages: bool = True
    nature: ReplicaNature = ReplicaNature(delay_ms_max=40, late_ms_max=1_500, lost=0.03)


class GivenLease(Struct):
    """A lease as its holder knows it. `until_ms` is by the true clock."""

    lease: Lease
    given_ms: int
    until_ms: int
    ended: bool = False


class FrontEndClock:
    def __init__(self, true_ms: Callable[[], int], skew_ms: int) -> None:
        self._true_ms = true_ms
        self.skew_ms = skew_ms

    def now_ms(self) -> int:
        return self._true_ms() + self.skew_ms


class Schedule:
    def __init__(self, plan: Plan, loop: VirtualLoop) -> None:
        self.plan = plan
        self.rng = random.Random(plan.seed)
        self.loop = loop
        self.replicas = ReplicaSet(self.rng, loop.now_ms)
        settings = QueueSettings(coordination=plan.coordination, order_hint=plan.order_hint)
        key = QueueKey("000000000000", "jobs")
        self.queue = Queue(QUEUE_NUMBER, key, settings, loop.now_ms(), loop.now_ms())
        self.writers = itertools.count(1)
        self.ids = itertools.count(1)
        self.front_ends = [self._front_end() for _ in range(plan.front_ends)]
        self.busy: dict[int, set[asyncio.Task[None]]] = {}
        self.sent: set[str] = set()
        """Messages whose send was answered."""
        self.may_be_settled: set[str] = set()
        self.settled_ms: dict[str, float] = {}
        """When a settle was answered."""
        self.received: Counter[str] = Counter()
        self.leases: dict[str, list[GivenLease]] = {}
        self.returned: list[str] = []
        """Messages that were received after their settle had been answered."""
        self.shared_leases: list[str] = []
        """Messages of which two leases were valid at a time."""
        self.deeds: Counter[str] = Counter()

    def _front_end(self) -> SharedIndexPartition:
        plan, loop = self.plan, self.loop

        async def claim_writer() -> int:
            return next(self.writers)

        skew_ms = self.rng.randint(-plan.skew_ms, plan.skew_ms)
        clock = FrontEndClock(loop.now_ms, skew_ms)
        return SharedIndexPartition(
            self.queue,
            IndexContext(
                MemoryIndexTables(self.replicas, plan.levels),
                Sequences(claim_writer, loop.now_ms),
                clock,
                loop.now_ms,
                random.Random(self.rng.random()),
                Observer(),
                lambda: 500,
            ),
        )

    async def run(self) -> None:
        self.replicas.nature = self.plan.nature
        workers = [
            self.loop.create_task(self._work(at % self.plan.front_ends))
            for at in range(self.plan.front_ends * self.plan.workers)
        ]
        trouble = self.loop.create_task(self._trouble())
        await asyncio.gather(*workers)
        trouble.cancel()
        await asyncio.wait([trouble])
        self.replicas.nature = ReplicaNature()
        for replica in self.replicas.replicas:
            replica.up()
        await asyncio.sleep(60)
        await self._drain()
        for front_end in self.front_ends:
            await front_end.close()

    @property
    def lost(self) -> set[str]:
        """Messages that were sent, not settled by anybody, and not there in the end."""
        return self.sent - self.drained - self.may_be_settled

    async def _drain(self) -> None:
        """Receive and settle everything, on one front end that knows nothing."""
        front_end = self._front_end()
        self.front_ends.append(front_end)
        self.drained: set[str] = set()
        empty = 0
        while empty < 3:
            leases = await self._lease(front_end, 10, 30_000)
            empty = 0 if leases else empty + 1
            if leases:
                self.drained |= {each.message.message_id for each in leases}
                now_ms = _now_ms(front_end)
                await front_end.settle([each.receipt for each in leases], now_ms)
            await asyncio.sleep(2.5 if empty else 0)

    async def _trouble(self) -> None:
        while True:
            await asyncio.sleep(self.rng.uniform(0.2, 3))
            if self.plan.outages and self.rng.random() < 0.5:
                replica = self.rng.choice(self.replicas.replicas)
                self.deeds["outage"] += 1
                replica.down = True
                long = self.rng.random() < self.plan.idle
                await asyncio.sleep(self.rng.uniform(60, 150) if long else self.rng.uniform(0.1, 4))
                replica.down = False
                if not long:
                    replica.up()
            if self.plan.crashes and self.rng.random() < 0.4:
                at = self.rng.randrange(self.plan.front_ends)
                self.deeds["crash"] += 1
                self.front_ends[at] = self._front_end()
                for task in list(self.busy.get(at, ())):
                    # What the dead one had sent may arrive, its answers do not.
                    task.cancel()

    async def _work(self, at: int) -> None:
        for _ in range(self.plan.steps):
            long = self.rng.random() < self.plan.idle
            await asyncio.sleep(self.rng.uniform(20, 120) if long else self.rng.uniform(0, 0.3))
            task = self.loop.create_task(self._step(at))
            self.busy.setdefault(at, set()).add(task)
            await asyncio.wait([task])
            self.busy[at].discard(task)
            if not task.cancelled() and (error := task.exception()):
                if not isinstance(error, UnavailableError):
                    raise error
                self.deeds["error"] += 1

    async def _step(self, at: int) -> None:
        front_end = self.front_ends[at]
        match self.rng.choice(("send", "send", "receive", "receive", "settle", "extend", "back")):
            case "send":
                await self._send(front_end)
            case "receive":
                await self._lease(front_end, self.rng.choice((1, 1, 3)))
            case "settle":
                await self._settle(front_end)
            case "extend":
                await self._extend(front_end)
            case "back":
                await self._give_back(front_end)

    async def _send(self, front_end: SharedIndexPartition) -> None:
        drafts = [
            Draft(f"id-{next(self.ids)}", "body", "s", self.rng.choice((0, 0, 700, 15_000)))
            for _ in range(self.rng.choice((1, 1, 2, 5)))
        ]
        if self.rng.random() < 0.2:
            sent = await self._adopt(front_end, drafts)
        else:
            await front_end.send(drafts, _now_ms(front_end))
            sent = [draft.message_id for draft in drafts]
        self.sent.update(sent)

    async def _adopt(self, front_end: SharedIndexPartition, drafts: list[Draft]) -> list[str]:
        """Messages come from another queue, perhaps twice."""
        now_ms = _now_ms(front_end)
        transfers = [
            Transfer(accepted(msgspec.structs.replace(draft, delay_ms=0), 5, now_ms), 1, now_ms)
            for draft in drafts
        ]
        # A mover that gets no answer, or two movers, do the same move again.
        others = [front_end, *self.rng.choices(self.front_ends, k=self.rng.choice((0, 1, 2)))]
        done = await asyncio.gather(
            *(self._adopt_at(each, transfers) for each in others[: 1 + self.rng.randint(0, 1)])
        )
        if not any(done):
            await others[-1].adopt(transfers, _now_ms(others[-1]))
        return [draft.message_id for draft in drafts]

    async def _adopt_at(self, front_end: SharedIndexPartition, transfers: list[Transfer]) -> bool:
        try:
            await front_end.adopt(transfers, _now_ms(front_end))
        except UnavailableError:
            return False
        return True

    async def _lease(
        self, front_end: SharedIndexPartition, count: int, lease_ms: int | None = None
    ) -> list[Lease]:
        lease_ms = self.rng.choice(LEASES_MS) if lease_ms is None else lease_ms
        began = self.loop.now_ms()
        now_ms = _now_ms(front_end)
        leased = await front_end.lease(Ask(count, lease_ms), now_ms)
        for lease in leased.messages:
            self._given(front_end, lease, began)
        return leased.messages

    def _given(self, front_end: SharedIndexPartition, lease: Lease, began_ms: int) -> None:
        message_id = lease.message.message_id
        true_ms = self.loop.now_ms()
        self.received[message_id] += 1
        if message_id in self.settled_ms and began_ms > self.settled_ms[message_id]:
            self.returned.append(message_id)
        clock = front_end.clock
        assert isinstance(clock, FrontEndClock)
        until_ms = lease.receipt.until_ms - clock.skew_ms
        held = self.leases.setdefault(message_id, [])
        slack_ms = 2 * self.plan.skew_ms
        for other in held:
            # A lease whose answer came after its end is none.
            ends_ms = min(until_ms, other.until_ms) - slack_ms
            if not other.ended and ends_ms > true_ms:
                self.shared_leases.append(message_id)
        held.append(GivenLease(lease, true_ms, until_ms))

    def _any_lease(self) -> GivenLease | None:
        all_leases = [each for some in self.leases.values() for each in some]
        return self.rng.choice(all_leases) if all_leases else None

    async def _settle(self, front_end: SharedIndexPartition) -> None:
        given = self._any_lease()
        if given is not None:
            message_id = given.lease.message.message_id
            self.may_be_settled.add(message_id)
            given.ended = True
            await front_end.settle([given.lease.receipt], _now_ms(front_end))
            self.settled_ms.setdefault(message_id, self.loop.now_ms())

    async def _extend(self, front_end: SharedIndexPartition) -> None:
        given = self._any_lease()
        if given is None or given.ended:
            return
        lease_ms = self.rng.choice(LEASES_MS)
        until_ms = given.until_ms
        # While the outcome is unknown the lease is not counted on.
        given.until_ms = 0
        now_ms = self.loop.now_ms()
        asked = [(given.lease.receipt, lease_ms)]
        (extension,) = await front_end.extend(asked, _now_ms(front_end))
        if extension is Extension.EXTENDED:
            given.until_ms = now_ms + lease_ms
        elif extension is Extension.STALE:
            given.until_ms = until_ms

    async def _give_back(self, front_end: SharedIndexPartition) -> None:
        given = self._any_lease()
        if given is not None and not given.ended:
            given.ended = True
            await front_end.release([given.lease.receipt], _now_ms(front_end))


def _now_ms(front_end: SharedIndexPartition) -> int:
    return front_end.clock.now_ms()


def run_schedule(plan: Plan) -> Schedule:
    loop = VirtualLoop()
    schedule = Schedule(plan, loop)
    asyncio.set_event_loop(loop)
    try:
        run_virtually(schedule.run(), loop)
    finally:
        asyncio.set_event_loop(None)
    return schedule
