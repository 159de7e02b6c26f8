"""Schedules: senders and receivers on a service over a nasty store, judged by the checker.

A seed decides all delays, losses and repetitions. Clients keep journals in memory. Time is virtual.
"""

import asyncio
import contextlib
import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from dovemq.core import limits
from dovemq.core.errors import RequestError, UnavailableError
from dovemq.core.partitions import resized
from dovemq.core.ports import Store
from dovemq.core.queue import Queue, QueueKey, Redrive
from dovemq.core.sending import new_draft
from dovemq.core.sessions import SESSION, ClientSession
from dovemq.fabric.store import FabricStore
from dovemq.load.checker import Rules, check
from dovemq.load.contents import Label, crc32, label_of, new_body
from dovemq.load.journals import ReceiverJournal, SenderJournal
from dovemq.load.judgement import CheckReport, Slack
from dovemq.load.reading import Kept
from dovemq.load.rows import Slot
from dovemq.service import Service, build_service
from dovemq.service.attempts import Delivery
from dovemq.stores.memory import MemoryStore
from dovemq.testing.clock import VirtualLoop, run_virtually
from dovemq.testing.nasty import CALM, NastyStore, Nature

RUN: Final = "schedule"
ACCOUNT: Final = "000000000000"
BUSY_MS_MAX: Final = 5
IDLE_MS_MAX: Final = 50
"""The longest pauses of a receiver before its next request."""
MS_US: Final = 1_000
EXACT: Final = Slack(lease_us=0)
"""Virtual time is exact to the millisecond, and there is one clock."""

NewStore = Callable[[random.Random], Store]


class Workload(Struct, frozen=True):
    """The work of the clients. Times are milliseconds; pauses are random up to their maximum.

    `repeats_max`: how often a send without an answer is repeated. `neglect`: the probability that a
    receiver does not settle what it received. `quits`: the probability that it cancels a receive.
    `receives_max` adds a dead-letter queue, which is received from too. `drain_ms_max`: how long
    receivers continue after the last send while the queue is not empty; longer than an exhausted
    message is hidden. `partitions` beyond 1 put a fabric over the store; `resizes` are the numbers
    of partitions that the queue gets one after the other while clients send. With `sessions` each
    client has a session, which may migrate.
    """

    senders: int = 2
    messages: int = 6
    receivers: int = 2
    batch: int = 3
    lease_ms: int = 200
    wait_ms: int = 0
    send_pause_ms_max: int = 20
    work_ms_max: int = 150
    repeats_max: int = 3
    neglect: float = 0.05
    quits: float = 0.0
    fifo: bool = False
    order_hint: int = 1
    receives_max: int | None = None
    drain_ms_max: int = 3 * limits.REDRIVE_LEASE_MS
    partitions: int = 1
    resizes: tuple[int, ...] = ()
    strategy: str = "conventional"
    sessions: bool = False

    @property
    def queue_name(self) -> str:
        return "jobs.fifo" if self.fifo else "jobs"


class Played(Struct, frozen=True):
    """The journals of the clients, and the number of faults by kind."""

    journals: tuple[Kept, Kept]
    deeds: dict[str, int]

    def report(self, rules: Rules) -> CheckReport:
        return check(self.journals, rules)


def new_memory_store(rng: random.Random) -> Store:
    return MemoryStore(rng, b"receipt key of a schedule")


def play(
    seed: int,
    nature: Nature,
    workload: Workload | None = None,
    new_store: NewStore = new_memory_store,
) -> Played:
    loop = VirtualLoop()
    schedule = Schedule(seed, nature, workload or Workload(), new_store, loop)
    return run_virtually(schedule.run(), loop)


class Schedule:
    """One run: a service over the store, its clients, and their journals."""

    def __init__(
        self, seed: int, nature: Nature, workload: Workload, new_store: NewStore, clock: VirtualLoop
    ) -> None:
        self._rng = random.Random(seed)
        self._clock = clock
        self._workload = workload
        self._inner = new_store(self._rng)
        self._store = NastyStore(self._inner, nature, self._rng, clock)
        self._fabric = FabricStore(self._store, clock)
        self._ids: Iterator[int] = itertools.count(1)
        self._service: Service = build_service(self._fabric, clock, self._new_id)
        queues = (workload.queue_name,)
        self._sends = SenderJournal(RUN, queues)
        self._receives = ReceiverJournal(RUN, queues)
        self._sending = True

    async def run(self) -> Played:
        queues = await self._queues()
        senders = [
            asyncio.create_task(self._send_all(queues[0], number))
            for number in range(self._workload.senders)
        ]
        receivers = [
            asyncio.create_task(self._receive_all(queues, number))
            for number in range(self._workload.receivers)
        ]
        upkeep = asyncio.create_task(self._keep_up())
        resizing = asyncio.create_task(self._resize(queues[0]))
        await asyncio.gather(*senders)
        await resizing
        self._store.nature = CALM
        self._sending = False
        await self._drained(queues)
        for receiver in receivers:
            receiver.cancel()
        upkeep.cancel()
        await asyncio.wait((*receivers, upkeep))
        await self._service.close()
        for receiver in receivers:
            if not receiver.cancelled():
                receiver.result()
        journals = (self._sends, self._receives)
        sent, received = (Kept(journal.heading, journal.array()) for journal in journals)
        return Played((sent, received), self._store.deeds)

    async def _queues(self) -> list[Queue]:
        workload = self._workload
        changes: dict[str, Any] = {"fifo": workload.fifo, "lease_ms": workload.lease_ms}
        if not workload.fifo:
            changes["order_hint"] = workload.order_hint
        if workload.partitions > 1:
            changes["partitions"] = workload.partitions
            changes["dequeue_strategy"] = workload.strategy
            if workload.fifo:
                changes["deduplication_scope"] = "messageGroup"
        queues: list[Queue] = []
        if workload.receives_max is not None:
            dead = QueueKey(ACCOUNT, "dead.fifo" if workload.fifo else "dead")
            queues.append(await self._service.queues.create(dead, dict(changes), {}))
            changes["redrive"] = Redrive(dead, workload.receives_max)
        key = QueueKey(ACCOUNT, workload.queue_name)
        queue = await self._service.queues.create(key, changes, {})
        if workload.sessions:
            await self._replace(queue, auto=True, session_migration="on")
        return [queue, *queues]

    async def _replace(self, queue: Queue, **fields: Any) -> None:
        """Set fields of the settings as the controller does, unless somebody else is faster."""
        settings = msgspec.structs.replace(queue.settings, **fields)
        changed = msgspec.structs.replace(queue, settings=settings)
        await self._inner.catalogue.replace(changed)

    async def _drained(self, queues: Sequence[Queue]) -> None:
        """Waits until the inner store is empty, or the time is over."""
        calm = FabricStore(self._inner, self._clock)
        until_ms = self._clock.now_ms() + self._workload.drain_ms_max
        while self._clock.now_ms() < until_ms:
            await self._pause(self._workload.lease_ms)
            now_ms = self._clock.now_ms()
            found = [await calm.catalogue.find(each.key) or each for each in queues]
            counts = [await calm.partition(each, 0).counts(now_ms) for each in found]
            if not any(each.visible + each.leased + each.delayed for each in counts):
                return

    async def _keep_up(self) -> None:
        while True:
            await self._pause(self._workload.lease_ms)
            with contextlib.suppress(UnavailableError):
                await self._fabric.keep_up(leads=True, scan=True)

    async def _resize(self, queue: Queue) -> None:
        """Change the number of partitions while the senders send, one change after the other."""
        for partitions in self._workload.resizes:
            await self._pause(self._drawn(2 * self._workload.send_pause_ms_max))
            if self._workload.sessions:
                found = await self._service.queues.find(queue.key)
                await self._replace(found, layout=resized(found.settings.layout, partitions))
            else:
                await self._service.queues.change(queue.key, {"partitions": partitions})

    async def _send_all(self, queue: Queue, sender: int) -> None:
        session = ClientSession()
        SESSION.set(session)
        for send_seq in range(1, self._workload.messages + 1):
            body = new_body(Label(RUN, sender, send_seq), f"{self._rng.getrandbits(64):x}")
            for _ in range(1 + self._workload.repeats_max):
                session.requests += 1
                if await self._send(queue, sender, send_seq, body):
                    break
                await self._pause(self._drawn(self._workload.send_pause_ms_max))
            await self._pause(self._drawn(self._workload.send_pause_ms_max))
        session.end()

    async def _send(self, queue: Queue, sender: int, send_seq: int, body: str) -> bool:
        """Tells whether there was an answer."""
        draft = new_draft(
            queue,
            message_id=self._new_id(),
            body=body,
            sender=ACCOUNT,
            group=str(sender) if queue.settings.fifo else None,
            deduplication_id=f"{sender}-{send_seq}" if queue.settings.fifo else None,
        )
        slot = self._sends.sending(0, sender, send_seq, crc32(body), len(body), self._now_us())
        try:
            queue = await self._service.queues.find(queue.key)
            (sent,) = await self._service.messages.send(queue, [draft])
        except UnavailableError:
            return False
        except RequestError:
            self._sends.refused(slot, self._now_us())
            return True
        self._sends.acknowledged(slot, sent.message_id, self._now_us())
        return True

    async def _receive_all(self, queues: Sequence[Queue], receiver: int) -> None:
        deliveries: Sequence[Delivery] = ()
        session = ClientSession()
        SESSION.set(session)
        for queue in itertools.cycle(queues):
            session.requests += 1
            # The request must be later than the last answer, because the checker compares their
            # times.
            await self._pause(1 + self._drawn(BUSY_MS_MAX if deliveries else IDLE_MS_MAX))
            quits = self._sending and self._rng.random() < self._workload.quits
            asked_us = self._now_us()
            queue = await self._service.queues.find(queue.key)
            try:
                deliveries = await self._received(queue, quits)
            except (UnavailableError, TimeoutError):
                continue
            slots = [self._record(receiver, each, asked_us) for each in deliveries]
            neglected = self._sending and self._rng.random() < self._workload.neglect
            if deliveries and not neglected:
                await self._pause(self._drawn(self._workload.work_ms_max))
                await self._settle(queue, deliveries, slots)

    async def _received(self, queue: Queue, quits: bool) -> list[Delivery]:
        workload = self._workload
        receive = self._service.messages.receive(
            queue, workload.batch, workload.lease_ms, workload.wait_ms
        )
        if not quits:
            return await receive
        async with asyncio.timeout(self._drawn(30) / 1_000):
            return await receive

    def _record(self, receiver: int, delivery: Delivery, asked_us: int) -> Slot:
        message = delivery.lease.message
        label = label_of(message.body)
        assert label is not None, "a message of another kind is in the queue"
        return self._receives.received(
            0,
            receiver,
            label.sender,
            label.send_seq,
            message.message_id,
            crc32(message.body),
            len(message.body),
            delivery.lease.receive_count,
            asked_us,
            self._now_us(),
            self._workload.lease_ms * MS_US,
        )

    async def _settle(
        self, queue: Queue, deliveries: Sequence[Delivery], slots: Sequence[Slot]
    ) -> None:
        for slot in slots:
            self._receives.settling(slot, self._now_us())
        receipts = [delivery.receipt for delivery in deliveries]
        try:
            answers = await self._service.messages.settle(queue, receipts)
        except UnavailableError:
            return
        for slot, refusal in zip(slots, answers, strict=True):
            record = self._receives.settle_refused if refusal else self._receives.settled
            record(slot, self._now_us())

    async def _pause(self, ms: int) -> None:
        await asyncio.sleep(ms / 1_000)

    def _drawn(self, ms_max: int) -> int:
        return self._rng.randint(0, ms_max)

    def _now_us(self) -> int:
        return self._clock.now_ms() * MS_US

    def _new_id(self) -> str:
        return f"{next(self._ids):08x}-0000-4000-8000-000000000000"
