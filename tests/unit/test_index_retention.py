"""Messages that leave an index by age, purge or settling leave nothing behind."""

import sys
from collections import deque
from collections.abc import Iterator

import pytest

from dovemq.core import limits
from dovemq.core.entry import Entry
from tests.unit.indexes import Bench

RETENTION_MS = limits.MINUTE_MS


def bench_of(*, fifo: bool) -> Bench:
    return Bench(fifo=fifo, retention_ms=RETENTION_MS)


def _reachable(root: object) -> Iterator[object]:
    """Every object that the index holds, found through slots, attributes and containers."""
    seen: set[int] = set()
    pending = [root]
    while pending:
        item = pending.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        yield item
        if isinstance(item, dict):
            pending += [*item.keys(), *item.values()]
        elif hasattr(item, "__iter__") and not isinstance(item, str) and _is_plain(item):
            pending += list(item)
        elif type(item).__module__.startswith("dovemq.core") and not isinstance(item, Entry):
            pending += [getattr(item, name) for name in _attributes(item)]


def _is_plain(item: object) -> bool:
    return not type(item).__module__.startswith("dovemq")


def _attributes(item: object) -> list[str]:
    return [*getattr(item, "__dict__", ()), *getattr(type(item), "__slots__", ())]


def entries_held(bench: Bench) -> int:
    return sum(isinstance(item, Entry) for item in _reachable(bench.index))


def places_held(bench: Bench) -> int:
    """The lengths of all lines, lists and tables of the index together."""
    lines = (item for item in _reachable(bench.index) if isinstance(item, deque | list | dict))
    return sum(len(line) for line in lines)


@pytest.mark.parametrize("fifo", [False, True])
def test_message_is_gone_when_the_retention_period_ends(fifo: bool) -> None:
    bench = bench_of(fifo=fifo)
    sent = bench.send(2, group="a")
    bench.lease(1, lease_ms=2 * RETENTION_MS)
    bench.clock.advance(RETENTION_MS - 1)
    assert bench.index.expire(bench.now_ms) == []
    bench.clock.advance(1)
    assert bench.counts() == (0, 0, 0)
    assert bench.index.take_dropped() == sent
    assert bench.index.take_dropped() == []
    assert bench.pick().next_due_ms is None


def test_shorter_retention_holds_at_once() -> None:
    bench = Bench()
    sent = bench.send(3)
    bench.clock.advance(RETENTION_MS)
    [young] = bench.send()
    assert bench.counts() == (4, 0, 0)
    bench.set(retention_ms=RETENTION_MS)
    assert bench.lease(10) == [young]
    assert bench.index.take_dropped() == sent


def test_adopted_message_is_as_old_as_its_first_send() -> None:
    bench = bench_of(fifo=False)
    [own] = bench.send()
    sent_ms = bench.now_ms - RETENTION_MS + 10
    adopted = bench.add(visible_ms=bench.now_ms, sent_ms=sent_ms)
    assert bench.oldest_ms() == sent_ms
    bench.clock.advance(9)
    assert bench.counts() == (2, 0, 0)
    bench.clock.advance(1)
    assert bench.index.expire(bench.now_ms) == [adopted]
    assert bench.lease(10) == [own]


def test_adopted_message_alone_is_as_old_as_its_first_send() -> None:
    bench = bench_of(fifo=False)
    assert bench.counts() == (0, 0, 0)
    adopted = bench.add(visible_ms=bench.now_ms, sent_ms=bench.now_ms - RETENTION_MS + 10)
    bench.clock.advance(10)
    assert bench.index.expire(bench.now_ms) == [adopted]


def test_oldest_visible_message_is_looked_for_behind_hidden_ones() -> None:
    bench = Bench()
    bench.send(2)
    bench.lease(2)
    assert bench.oldest_ms() is None
    bench.clock.advance(10)
    bench.send(2)
    assert bench.oldest_ms() == bench.now_ms
    bench.index.release(1, 1)
    assert bench.oldest_ms() == bench.now_ms - 10


@pytest.mark.parametrize("fifo", [False, True])
def test_drop_takes_the_oldest_up_to_a_number(fifo: bool) -> None:
    bench = bench_of(fifo=fifo)
    old = bench.send(5, group="a")
    bench.lease(2)
    bench.clock.advance(1)
    young = bench.send(2, group="b")
    assert bench.index.drop(bench.now_ms, 3) == old[:3]
    assert bench.index.drop(bench.now_ms, 3) == old[3:]
    assert bench.index.drop(bench.now_ms, 3) == []
    assert bench.counts() == (2, 0, 0)
    assert bench.lease(10) == young


@pytest.mark.parametrize("fifo", [False, True])
def test_dropping_everything_leaves_nothing(fifo: bool) -> None:
    bench = bench_of(fifo=fifo)
    sent = [*bench.send(3, group="a"), *bench.send(2, group="b", delay_ms=50)]
    bench.lease(1)
    assert bench.index.drop(sys.maxsize, 100) == sent
    assert bench.counts() == (0, 0, 0)
    assert (bench.lease(10), bench.pick().next_due_ms) == ([], None)


@pytest.mark.parametrize("fifo", [False, True])
@pytest.mark.parametrize("order", ["forwards", "backwards"])
def test_settled_messages_leave_no_remains(fifo: bool, order: str) -> None:
    bench = bench_of(fifo=fifo)
    for number in range(6_000):
        bench.send(1, group=f"{number % 3_000}")
    taken: list[int] = []
    while run := bench.lease(100, lease_ms=50_000):
        taken += run
    bench.settle_all(taken if order == "forwards" else taken[::-1])
    left = 6_000 - len(taken)
    assert bench.counts() == (left, 0, 0)
    assert entries_held(bench) <= left + 1_100


def test_messages_settled_after_their_lease_leave_no_remains() -> None:
    bench = Bench()
    [first] = bench.send()
    sent = bench.send(5_000)
    while bench.lease(1_000, lease_ms=10):
        pass
    bench.clock.advance(10)
    bench.settle_all(sent)
    assert bench.counts() == (1, 0, 0)
    assert entries_held(bench) <= 2_200
    assert bench.lease(10) == [first]


def test_leases_that_come_and_go_leave_no_slots_behind() -> None:
    bench = Bench()
    bench.send(2)
    bench.lease(lease_ms=30_000)
    for _ in range(20_000):
        bench.clock.advance(1)
        [entry] = bench.pick(lease_ms=40_000).taken
        bench.index.release(entry.sequence, entry.receive_count)
    assert places_held(bench) < 5_000
    bench.clock.advance(10_000)
    assert bench.lease(10) == [2, 1]


def test_parked_messages_that_are_settled_leave_no_remains() -> None:
    bench = Bench()
    sent = bench.send(5_000, group="one")
    while bench.lease(1_000, lease_ms=10):
        pass
    bench.clock.advance(10)
    bench.set(group_concurrency=1)
    assert bench.lease() == sent[:1]
    assert bench.lease() == []
    assert set(bench.index.ahead(3)) < set(sent)
    for sequence in sent[1:]:
        bench.settle(sequence)
    assert bench.counts() == (0, 1, 0)
    assert entries_held(bench) <= 2_200


def test_dropped_groups_leave_no_remains() -> None:
    bench = bench_of(fifo=True)
    for number in range(4_000):
        bench.send(1, group=f"{number}")
    bench.clock.advance(1)
    [kept] = bench.send(1, group="kept")
    [held] = bench.lease(lease_ms=2_000)
    assert held == 1
    bench.index.drop(bench.now_ms, 4_000)
    assert entries_held(bench) <= 1_100
    assert bench.lease(10) == [kept]


def test_changes_of_settings_leave_no_remains() -> None:
    bench = Bench(fifo=True, group_rate_per_second=1)
    sent = bench.send(3, group="a")
    bench.settle_all(bench.lease())
    for _ in range(1_100):
        bench.set(group_rate_per_second=2)
    bench.settle_all(bench.lease())
    assert places_held(bench) < 200
    bench.clock.advance(limits.SECOND_MS)
    assert bench.lease(10) == sent[2:]


def test_pristine_message_costs_an_entry_of_72_bytes() -> None:
    assert sys.getsizeof(Entry(1, 2, 3)) == 72


def test_entries_of_large_messages_share_their_sizes() -> None:
    bench = Bench()
    large = [Entry(number, 1, 1, units=int("16384")) for number in (1, 2)]
    assert large[0].units is not large[1].units
    for entry in large:
        bench.index.add(entry)
    assert large[0].units is large[1].units


def test_leases_that_are_taken_back_without_end_leave_nothing_behind() -> None:
    bench = Bench()
    (sequence,) = bench.send()
    for _ in range(5_000):
        bench.lease(lease_ms=0)
        assert bench.index.release(sequence, 1)
    assert places_held(bench) < 2_000
    bench.clock.advance(bench.index.settings.retention_ms)
    assert bench.index.expire(bench.now_ms) == [sequence]
