"""The index returns the same messages as the memory store, step by step."""

import random
from collections.abc import Coroutine
from typing import Any, TypeVar

import msgspec
import pytest

from dovemq.core.commands import Ask, Draft, Peek, Receipt, Transfer
from dovemq.core.entry import Entry
from dovemq.core.index import index_for
from dovemq.core.message import Message
from dovemq.core.queue import Queue, QueueKey, QueueSettings
from dovemq.core.sending import stored_units
from dovemq.stores.memory import MemoryStore
from dovemq.testing.clock import ManualClock

T = TypeVar("T")

RUNS = 60
STEPS = 120
CHANGES: tuple[dict[str, Any], ...] = (
    {"group_concurrency": 1},
    {"group_concurrency": 3},
    {"group_concurrency": None},
    {"group_rate_per_second": 1},
    {"group_rate_per_second": 4},
    {"group_rate_per_second": None},
    {"retention_ms": 60_000},
    {"delivery_paused": True},
    {"delivery_paused": False},
)
HINTS: tuple[dict[str, Any], ...] = ({"order_hint": 0}, {"order_hint": 1}, {"order_hint": 5})
PAUSES_MS = (1, 10, 49, 50, 999, 1_000, 1_001, 5_000, 61_000, 300_000)


def done(verb: Coroutine[Any, Any, T]) -> T:
    """The result of a method of the memory store, which never waits."""
    try:
        verb.send(None)
    except StopIteration as stop:
        answer: T = stop.value
        return answer
    raise AssertionError("the store in memory waited")


class Twins:
    def __init__(self, seed: int, *, fifo: bool) -> None:
        self.rng = random.Random(seed)
        self.clock = ManualClock()
        self.settings = QueueSettings(fifo=fifo)
        self.index = index_for(self.settings, random.Random(seed))
        self.receipts: list[Receipt] = []
        self._sent = 0
        self._groups = self.rng.choice((1, 2, 8))
        self._store = MemoryStore(random.Random(seed), b"key")
        key = QueueKey("1", "q.fifo" if fifo else "q")
        self._queue = done(self._store.catalogue.create(Queue(0, key, self.settings, 0, 0)))
        self.memory = self._store.partition(self._queue, 0)

    @property
    def now_ms(self) -> int:
        return self.clock.now_ms()

    def step(self) -> None:
        verbs = (self.send, self.lease, self.settle, self.extend, self.release)
        rare = (self.adopt, self.drop, self.change, self.wait)
        weights = [6, 7, 4, 2, 2, 1, 0.3, 0.7, 3]
        [verb] = self.rng.choices((*verbs, *rare), weights)
        verb()
        self.check()

    def send(self) -> None:
        delays_ms = [self.rng.choice((0, 0, 0, 50, 1_000)) for _ in range(self._burst())]
        drafts = [self._draft(delay_ms) for delay_ms in delays_ms]
        for draft, sent in zip(drafts, done(self.memory.send(drafts, self.now_ms)), strict=True):
            visible_ms = self.now_ms + draft.delay_ms
            units = stored_units(draft)
            self.index.add(
                Entry(sent.sequence, visible_ms, self.now_ms, group=draft.group, units=units)
            )

    def adopt(self) -> None:
        self._sent += 1
        received = self.rng.choice((0, 2))
        sent_ms = self.now_ms - self.rng.choice((0, 100, 30_000))
        message = Message(f"{self._sent}", 0, self._body(), sent_ms, "sender", group=self._group())
        transfer = Transfer(message, received, sent_ms if received else 0)
        [sent] = done(self.memory.adopt([transfer], self.now_ms))
        kept_ms = self.now_ms if self.settings.fifo else sent_ms
        first_ms = transfer.first_received_ms
        units = stored_units(message)
        self.index.add(
            Entry(sent.sequence, self.now_ms, kept_ms, received, first_ms, message.group, units)
        )

    def lease(self) -> None:
        lease_ms = self.rng.choice((0, 10, 100, 1_000, 30_000))
        ask = Ask(self._burst(), lease_ms, self.rng.choice((None, None, 1, 3)))
        expected = done(self.memory.lease(ask, self.now_ms))
        picked = self.index.lease(ask, self.now_ms)
        for leases, entries in (
            (expected.messages, picked.taken),
            (expected.exhausted, picked.exhausted),
        ):
            assert [(entry.sequence, entry.receive_count) for entry in entries] == [
                (lease.message.sequence, lease.receive_count) for lease in leases
            ]
            self.receipts += [lease.receipt for lease in leases]
        assert picked.more == expected.more
        if expected.next_due_ms is None:
            assert picked.next_due_ms is None
        else:
            assert picked.next_due_ms is not None
            assert self.now_ms < picked.next_due_ms <= expected.next_due_ms

    def settle(self) -> None:
        for receipt in self._some_receipts():
            [expected] = done(self.memory.settle([receipt], self.now_ms))
            settled = self.index.settle(receipt.sequence, receipt.receive_count, self.now_ms)
            assert settled is expected

    def extend(self) -> None:
        lease_ms = self.rng.choice((0, 0, 100, 5_000))
        until_ms = self.now_ms + lease_ms
        for receipt in self._some_receipts():
            [expected] = done(self.memory.extend([(receipt, lease_ms)], self.now_ms))
            sequence, receive_count = receipt.sequence, receipt.receive_count
            extended = self.index.extend(sequence, receive_count, until_ms, self.now_ms)
            assert extended is expected

    def release(self) -> None:
        self.index.expire(self.now_ms)
        for receipt in self._some_receipts():
            done(self.memory.release([receipt], self.now_ms))
            self.index.release(receipt.sequence, receipt.receive_count)

    def drop(self) -> None:
        before_ms = self.now_ms - self.rng.choice((-1, 0, 1_000))
        dropped = done(self.memory.drop(before_ms, 1_000, self.now_ms))
        self.index.expire(self.now_ms)
        assert len(self.index.drop(before_ms, 1_000)) == dropped

    def change(self) -> None:
        changes = self.rng.choice(CHANGES if self.settings.fifo else CHANGES + HINTS)
        self.settings = msgspec.structs.replace(self.settings, **changes)
        self._queue = msgspec.structs.replace(
            self._queue, settings=self.settings, version=self._queue.version + 1
        )
        self.memory = self._store.partition(self._queue, 0)
        self.index.settings = self.settings

    def wait(self) -> None:
        self.clock.advance(self.rng.choice(PAUSES_MS))

    def check(self) -> None:
        assert self.index.counts(self.now_ms) == done(self.memory.counts(self.now_ms))
        for peeked in done(self.memory.peek(Peek(1_000), self.now_ms)):
            entry = self.index.get(peeked.message.sequence)
            if peeked.receive_count:
                assert entry is not None
                assert entry.visible_ms == peeked.visible_ms
                assert entry.receive_count == peeked.receive_count
                assert entry.first_received_ms == peeked.first_received_ms

    def _draft(self, delay_ms: int) -> Draft:
        self._sent += 1
        number = f"{self._sent}"
        deduplication_id = number if self.settings.fifo else None
        group = self._group()
        return Draft(
            number,
            self._body(),
            "sender",
            delay_ms,
            group=group,
            deduplication_id=deduplication_id,
        )

    def _body(self) -> str:
        return "x" * self.rng.choice((1, 64, 65, 1_000, 20_000))

    def _group(self) -> str | None:
        if not self.settings.fifo and self.rng.random() < 0.2:
            return None
        return f"g{self.rng.randrange(self._groups)}"

    def _burst(self) -> int:
        return self.rng.choice((1, 1, 2, 5, 10, 40))

    def _some_receipts(self) -> list[Receipt]:
        recent = self.receipts[-40:]
        return self.rng.sample(recent, min(len(recent), self.rng.choice((1, 1, 2, 20))))


@pytest.mark.parametrize("fifo", [False, True])
@pytest.mark.parametrize("part", range(4))
def test_index_answers_as_the_store_in_memory_does(part: int, fifo: bool) -> None:
    for run in range(RUNS // 4):
        twins = Twins(part * RUNS + run, fifo=fifo)
        for _ in range(STEPS):
            twins.step()
        twins.check()
