"""FIFO order: groups by their first message, and no message before a hidden one."""

from dovemq.core import limits
from dovemq.core.commands import Extension, Settlement
from dovemq.core.entry import Entry
from tests.unit.indexes import LEASE_MS, Bench


def test_receive_takes_a_run_of_one_group_before_the_next() -> None:
    bench = Bench(fifo=True)
    a = bench.send(1, group="a")
    b = bench.send(2, group="b")
    a += bench.send(2, group="a")
    assert bench.lease(4) == [*a, b[0]]


def test_group_with_a_lease_is_locked() -> None:
    bench = Bench(fifo=True)
    a = bench.send(3, group="a")
    b = bench.send(1, group="b")
    assert bench.lease(2) == a[:2]
    assert bench.lease(10) == b
    bench.settle(a[0])
    assert bench.lease(10) == []
    bench.settle(a[1])
    assert bench.lease(10) == a[2:]


def test_group_whose_lease_ended_comes_after_groups_that_waited() -> None:
    bench = Bench(fifo=True)
    a = bench.send(2, group="a")
    b = bench.send(1, group="b")
    bench.lease(1, lease_ms=100)
    bench.clock.advance(99)
    assert bench.lease(1, lease_ms=0) == b
    bench.clock.advance(1)
    assert bench.lease(10) == [*b, *a]


def test_group_can_be_had_up_to_its_first_hidden_message() -> None:
    bench = Bench(fifo=True)
    sent = bench.send(4, group="a")
    bench.lease(3)
    assert bench.extend(sent[0], 0) is Extension.EXTENDED
    assert bench.extend(sent[1], 0) is Extension.EXTENDED
    picked = bench.pick(10)
    assert [entry.sequence for entry in picked.taken] == sent[:2]
    assert not picked.more
    bench.settle(sent[2])
    assert bench.lease(10) == []


def test_group_at_its_concurrency_goes_on_when_a_lease_ends() -> None:
    bench = Bench(fifo=True, group_concurrency=2)
    sent = bench.send(4, group="a")
    bench.lease(2)
    bench.set(group_concurrency=1)
    bench.extend(sent[0], 0)
    assert bench.lease(10) == []
    bench.settle(sent[1])
    assert bench.lease(10) == sent[:1]


def test_only_the_live_receipt_settles() -> None:
    bench = Bench(fifo=True)
    [sequence] = bench.send(1, group="a")
    bench.lease(lease_ms=10)
    bench.clock.advance(10)
    assert bench.settle(sequence) is Settlement.EXPIRED
    bench.lease()
    assert bench.settle(sequence) is Settlement.EXPIRED
    assert bench.settle(sequence, receive_count=2) is Settlement.SETTLED
    assert bench.settle(sequence, receive_count=2) is Settlement.GONE


def test_receipt_of_a_lease_that_a_crash_forgot_does_not_settle() -> None:
    bench = Bench(fifo=True)
    sent = bench.send(5, group="a")
    assert bench.settle(sent[3]) is Settlement.EXPIRED
    assert bench.counts() == (5, 0, 0)


def test_delayed_head_blocks_its_group() -> None:
    bench = Bench(fifo=True)
    a = bench.send(1, group="a", delay_ms=100)
    a += bench.send(1, group="a")
    b = bench.send(1, group="b")
    assert bench.lease(10) == b
    assert bench.counts() == (1, 1, 1)
    bench.clock.advance(100)
    assert bench.lease(10) == a


def test_run_ends_at_a_delayed_message() -> None:
    bench = Bench(fifo=True)
    a = bench.send(1, group="a")
    a += bench.send(1, group="a", delay_ms=100)
    assert bench.lease(10) == a[:1]
    bench.settle(a[0])
    assert bench.pick(10).next_due_ms == bench.now_ms + 100
    bench.clock.advance(100)
    assert bench.lease(10) == a[1:]


def test_messages_behind_a_locked_group_count_as_visible() -> None:
    bench = Bench(fifo=True)
    bench.send(5, group="a")
    bench.lease(2)
    assert bench.counts() == (3, 2, 0)
    assert not bench.pick().more


def test_exhausted_head_blocks_its_group_until_it_is_settled() -> None:
    bench = Bench(fifo=True)
    a = bench.send(2, group="a")
    b = bench.send(1, group="b")
    bench.lease(1, lease_ms=0)
    picked = bench.pick(10, receives_max=1)
    assert [entry.sequence for entry in picked.exhausted] == a[:1]
    assert [entry.sequence for entry in picked.taken] == b
    assert bench.lease(10) == []
    bench.settle(a[0], receive_count=2)
    assert bench.lease(10) == a[1:]


def test_run_ends_before_an_exhausted_message() -> None:
    bench = Bench(fifo=True)
    first, second, third = bench.send(3, group="a")
    bench.lease(2)
    bench.settle(first)
    bench.extend(second, 0)
    [earlier] = bench.send(1, group="b")
    picked = bench.pick(10, receives_max=1)
    assert [entry.sequence for entry in picked.exhausted] == [second]
    assert [entry.sequence for entry in picked.taken] == [earlier]
    bench.settle(second, receive_count=2)
    assert bench.lease(10) == [third]


def test_lease_of_no_length_serves_each_group_once() -> None:
    bench = Bench(fifo=True)
    sent = [*bench.send(2, group="a"), *bench.send(1, group="b")]
    assert bench.lease(10, lease_ms=0) == sent
    assert bench.lease(10) == sent


def test_released_run_is_as_before() -> None:
    bench = Bench(fifo=True)
    sent = bench.send(3, group="a")
    bench.lease(2)
    assert bench.index.release(sent[1], 1)
    assert bench.lease(10) == []
    assert bench.index.release(sent[0], 1)
    picked = bench.pick(10)
    assert [entry.sequence for entry in picked.taken] == sent
    assert [entry.receive_count for entry in picked.taken] == [1, 1, 1]


def test_concurrency_bounds_the_run_of_a_group() -> None:
    bench = Bench(fifo=True, group_concurrency=2)
    a = bench.send(3, group="a")
    b = bench.send(3, group="b")
    assert bench.lease(10) == [*a[:2], *b[:2]]


def test_rate_bounds_the_run_and_reopens_in_time() -> None:
    bench = Bench(fifo=True, group_rate_per_second=2)
    sent = bench.send(3, group="a")
    bench.settle_all(bench.lease(10))
    picked = bench.pick(10)
    assert (picked.taken, picked.more) == ([], False)
    assert picked.next_due_ms == bench.now_ms + limits.SECOND_MS
    bench.clock.advance(limits.SECOND_MS)
    assert bench.lease(10) == sent[2:]


def test_lifted_rate_holds_at_once() -> None:
    bench = Bench(fifo=True, group_rate_per_second=1)
    sent = bench.send(2, group="a")
    bench.settle_all(bench.lease(10))
    assert bench.lease(10) == []
    bench.set(group_rate_per_second=None)
    assert bench.lease(10) == sent[1:]


def test_full_queue_hands_nothing_out() -> None:
    bench = Bench(fifo=True)
    for group in range(limits.LEASED_MAX // 1_000):
        bench.send(1_000, group=f"{group}")
        bench.lease(1_000)
    [last] = bench.send(1, group="last")
    picked = bench.pick()
    assert (picked.taken, picked.more) == ([], False)
    assert picked.next_due_ms == bench.now_ms + LEASE_MS
    bench.settle(1)
    assert bench.lease() == [last]


def test_long_group_is_served_in_order_to_its_end() -> None:
    bench = Bench(fifo=True)
    sent = bench.send(500, group="long")
    served: list[int] = []
    while taken := bench.lease(7):
        assert bench.index.ahead(3)
        bench.settle_all(list(reversed(taken)))
        served += taken
    assert served == sent
    assert bench.counts() == (0, 0, 0)


def test_dropped_head_hands_its_place_on() -> None:
    bench = Bench(fifo=True)
    bench.send(1, group="a")
    bench.clock.advance(10)
    later = [*bench.send(1, group="a"), *bench.send(1, group="b")]
    assert bench.index.drop(bench.now_ms, 10) == [1]
    assert bench.lease(10) == later


def test_guess_of_what_is_next_covers_groups_that_are_being_served() -> None:
    bench = Bench(fifo=True)
    a = bench.send(30, group="a")
    bench.lease(10)
    assert set(a[10:20]) <= set(bench.index.ahead(30))
    b = bench.send(2, group="b")
    assert set(b) <= set(bench.index.ahead(10))


def test_recovered_lease_holds_back_what_stands_behind_it() -> None:
    bench = Bench(fifo=True)
    sent_ms = bench.now_ms - 10
    leased = Entry(1, bench.now_ms + 50, sent_ms, 1, sent_ms, "a")
    bench.index.add(leased)
    bench.index.add(Entry(2, bench.now_ms, bench.now_ms, group="a"))
    assert bench.counts() == (1, 1, 0)
    assert bench.lease(10) == []
    bench.clock.advance(50)
    assert bench.lease(10) == [1, 2]


def test_release_after_the_lease_has_ended_gives_the_old_place_back() -> None:
    bench = Bench(fifo=True)
    a = bench.send(2, group="a")
    bench.clock.advance(1)
    b = bench.send(1, group="b")
    assert bench.lease(2, lease_ms=10) == a
    bench.clock.advance(10)
    assert bench.counts() == (3, 0, 0)
    for sequence in a:
        assert bench.index.release(sequence, 1)
    picked = bench.pick(10)
    assert [entry.sequence for entry in picked.taken] == [*a, *b]
    assert [entry.receive_count for entry in picked.taken] == [1, 1, 1]


def test_exhausted_message_is_hidden_long_enough_to_be_moved() -> None:
    bench = Bench(fifo=True)
    [sequence] = bench.send(1, group="a")
    bench.lease(lease_ms=0)
    picked = bench.pick(lease_ms=0, receives_max=1)
    assert [entry.sequence for entry in picked.exhausted] == [sequence]
    assert picked.next_due_ms == bench.now_ms + limits.REDRIVE_LEASE_MS
    assert not picked.more


def test_message_sent_before_the_clock_was_set_back_is_handed_out() -> None:
    bench = Bench(fifo=True)
    later_ms = bench.now_ms + 1_000_000
    bench.index.add(Entry(1, later_ms, later_ms, group="a"))
    assert bench.lease() == [1]
