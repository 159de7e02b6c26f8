"""Random walks over a spread queue with sessions: nothing is lost, all receipts are honoured."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dovemq.core.commands import Extension, Lease, Peek, Settlement
from dovemq.core.partitions import ControlMemory
from tests.fabric.clients import AutoWorld, PinnedClient
from tests.walks import SECONDS_MAX, WALK

CLIENTS_MAX = 6
HELD_MAX = 100
PARTITIONS_MAX = 5
ALL = 10_000

clients = st.integers(0, CLIENTS_MAX)
picks = st.integers(0, HELD_MAX)
groups = st.sampled_from([None, None, None, "red", "green"])
delays_ms = st.sampled_from([0, 0, 0, 100, 60_000])
leases_ms = st.sampled_from([0, 1, 1_000, 1_000, 30_000, 600_000])
steps_ms = st.sampled_from([1, 999, 1_000, 1_000, 30_000, 60_000])
sizes = st.integers(1, PARTITIONS_MAX)

T = TypeVar("T")


class SpreadMachine(RuleBasedStateMachine):
    """The model knows of each message when it is visible, and who received it last."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.visible_ms: dict[str, int] = {}
        self.newest: dict[str, Lease] = {}
        self.held: list[Lease] = []
        self.clients: list[PinnedClient] = []
        self.unwatch: Callable[[], None] | None = None

    @initialize(partitions=sizes, strategy=st.sampled_from(["conventional", "pms"]))
    def begin(self, partitions: int, strategy: str) -> None:
        # A receive may look everywhere, so that it must find what is there.
        self.world = AutoWorld(
            partitions=partitions, dequeue_strategy=strategy, dequeue_fanout=2 * PARTITIONS_MAX
        )
        self.run(self.world.start())

    def run(self, work: Awaitable[T]) -> T:
        async def done() -> T:
            return await work

        return self.runner.run(done())

    @property
    def now_ms(self) -> int:
        return self.world.manual.now_ms()

    @precondition(lambda self: len(self.clients) < CLIENTS_MAX)
    @rule()
    def open_client(self) -> None:
        self.clients.append(self.world.client())

    @precondition(lambda self: self.clients)
    @rule(pick=clients)
    def close_client(self, pick: int) -> None:
        self.clients.pop(pick % len(self.clients)).leave()

    @rule(pick=clients, count=st.integers(1, 4), group=groups, delay_ms=delays_ms)
    def send(self, pick: int, count: int, group: str | None, delay_ms: int) -> None:
        drafts = [self.world.draft(group=group, delay_ms=delay_ms) for _ in range(count)]
        self.run(self._client(pick).send_drafts(drafts))
        for draft in drafts:
            self.visible_ms[draft.message_id] = self.now_ms + delay_ms

    @rule(pick=clients, count_max=st.integers(1, 10), lease_ms=leases_ms, polls=st.booleans())
    def receive(self, pick: int, count_max: int, lease_ms: int, polls: bool) -> None:
        wait_ms = 1_000 if polls and self.unwatch else 0
        there = {each for each, due_ms in self.visible_ms.items() if due_ms <= self.now_ms}
        taken = self.run(self._client(pick).take(count_max, wait_ms, lease_ms))
        received = [lease.message.message_id for lease in taken]
        assert len(received) == len(set(received)) <= count_max
        assert there.issuperset(received)
        assert received or not there
        for lease in taken:
            self.newest[lease.message.message_id] = lease
            self.visible_ms[lease.message.message_id] = self.now_ms + lease_ms
        self.held = [*self.held, *taken][-HELD_MAX:]

    @precondition(lambda self: self.held)
    @rule(pick=picks)
    def settle(self, pick: int) -> None:
        lease = self._held(pick)
        (answer,) = self.run(self.world.whole.settle([lease.receipt], self.now_ms))
        known = self.visible_ms.pop(lease.message.message_id, None) is not None
        assert answer is (Settlement.SETTLED if known else Settlement.GONE)

    @precondition(lambda self: self.held)
    @rule(pick=picks, lease_ms=leases_ms)
    def extend(self, pick: int, lease_ms: int) -> None:
        lease = self._held(pick)
        (answer,) = self.run(self.world.whole.extend([(lease.receipt, lease_ms)], self.now_ms))
        message_id = lease.message.message_id
        if message_id not in self.visible_ms:
            assert answer is Extension.GONE
        elif self.newest.get(message_id) is lease:
            assert answer is Extension.EXTENDED
            self.visible_ms[message_id] = self.now_ms + lease_ms

    @precondition(lambda self: self.held)
    @rule(pick=picks)
    def release(self, pick: int) -> None:
        """Undo a lease that is still valid, as if its answer had not been delivered."""
        lease = self._held(pick)
        message_id = lease.message.message_id
        valid = self.visible_ms.get(message_id, 0) > self.now_ms
        if valid and self.newest.get(message_id) is lease:
            self.run(self.world.whole.release([lease.receipt], self.now_ms))
            self.visible_ms[message_id] = self.now_ms
            self.held.remove(lease)
            del self.newest[message_id]

    @rule(ms=steps_ms)
    def advance(self, ms: int) -> None:
        self.world.manual.advance(ms)

    @rule(partitions=sizes)
    def resize(self, partitions: int) -> None:
        self.run(self.world.set(control=ControlMemory()))
        self.run(self.world.resize(partitions))

    @rule(pick=st.integers(0, PARTITIONS_MAX))
    def mark(self, pick: int) -> None:
        active = self.world.queue.settings.layout.active
        self.run(self.world.mark(active[pick % len(active)] if pick else None))

    @rule(auto=st.sampled_from([True, True, False]), migration=st.sampled_from(["on", "off"]))
    def change_settings(self, auto: bool, migration: str) -> None:
        self.run(self.world.set(auto=auto, session_migration=migration))

    @rule(watched=st.booleans())
    def watch(self, watched: bool) -> None:
        """Somebody waits for messages, so that the partitions are watched."""
        self.run(self._change_watch(watched))

    @rule(scan=st.booleans())
    def keep_up(self, scan: bool) -> None:
        self.run(self.world.fabric.keep_up(leads=True, scan=scan))
        self.run(self.world.refresh())

    @invariant()
    def everything_is_there_once_until_it_is_settled(self) -> None:
        peeked = self.run(self.world.whole.peek(Peek(ALL), self.now_ms))
        present = [each.message.message_id for each in peeked]
        assert sorted(present) == sorted(self.visible_ms)

    @invariant()
    def sessions_are_those_of_open_clients(self) -> None:
        counts = self.world.fabric.clients.counts(self.world.queue.number)
        layout = self.world.queue.settings.layout
        assert all(number <= layout.highest for number in counts)
        for role in ("producers", "consumers"):
            assert sum(getattr(each, role) for each in counts.values()) <= len(self.clients)
        if not self.world.queue.settings.auto:
            assert not counts

    def teardown(self) -> None:
        """One client of its own gets everything that is left."""
        self.run(self._change_watch(False))
        self.world.manual.advance(600_000)
        for client in self.clients:
            client.leave()
        last = self.world.client()
        while self.visible_ms:
            taken = self.run(last.take(10))
            assert taken
            self.run(self.world.whole.settle([lease.receipt for lease in taken], self.now_ms))
            for lease in taken:
                del self.visible_ms[lease.message.message_id]
        last.leave()
        assert len(self.world.fabric.sessions) == 0
        self.runner.close()

    async def _change_watch(self, watched: bool) -> None:
        if self.unwatch is not None:
            self.unwatch()
        self.unwatch = self.world.whole.watch(lambda: None) if watched else None

    def _client(self, pick: int) -> PinnedClient:
        """One of the clients; a request without a session if there is none."""
        if not self.clients:
            return PinnedClient(self.world, session=None)
        return self.clients[pick % len(self.clients)]

    def _held(self, pick: int) -> Lease:
        return self.held[-1 - pick % len(self.held)]


TestSpreadMachine = pytest.mark.timeout(SECONDS_MAX)(SpreadMachine.TestCase)
TestSpreadMachine.settings = WALK
