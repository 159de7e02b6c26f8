"""Random walks over the store in memory and the embedded one, which must never disagree."""

from typing import ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from dovemq.core.commands import Extension, Settlement
from dovemq.core.queue import ANY_ORDER
from tests.contract.twins import DEAD, JOBS, Held, Ledger, Pair, transfer
from tests.contract.world import Line
from tests.walks import SECONDS_MAX, WALK

HELD_MAX = 200
FLOOD = 40

places = st.sampled_from([JOBS, JOBS, JOBS, DEAD])
picks = st.integers(0, HELD_MAX)
counts = st.integers(1, 10)
leases_ms = st.sampled_from([0, 1, 99, 100, 1_000, 1_000, 30_000, 600_000])
redrives_ms = st.sampled_from([100, 1_000, 30_000])
delays_ms = st.sampled_from([0, 0, 0, 1, 100, 1_000, 60_000])
steps_ms = st.sampled_from([1, 50, 99, 100, 999, 1_000, 1_000, 30_000, 60_000, 300_000])
retentions_ms = st.sampled_from([60_000, 600_000, 345_600_000])
order_hints = st.sampled_from([1, 1, 2, 5, ANY_ORDER])
limits_per_group = st.sampled_from([None, None, 1, 2, 5])


class Twins(RuleBasedStateMachine):
    fifo: ClassVar[bool] = False
    groups: ClassVar[tuple[str | None, ...]] = (None, None, "red", "green", "blue")

    def __init__(self) -> None:
        super().__init__()
        self.pair = self.new_pair()
        self.ledger = Ledger()
        self.held: list[Held] = []
        self.bodies = 0

    def new_pair(self) -> Pair:
        return Pair(fifo=self.fifo)

    def teardown(self) -> None:
        self.pair.close()

    @initialize(data=st.data(), count=st.integers(1, 30), retention_ms=retentions_ms)
    def begin_with_a_backlog(self, data: st.DataObject, count: int, retention_ms: int) -> None:
        self.set_retention(retention_ms, JOBS)
        groups = st.sampled_from(self.groups)
        self._send(JOBS, [(data.draw(groups), 0) for _ in range(count)])

    @rule(data=st.data(), delay_ms=delays_ms, place=places)
    def send(self, data: st.DataObject, delay_ms: int, place: int) -> None:
        self._send(place, [(data.draw(st.sampled_from(self.groups)), delay_ms)])

    @rule(data=st.data(), count=st.integers(2, 10))
    def send_batch(self, data: st.DataObject, count: int) -> None:
        groups = st.sampled_from(self.groups)
        self._send(JOBS, [(data.draw(groups), data.draw(delays_ms)) for _ in range(count)])

    @rule(place=places, count_max=counts, lease_ms=leases_ms)
    def lease(self, place: int, count_max: int, lease_ms: int) -> None:
        taken, _ = self.pair.lease(place, count_max, lease_ms, None)
        self._hold(taken)

    @rule(count_max=counts, receives=st.integers(1, 3), lease_ms=redrives_ms, twice=st.booleans())
    def redrive(self, count_max: int, receives: int, lease_ms: int, twice: bool) -> None:
        """Receive in vain until some messages are exhausted, then move these."""
        for _ in range(receives):
            self.pair.lease(JOBS, count_max, 0, None)
        taken, exhausted = self.pair.lease(JOBS, count_max, lease_ms, receives)
        self._hold(taken)
        for held in exhausted:
            for _ in range(1 + twice):
                self._adopt(held, DEAD)
            self._settle(held)

    @precondition(lambda self: self.held)
    @rule(pick=picks)
    def settle(self, pick: int) -> None:
        self._settle(self._newest(pick))

    @precondition(lambda self: self.held)
    @rule(pick=picks)
    def settle_with_an_old_receipt(self, pick: int) -> None:
        self._settle(self.held[pick % len(self.held)])

    @precondition(lambda self: self.held)
    @rule(pick=picks, lease_ms=leases_ms)
    def extend(self, pick: int, lease_ms: int) -> None:
        oracle, embedded = self.pair.with_receipts(
            self._newest(pick), lambda line, lease: line.extend(lease, lease_ms)
        )
        assert embedded is oracle
        assert isinstance(embedded, Extension)

    @precondition(lambda self: self.held)
    @rule(pick=picks, lease_ms=leases_ms)
    def extend_with_an_old_receipt(self, pick: int, lease_ms: int) -> None:
        oracle, embedded = self.pair.with_receipts(
            self.held[pick % len(self.held)], lambda line, lease: line.extend(lease, lease_ms)
        )
        assert embedded is oracle

    @precondition(lambda self: any(held.releasable for held in self.held))
    @rule(pick=picks)
    def release(self, pick: int) -> None:
        releasable = [held for held in reversed(self.held) if held.releasable]
        held = releasable[pick % len(releasable)]
        self.pair.with_receipts(held, lambda line, lease: line.release(lease))
        self.held.remove(held)

    @precondition(lambda self: self.held)
    @rule(pick=picks)
    def move_back(self, pick: int) -> None:
        taken, _ = self.pair.lease(DEAD, 1 + pick % 10, 30_000, None)
        for held in taken:
            self._adopt(held, JOBS)
            self._settle(held)

    @rule(ms=steps_ms)
    def advance(self, ms: int) -> None:
        self.pair.advance(ms)

    @rule(place=places, age_ms=st.sampled_from([-1, 1_000, 60_000, 60_000, 300_000]))
    def drop(self, place: int, age_ms: int) -> None:
        before_ms = self.pair.now_ms() - age_ms
        oracle, embedded = self.pair.ask(place, lambda line: line.drop(before_ms))
        assert embedded == oracle
        self.ledger.dropped(place, before_ms)

    @rule(retention_ms=retentions_ms, place=places)
    def set_retention(self, retention_ms: int, place: int) -> None:
        self.pair.ask(place, lambda line: line.change(retention_ms=retention_ms))

    @rule(concurrency=limits_per_group, rate=limits_per_group)
    def set_limits_per_group(self, concurrency: int | None, rate: int | None) -> None:
        changes = {"group_concurrency": concurrency, "group_rate_per_second": rate}
        self.pair.ask(JOBS, lambda line: line.change(**changes))

    @rule(paused=st.sampled_from([False, False, False, True]))
    def set_pause(self, paused: bool) -> None:
        self.pair.ask(JOBS, lambda line: line.change(delivery_paused=paused))

    @rule(killed=st.booleans())
    def restart(self, killed: bool) -> None:
        self.pair.restart(killed=killed)
        for held in self.held:
            held.releasable = False

    @invariant()
    def counts_agree(self) -> None:
        for place in (JOBS, DEAD):
            oracle, embedded = self.pair.ask(place, Line.all_counts)
            assert embedded == oracle

    @invariant()
    def everything_is_there_once_until_it_is_settled_or_dropped(self) -> None:
        for place in (JOBS, DEAD):
            expired_ms = self.pair.now_ms() - self.pair.retention_ms(place) + 1
            self.ledger.dropped(place, expired_ms)
            oracle, embedded = self.pair.peek(place)
            assert embedded == oracle
            present = [peeked.message.message_id for peeked in embedded]
            assert len(present) == len(set(present))
            assert set(present) == self.ledger.message_ids(place)

    def _send(self, place: int, messages: list[tuple[str | None, int]]) -> None:
        first = self.bodies
        self.bodies += len(messages)
        oracle, embedded = self.pair.ask(
            place,
            lambda line: line.send_drafts(
                [
                    line.draft(_body(first + number), group=group, delay_ms=delay_ms)
                    for number, (group, delay_ms) in enumerate(messages)
                ]
            ),
        )
        assert [sent.message_id for sent in embedded] == [sent.message_id for sent in oracle]
        self.ledger.sent(place, oracle, self.pair.now_ms())

    def _hold(self, taken: list[Held]) -> None:
        self.held = [*self.held, *taken][-HELD_MAX:]

    def _newest(self, pick: int) -> Held:
        return self.held[-1 - pick % len(self.held)]

    def _settle(self, held: Held) -> None:
        oracle, embedded = self.pair.with_receipts(held, lambda line, lease: line.settle(lease))
        assert embedded == oracle
        if embedded == [Settlement.SETTLED]:
            self.ledger.settled(held.place, held.oracle.message.message_id)

    def _adopt(self, held: Held, target: int) -> None:
        oracle, embedded = self.pair.ask(target, lambda line: line.adopt(transfer(held.oracle)))
        assert embedded[0].message_id == oracle[0].message_id
        sent_ms = self.pair.now_ms() if self.fifo else held.oracle.message.sent_ms
        self.ledger.sent(target, oracle, sent_ms)


def _body(number: int) -> str:
    """Bodies of different sizes, so that their sums differ."""
    return f"{number}" + "x" * (number * 37 % 500)


class StandardTwins(Twins):
    @initialize(hint=order_hints)
    def begin_with_an_order_hint(self, hint: int) -> None:
        self.set_order_hint(hint)

    @rule(hint=order_hints)
    def set_order_hint(self, hint: int) -> None:
        self.pair.ask(JOBS, lambda line: line.change(order_hint=hint))

    @rule(group=st.sampled_from(["red", "green"]), lease_ms=st.sampled_from([1_000, 600_000]))
    def flood(self, group: str, lease_ms: int) -> None:
        """Send and lease enough messages of one group to make it noisy."""
        self._send(JOBS, [(group, 0)] * FLOOD)
        for _ in range(FLOOD // 10):
            taken, _ = self.pair.lease(JOBS, 10, lease_ms, None)
            self._hold(taken)


class FifoTwins(Twins):
    fifo = True
    groups = ("red", "green", "blue")

    @rule(place=places, key=st.sampled_from("xy"), group=st.sampled_from(groups))
    def send_with_an_id(self, place: int, key: str, group: str) -> None:
        oracle, embedded = self.pair.ask(
            place, lambda line: line.send("once", group=group, deduplication_id=key)
        )
        assert [type(sent) for sent in embedded] == [type(sent) for sent in oracle]
        assert embedded[0].message_id == oracle[0].message_id
        self.ledger.sent(place, oracle, self.pair.now_ms())

    @rule(scope=st.sampled_from(["queue", "messageGroup"]))
    def set_scope(self, scope: str) -> None:
        self.pair.ask(JOBS, lambda line: line.change(deduplication_scope=scope))


TestStandardTwinsAgree = pytest.mark.timeout(SECONDS_MAX)(StandardTwins.TestCase)
TestStandardTwinsAgree.settings = WALK
TestFifoTwinsAgree = pytest.mark.timeout(SECONDS_MAX)(FifoTwins.TestCase)
TestFifoTwinsAgree.settings = WALK
