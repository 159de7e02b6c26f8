"""The visibility of messages and their order, to the millisecond."""

import pytest

from dovemq.core import limits
from dovemq.core.commands import Extension, Settlement
from dovemq.core.errors import LimitReached
from tests.unit.indexes import LEASE_MS, Bench


def test_messages_are_taken_in_the_order_of_their_sending() -> None:
    bench = Bench()
    sent = bench.send(5)
    assert bench.lease(3) == sent[:3]
    assert bench.lease(3) == sent[3:]


def test_lease_hides_until_its_last_millisecond() -> None:
    bench = Bench()
    [sequence] = bench.send()
    assert bench.lease(lease_ms=250) == [sequence]
    bench.clock.advance(249)
    assert bench.lease() == []
    bench.clock.advance(1)
    assert bench.lease() == [sequence]


def test_delayed_message_is_hidden_until_its_last_millisecond() -> None:
    bench = Bench()
    [sequence] = bench.send(delay_ms=101)
    bench.clock.advance(100)
    assert bench.lease() == []
    bench.clock.advance(1)
    assert bench.lease() == [sequence]


def test_ended_leases_stand_among_newer_messages_by_the_time_they_ended() -> None:
    bench = Bench()
    first, second = bench.send(2)
    bench.lease(1, lease_ms=20)
    bench.lease(1, lease_ms=10)
    bench.clock.advance(10)
    [third] = bench.send()
    bench.clock.advance(5)
    [fourth] = bench.send()
    bench.clock.advance(10)
    assert bench.lease(10) == [second, third, fourth, first]


def test_equal_times_are_taken_by_sequence() -> None:
    bench = Bench()
    sent = bench.send(4)
    bench.lease(1, lease_ms=100)
    bench.lease(1, lease_ms=50)
    bench.clock.advance(50)
    bench.lease(1, lease_ms=50)
    bench.clock.advance(50)
    newest = bench.send(1)
    taken = bench.lease(10)
    assert taken == [sent[3], sent[1], sent[0], sent[2], *newest]


def test_many_ended_leases_find_their_places_among_newer_messages() -> None:
    bench = Bench()
    early = bench.send(2_000)
    for lease_ms in (1_000, 3_000):
        bench.lease(1_000, lease_ms=lease_ms)
    late: list[int] = []
    for _ in range(4):
        late += bench.send(500)
        bench.clock.advance(1_000)
    expected = late[:500] + early[:1_000] + late[500:1_500] + early[1_000:] + late[1_500:]
    taken: list[int] = []
    while run := bench.lease(700):
        taken += run
    assert taken == expected


def test_receive_tells_when_the_next_message_is_due() -> None:
    bench = Bench()
    assert bench.pick().next_due_ms is None
    bench.send(1, delay_ms=700)
    assert bench.pick().next_due_ms == bench.now_ms + 700
    bench.send(1)
    assert bench.pick(lease_ms=300).next_due_ms == bench.now_ms + 300
    bench.settle(2)
    assert bench.pick().next_due_ms == bench.now_ms + 700


def test_receive_tells_whether_there_is_more() -> None:
    bench = Bench()
    bench.send(3)
    assert bench.pick(2).more
    assert not bench.pick(2).more


def test_lease_of_no_length_counts_and_leaves_the_message_visible() -> None:
    bench = Bench()
    bench.send(2)
    picked = bench.pick(10, lease_ms=0)
    assert [entry.receive_count for entry in picked.taken] == [1, 1]
    assert picked.more
    assert bench.counts() == (2, 0, 0)
    assert [entry.receive_count for entry in bench.pick(10).taken] == [2, 2]


def test_first_receive_is_remembered() -> None:
    bench = Bench()
    bench.send()
    first_ms = bench.now_ms
    bench.lease(lease_ms=10)
    bench.clock.advance(10)
    [entry] = bench.pick().taken
    assert (entry.receive_count, entry.first_received_ms) == (2, first_ms)


def test_paused_delivery_hands_nothing_out_and_promises_nothing() -> None:
    bench = Bench(delivery_paused=True)
    [sequence] = bench.send()
    picked = bench.pick()
    assert (picked.taken, picked.more, picked.next_due_ms) == ([], False, None)
    bench.set(delivery_paused=False)
    assert bench.lease() == [sequence]


def test_exhausted_messages_are_set_aside_and_do_not_count() -> None:
    bench = Bench()
    sent = bench.send(3)
    bench.lease(2, lease_ms=0)
    picked = bench.pick(1, receives_max=1)
    assert [entry.sequence for entry in picked.taken] == sent[2:]
    assert [entry.sequence for entry in picked.exhausted] == sent[:2]
    assert [entry.receive_count for entry in picked.exhausted] == [2, 2]
    assert bench.counts() == (0, 3, 0)


def test_queue_with_too_many_leases_refuses_a_receive() -> None:
    bench = Bench()
    bench.send(limits.LEASED_MAX + 1)
    for _ in range(limits.LEASED_MAX // 1_000):
        assert len(bench.lease(1_000)) == 1_000
    with pytest.raises(LimitReached):
        bench.lease()
    bench.settle(1)
    assert bench.lease() == [limits.LEASED_MAX + 1]


def test_settled_message_does_not_come_back() -> None:
    bench = Bench()
    [sequence] = bench.send()
    bench.lease()
    assert bench.settle(sequence) is Settlement.SETTLED
    assert bench.settle(sequence) is Settlement.GONE
    bench.clock.advance(LEASE_MS)
    assert bench.lease() == []


def test_message_is_settled_after_its_lease_has_ended() -> None:
    bench = Bench()
    sent = bench.send(3)
    bench.lease(3, lease_ms=10)
    bench.clock.advance(10)
    assert bench.settle(sent[1]) is Settlement.SETTLED
    assert bench.counts() == (2, 0, 0)
    assert bench.lease(10) == [sent[0], sent[2]]


def test_receipt_of_a_lease_that_a_crash_forgot_settles() -> None:
    bench = Bench()
    sent = bench.send(100)
    assert bench.settle(sent[50]) is Settlement.SETTLED
    assert bench.settle(sent[50]) is Settlement.GONE
    assert bench.counts() == (99, 0, 0)
    assert sent[50] not in bench.lease(100)


def test_extended_lease_ends_at_its_new_time() -> None:
    bench = Bench()
    [sequence] = bench.send()
    bench.lease(lease_ms=10)
    assert bench.extend(sequence, 500) is Extension.EXTENDED
    bench.clock.advance(499)
    assert bench.lease() == []
    bench.clock.advance(1)
    assert bench.lease() == [sequence]


def test_extension_to_nothing_makes_visible_at_once() -> None:
    bench = Bench()
    [sequence] = bench.send()
    bench.lease()
    assert bench.extend(sequence, 0) is Extension.EXTENDED
    assert bench.counts() == (1, 0, 0)
    assert bench.lease() == [sequence]


def test_only_the_newest_lease_is_extended() -> None:
    bench = Bench()
    [sequence] = bench.send()
    bench.lease(lease_ms=10)
    bench.clock.advance(10)
    assert bench.extend(sequence, 100) is Extension.EXTENDED
    bench.clock.advance(100)
    bench.lease(lease_ms=10)
    assert bench.extend(sequence, 100) is Extension.STALE
    assert bench.extend(sequence, 100, receive_count=2) is Extension.EXTENDED
    bench.settle(sequence)
    assert bench.extend(sequence, 100, receive_count=2) is Extension.GONE


def test_released_lease_leaves_no_trace() -> None:
    bench = Bench()
    sent = bench.send(3)
    bench.clock.advance(5)
    bench.lease(2)
    assert bench.index.release(sent[0], 1)
    assert not bench.index.release(sent[0], 1)
    assert bench.counts() == (2, 1, 0)
    [entry] = bench.pick().taken
    assert (entry.sequence, entry.receive_count) == (sent[0], 1)


def test_release_after_the_lease_has_ended_gives_the_old_place_back() -> None:
    bench = Bench()
    sent = bench.send(3)
    bench.lease(1, lease_ms=10)
    bench.clock.advance(10)
    assert bench.counts() == (3, 0, 0)
    assert bench.index.release(sent[0], 1)
    entry = bench.index.get(sent[0])
    assert entry is not None
    assert (entry.receive_count, entry.first_received_ms) == (0, 0)
    assert bench.lease(10) == sent
    assert bench.counts() == (0, 3, 0)


def test_only_the_newest_lease_is_released() -> None:
    bench = Bench()
    [sequence] = bench.send()
    bench.lease(lease_ms=0)
    bench.lease()
    assert not bench.index.release(sequence, 1)
    assert bench.index.release(sequence, 2)
    entry = bench.index.get(sequence)
    assert entry is not None
    assert entry.receive_count == 1


def test_recovered_lease_runs_to_its_end() -> None:
    bench = Bench()
    sent_ms = bench.now_ms - 1_000
    leased = bench.add(visible_ms=bench.now_ms + 50, sent_ms=sent_ms, received=1)
    visible = bench.add(visible_ms=sent_ms, sent_ms=sent_ms)
    assert bench.counts() == (1, 1, 0)
    assert bench.lease(10) == [visible]
    bench.clock.advance(50)
    assert bench.lease(10) == [leased]


def test_guess_of_what_is_next_names_what_is_leased_next() -> None:
    bench = Bench()
    sent = bench.send(20)
    bench.lease(5)
    assert bench.index.ahead(10) == sent[5:15]
    assert bench.index.ahead(100) == sent[5:]
