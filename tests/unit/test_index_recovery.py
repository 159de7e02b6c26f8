"""Messages that are recovered piece by piece while others are handed out already."""

import random
import tracemalloc

import pytest

from dovemq.core.entry import Entry
from tests.unit.indexes import Bench

SENT_MS = 1_600_000_000_000
"""Before the beginning of the clock, so that all leases in these tests have ended."""


def _recovered(rng: random.Random, count: int, leased: float, *, fifo: bool) -> list[Entry]:
    """Messages in order of sequence; of some a lease has ended after all were sent."""
    entries = []
    for number in range(count):
        group = f"group-{rng.randrange(count // 4)}" if fifo else None
        entry = Entry(number + 1, SENT_MS + number, SENT_MS + number, group=group)
        if rng.random() < leased:
            entry.visible_ms = SENT_MS + count + rng.randrange(1_000)
            entry.receive_count, entry.first_received_ms = 1, SENT_MS + count
        entries.append(entry)
    return entries


@pytest.mark.parametrize("seed", range(20))
def test_recovered_messages_are_received_in_order_of_their_visibility(seed: int) -> None:
    rng = random.Random(seed)
    bench = Bench(retention_ms=10**12)
    entries = _recovered(rng, 400, rng.random(), fifo=False)
    places = {entry.sequence: (entry.visible_ms, entry.sequence) for entry in entries}
    taken: list[int] = []
    for begin in range(0, 400, 50):
        bench.index.add_recovered(entries[begin : begin + 50])
        taken += bench.lease(rng.randrange(10), lease_ms=10**9)
    while rest := bench.lease(10, lease_ms=10**9):
        taken += rest
    assert sorted(taken) == list(range(1, 401))
    after_all = taken[-200:]
    assert after_all == sorted(after_all, key=lambda sequence: places[sequence])


@pytest.mark.parametrize("seed", range(20))
def test_groups_keep_their_order_while_they_are_recovered(seed: int) -> None:
    rng = random.Random(seed)
    bench = Bench(fifo=True, retention_ms=10**12)
    entries = _recovered(rng, 200, 0.3, fifo=True)
    groups = {entry.sequence: entry.group for entry in entries}
    taken: list[int] = []

    def receive() -> bool:
        picked = bench.pick(5).taken
        for entry in picked:
            taken.append(entry.sequence)
            bench.settle(entry.sequence, entry.receive_count)
        return bool(picked)

    for begin in range(0, 200, 20):
        bench.index.add_recovered(entries[begin : begin + 20])
        receive()
    while receive():
        pass
    for group in set(groups.values()):
        mine = [sequence for sequence in taken if groups[sequence] == group]
        assert mine == sorted(sequence for sequence, its in groups.items() if its == group)


@pytest.mark.parametrize("fifo", [False, True], ids=["standard", "fifo"])
def test_ended_lease_of_the_first_message_takes_no_memory_for_the_others(fifo: bool) -> None:
    """A message that has to wait beside the line takes 64 bytes more."""
    plain, disturbed = (_memory(leased, fifo=fifo) for leased in (False, True))
    assert disturbed - plain < 10


def _memory(leased: bool, *, fifo: bool) -> float:
    """The bytes that each message takes besides its entry."""
    bench, count = Bench(fifo=fifo, retention_ms=10**12), 8_000
    entries = _recovered(random.Random(1), count, 0.0, fifo=False)
    for entry in entries:
        entry.group = f"group-{entry.sequence}" if fifo else None
    if leased:
        entries[0].visible_ms = SENT_MS + count
        entries[0].receive_count, entries[0].first_received_ms = 1, SENT_MS
    tracemalloc.start()
    try:
        for begin in range(0, count, 500):
            bench.index.add_recovered(entries[begin : begin + 500])
            bench.lease()
        return tracemalloc.get_traced_memory()[0] / count
    finally:
        tracemalloc.stop()
