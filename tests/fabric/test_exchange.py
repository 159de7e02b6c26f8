"""Messages are moved from flooded partitions to those whose consumers lack them."""

from hypothesis import given
from hypothesis import strategies as st

from dovemq.fabric.autonomic import QueueStanding, suggest_exchanges
from tests.fabric.loads import filled


def _moves(
    standing: QueueStanding, count_min: int = 1, count_max: int = 1_000
) -> list[tuple[int, int, int]]:
    found = suggest_exchanges(standing, count_min, count_max)
    return [(each.source, each.target, each.count) for each in found]


def test_flooding_partition_gives_to_a_draining_one() -> None:
    assert _moves(filled((2, 1, 90), (1, 2, 30))) == [(0, 1, 50)]


def test_reason_tells_shares_and_surplus() -> None:
    (found,) = suggest_exchanges(filled((2, 1, 90), (1, 2, 30)), 1, 1_000)
    assert found.reason.rule == "R1"
    assert "90 visible messages, 50 more than its consumers' share" in found.reason.text


def test_balanced_partitions_do_not_exchange() -> None:
    assert _moves(filled((1, 1, 90), (1, 1, 30))) == []


def test_partition_whose_consumers_have_no_message_gets_some_from_any_other() -> None:
    assert _moves(filled((1, 1, 90), (1, 1, 0))) == [(0, 1, 45)]


def test_partition_without_consumers_gives_everything() -> None:
    assert _moves(filled((1, 0, 7), (0, 1, 0)), count_min=10) == [(0, 1, 7)]


def test_marked_partition_without_clients_is_emptied_even_if_nobody_consumes() -> None:
    assert _moves(filled((1, 0, 3), (1, 0, 0), (0, 0, 1), marked=2)) == [(2, 1, 1)]


def test_last_message_of_a_marked_partition_is_moved() -> None:
    assert _moves(filled((1, 1, 0), (1, 1, 0), (0, 0, 1), marked=2), 10) == [(2, 0, 1)]


def test_marked_partition_gets_no_message() -> None:
    assert _moves(filled((1, 0, 60), (0, 2, 0), marked=1)) == []


def test_without_consumers_nothing_moves() -> None:
    assert _moves(filled((2, 0, 90), (0, 0, 0))) == []


def test_small_differences_stay() -> None:
    assert _moves(filled((2, 1, 8), (1, 2, 4)), count_min=10) == []


def test_one_decision_moves_at_most_its_bound() -> None:
    assert _moves(filled((4, 1, 9_000), (0, 1, 0), (0, 1, 0)), count_max=100) == [(0, 1, 100)]


def test_bound_of_nought_turns_exchange_off() -> None:
    assert _moves(filled((4, 0, 9_000), (0, 1, 0)), count_max=0) == []


_PARTITIONS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 500)), min_size=2, max_size=6
)


@given(_PARTITIONS, st.integers(1, 20), st.integers(0, 300), st.booleans())
def test_moves_are_bounded_and_not_reversed(
    partitions: list[tuple[int, int, int]], count_min: int, count_max: int, mark: bool
) -> None:
    marked = 0 if mark else None
    moves = _moves(filled(*partitions, marked=marked), count_min, count_max)
    assert sum(count for _, _, count in moves) <= count_max
    visible = [each[2] for each in partitions]
    for source, target, count in moves:
        assert count > 0
        assert target != marked
        visible[source] -= count
        visible[target] += count
    assert min(visible) >= 0
    after = [(*each[:2], left) for each, left in zip(partitions, visible, strict=True)]
    again = _moves(filled(*after, marked=marked), count_min, 10_000)
    assert not {target for _, target, _ in moves} & {source for source, _, _ in again}


@given(_PARTITIONS)
def test_no_consumer_starves_beside_a_flooded_partition(
    partitions: list[tuple[int, int, int]],
) -> None:
    """After the moves, whoever has consumers has messages, if there are enough for all."""
    visible = [each[2] for each in partitions]
    for source, target, count in _moves(filled(*partitions), 1, 10_000):
        visible[source] -= count
        visible[target] += count
    consumers = sum(each[1] for each in partitions)
    for (_, own, _), left in zip(partitions, visible, strict=True):
        if own and own * sum(visible) >= len(partitions) * consumers:
            assert left > 0
