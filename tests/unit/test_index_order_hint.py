"""The K hint: the window that a receive draws from, and the evenness of the draw."""

import math
from collections import Counter

import pytest

from dovemq.core import limits
from dovemq.core.queue import ADAPTIVE_ORDER, ANY_ORDER
from tests.unit.indexes import Bench

DRAWS = 4_000
SIGMAS = 4


def drawn_positions(bench: Bench, count_max: int, draws: int = DRAWS) -> Counter[int]:
    """The number of draws of each position, if every receive finds the same messages."""
    tally: Counter[int] = Counter()
    for _ in range(draws):
        for entry in bench.pick(count_max).taken:
            tally[entry.sequence - 1] += 1
            assert bench.index.release(entry.sequence, entry.receive_count)
    return tally


@pytest.mark.parametrize(("order_hint", "count_max"), [(2, 1), (4, 1), (10, 3), (50, 10)])
def test_each_of_the_first_k_is_drawn_equally_often(order_hint: int, count_max: int) -> None:
    bench = Bench(order_hint=order_hint, seed=order_hint)
    bench.send(order_hint + 20)
    tally = drawn_positions(bench, count_max)
    share = count_max / order_hint
    deviation = math.sqrt(DRAWS * share * (1 - share))
    assert set(tally) == set(range(order_hint))
    for drawn in tally.values():
        assert abs(drawn - DRAWS * share) < SIGMAS * deviation


def test_receive_never_draws_beyond_the_first_k() -> None:
    bench = Bench(order_hint=3)
    sent = bench.send(30)
    for _ in range(28):
        front = sent[:3]
        [sequence] = bench.lease()
        assert sequence in front
        sent.remove(sequence)


def test_adaptive_k_of_a_partition_with_an_owner_is_1() -> None:
    bench = Bench(order_hint=ADAPTIVE_ORDER)
    sent = bench.send(30)
    assert [bench.lease() for _ in range(30)] == [[each] for each in sent]


def test_receive_of_more_than_k_takes_them_in_order() -> None:
    bench = Bench(order_hint=3)
    sent = bench.send(10)
    assert bench.lease(5) == sent[:5]


def test_messages_of_one_receive_keep_their_order() -> None:
    bench = Bench(order_hint=100)
    bench.send(200)
    for _ in range(20):
        taken = bench.lease(8)
        assert taken == sorted(taken)


def test_any_order_draws_from_as_many_as_a_receive_inspects() -> None:
    bench = Bench(order_hint=ANY_ORDER)
    bench.send(limits.TUPLES_INSPECTED_MAX + 500)
    taken = bench.lease(900)
    assert max(taken) <= limits.TUPLES_INSPECTED_MAX
    assert max(taken) > 900


def test_exhausted_messages_take_no_part_in_the_draw() -> None:
    bench = Bench()
    sent = bench.send(8)
    bench.lease(3, lease_ms=0)
    bench.set(order_hint=4)
    picked = bench.pick(1, receives_max=1)
    assert [entry.sequence for entry in picked.exhausted] == sent[:3]
    assert picked.taken[0].sequence in sent[3:7]


def test_removed_messages_take_no_part_in_the_draw() -> None:
    bench = Bench(order_hint=1)
    sent = bench.send(12)
    bench.lease(12, lease_ms=0)
    for sequence in sent[:4]:
        bench.settle(sequence)
    bench.set(order_hint=4)
    tally = drawn_positions(bench, 1, draws=200)
    assert set(tally) == {4, 5, 6, 7}


def test_equal_seeds_draw_equally() -> None:
    takings = []
    for _ in range(2):
        bench = Bench(order_hint=50, seed=7)
        bench.send(100)
        takings.append([bench.lease(3) for _ in range(20)])
    assert takings[0] == takings[1]


def test_chance_is_not_asked_when_there_is_no_choice() -> None:
    bench, other = Bench(order_hint=50, seed=7), Bench(order_hint=50, seed=7)
    bench.send(5)
    bench.settle_all(bench.lease(5))
    other.send(5)
    for each in (bench, other):
        each.send(60)
    other.settle_all([1, 2, 3, 4, 5])
    assert bench.lease(3) == other.lease(3)
