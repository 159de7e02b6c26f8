"""Message groups of a standard queue: noisy groups wait, and limits hold."""

from dovemq.core import limits
from tests.unit.indexes import LEASE_MS, Bench

NOISY = limits.NOISY_LEASES_MIN


def noisy_bench(left: int = 10) -> tuple[Bench, list[int]]:
    """Group `loud` has enough leases to be noisy and `left` messages that wait."""
    bench = Bench()
    loud = bench.send(NOISY + left, group="loud")
    bench.lease(NOISY)
    return bench, loud


def test_quiet_group_goes_before_the_waiting_messages_of_a_noisy_one() -> None:
    bench, loud = noisy_bench()
    quiet = bench.send(2, group="quiet")
    alone = bench.send(1)
    assert bench.lease(5) == [*quiet, *alone, loud[NOISY], loud[NOISY + 1]]


def test_group_with_fewer_leases_than_noisy_keeps_its_place() -> None:
    bench = Bench()
    loud = bench.send(NOISY, group="loud")
    bench.lease(NOISY - 1)
    bench.send(1, group="quiet")
    assert bench.lease() == [loud[-1]]


def test_group_with_a_small_share_of_the_leases_is_not_noisy() -> None:
    bench = Bench()
    bench.send(NOISY * 10)
    bench.lease(NOISY * 10)
    steady = bench.send(NOISY + 2, group="steady")
    bench.lease(NOISY)
    [other] = bench.send(1, group="other")
    assert bench.lease(3) == [*steady[NOISY:], other]


def test_among_noisy_groups_the_one_with_fewest_leases_goes_first() -> None:
    bench = Bench()
    first = bench.send(NOISY + 4, group="first")
    second = bench.send(NOISY + 4, group="second")
    assert bench.lease(NOISY) == first[:NOISY]
    assert bench.lease(NOISY) == second[:NOISY]
    assert bench.lease(1) == [first[NOISY]]
    assert bench.lease(1) == [second[NOISY]]
    assert bench.lease(4) == [first[NOISY + 1], second[NOISY + 1], first[-2], second[-2]]


def test_noisy_group_stays_noisy_when_its_leases_are_settled() -> None:
    bench, loud = noisy_bench()
    bench.send(1, group="quiet")
    bench.lease()
    bench.settle_all(loud[:NOISY])
    [quiet] = bench.send(1, group="quiet")
    assert bench.lease() == [quiet]


def test_drained_group_is_calm_again() -> None:
    bench, loud = noisy_bench(left=1)
    bench.lease()
    bench.settle_all(loud)
    [again] = bench.send(1, group="loud")
    bench.send(1, group="quiet")
    assert bench.lease() == [again]


def test_group_is_calm_after_a_while_without_sends() -> None:
    bench, loud = noisy_bench()
    bench.pick()
    bench.clock.advance(limits.NOISY_QUIET_MS - 1)
    bench.send(1, group="quiet")
    assert bench.lease(1, lease_ms=0) != [loud[NOISY + 1]]
    bench.clock.advance(1)
    assert bench.lease() == [loud[NOISY + 1]]


def test_group_at_its_concurrency_lets_the_others_pass() -> None:
    bench = Bench(group_concurrency=2)
    busy = bench.send(4, group="busy")
    other = bench.send(1, group="other")
    alone = bench.send(1)
    assert bench.lease(10) == busy[:2] + other + alone
    assert not bench.pick().more
    bench.settle(busy[1])
    assert bench.lease(10) == [busy[2]]


def test_concurrency_counts_what_the_same_receive_takes() -> None:
    bench = Bench(group_concurrency=1, order_hint=10)
    bench.send(10, group="one")
    assert len(bench.lease(3)) == 1
    assert bench.lease(3) == []


def test_ended_lease_lets_its_group_go_on_in_the_old_order() -> None:
    bench = Bench(group_concurrency=1)
    first = bench.send(2, group="first")
    bench.clock.advance(1)
    second = bench.send(2, group="second")
    assert bench.lease(10, lease_ms=100) == [first[0], second[0]]
    assert bench.lease(10) == []
    bench.clock.advance(100)
    assert bench.lease(10) == [first[1], second[1]]
    bench.settle_all([first[1], second[1]])
    assert bench.lease(10) == [first[0], second[0]]


def test_lifted_limit_lets_all_go_in_their_order() -> None:
    bench = Bench(group_concurrency=1)
    sent = [*bench.send(3, group="a"), *bench.send(3, group="b"), *bench.send(2)]
    taken = bench.lease(10)
    assert len(taken) == 4
    assert bench.lease(10) == []
    bench.set(group_concurrency=None)
    assert bench.lease(10) == [sequence for sequence in sent if sequence not in taken]


def test_group_is_leased_from_at_its_rate_in_any_second() -> None:
    bench = Bench(group_rate_per_second=2)
    sent = bench.send(5, group="paced")
    assert bench.lease() == [sent[0]]
    bench.clock.advance(600)
    assert bench.lease(10) == [sent[1]]
    bench.clock.advance(399)
    assert bench.lease(10) == []
    bench.clock.advance(1)
    assert bench.lease(10) == [sent[2]]
    bench.clock.advance(600)
    assert bench.lease(10) == [sent[3]]


def test_receive_tells_when_a_paced_group_reopens() -> None:
    bench = Bench(group_rate_per_second=1)
    bench.send(2, group="paced")
    reopens_ms = bench.now_ms + limits.SECOND_MS
    bench.lease()
    picked = bench.pick()
    assert (picked.taken, picked.more, picked.next_due_ms) == ([], False, reopens_ms)


def test_pace_outlives_the_messages() -> None:
    bench = Bench(group_rate_per_second=1)
    bench.send(1, group="paced")
    bench.settle_all(bench.lease())
    assert bench.pick().next_due_ms is None
    [again] = bench.send(1, group="paced")
    assert bench.pick().next_due_ms == bench.now_ms + limits.SECOND_MS
    bench.clock.advance(limits.SECOND_MS)
    assert bench.lease() == [again]


def test_blocked_backlog_does_not_hide_what_stands_behind_it() -> None:
    bench = Bench(group_concurrency=1)
    blocked = bench.send(25_000, group="deep")
    [free] = bench.send()
    picked = bench.pick()
    taken = picked.taken
    while picked.more:
        picked = bench.pick()
        taken += picked.taken
    assert [entry.sequence for entry in taken] == [blocked[0], free]
    bench.settle(blocked[0])
    assert bench.lease(5) == [blocked[1]]


def test_parked_messages_leave_by_retention_settling_and_release() -> None:
    bench = Bench(group_concurrency=1, retention_ms=limits.MINUTE_MS)
    sent = bench.send(4, group="one")
    [held] = bench.lease(lease_ms=10)
    assert bench.lease() == []
    bench.settle(sent[1])
    assert bench.index.release(held, 1)
    assert bench.counts() == (3, 0, 0)
    assert bench.lease(5) == [held]
    bench.settle(held)
    assert bench.lease(5) == [sent[2]]
    bench.clock.advance(limits.MINUTE_MS)
    assert bench.index.expire(bench.now_ms) == sent[2:]
    assert bench.counts() == (0, 0, 0)


def test_exhausted_message_of_a_blocked_group_waits_like_the_others() -> None:
    bench = Bench()
    sent = bench.send(2, group="one")
    bench.lease(2, lease_ms=0)
    bench.set(group_concurrency=1)
    picked = bench.pick(5, LEASE_MS, receives_max=1)
    assert [entry.sequence for entry in picked.exhausted] == [sent[0]]
    assert not picked.taken
    assert not picked.more
