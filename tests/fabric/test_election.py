"""A client gets the partition that is farthest from its fair share."""

from hypothesis import given
from hypothesis import strategies as st

from dovemq.fabric.autonomic import (
    ClientBalance,
    ClientRole,
    ControlMemory,
    QueueStanding,
    elect,
    elect_again,
    standing_of,
)
from tests.fabric.loads import CONSUMER, PRODUCER, load, roomy


def _standing(*clients: tuple[int, int], marked: int | None = None) -> QueueStanding:
    return standing_of(load(*clients), ControlMemory(marked))


def test_producer_gets_the_smallest_share_of_producers() -> None:
    assert elect(_standing((2, 0), (1, 3), (2, 0)), PRODUCER).partition == 1


def test_consumer_gets_the_smallest_share_of_consumers() -> None:
    assert elect(_standing((2, 0), (1, 3), (2, 1)), CONSUMER).partition == 0


def test_tie_goes_to_the_lowest_load_and_then_to_the_lowest_number() -> None:
    assert elect(_standing((1, 2), (1, 0), (1, 0)), PRODUCER).partition == 1


def test_marked_partition_gets_no_client() -> None:
    assert elect(_standing((2, 2), (0, 0), marked=1), PRODUCER).partition == 0


def test_overloaded_partition_gets_no_client_while_another_has_room() -> None:
    standing = _standing((0, 7), (3, 0))
    election = elect(standing, PRODUCER)
    assert (election.partition, election.reason.rule) == (1, "R3")
    assert elect(_standing((0, 7), (7, 0)), PRODUCER).partition == 0


def test_shares_are_nought_without_clients() -> None:
    standing = _standing((0, 0), (0, 1))
    assert [each.producer_share for each in standing.partitions] == [0.0, 0.0]
    assert [each.balance for each in standing.partitions] == [
        ClientBalance.STABLE,
        ClientBalance.DRAINING,
    ]


def test_equal_shares_of_different_totals_are_stable() -> None:
    standing = _standing((1, 2), (1, 2), (1, 2))
    assert {each.balance for each in standing.partitions} == {ClientBalance.STABLE}


@given(st.lists(st.sampled_from(ClientRole), min_size=1, max_size=60), st.integers(1, 9))
def test_elected_clients_are_spread_evenly(roles: list[ClientRole], count: int) -> None:
    clients = [[0, 0] for _ in range(count)]
    for role in roles:
        chosen = elect(roomy(clients), role).partition
        clients[chosen][0 if role is PRODUCER else 1] += 1
    for place in (0, 1):
        numbers = [each[place] for each in clients]
        assert max(numbers) - min(numbers) <= 1


def test_session_moves_only_if_that_brings_the_partitions_closer() -> None:
    assert elect_again(_standing((3, 0), (2, 0)), PRODUCER, 0) is None
    moved = elect_again(_standing((3, 0), (1, 0)), PRODUCER, 0)
    assert moved is not None
    assert moved.partition == 1


def test_near_partition_is_elected_with_one_client_more() -> None:
    assert elect(_standing((1, 0), (1, 0)), PRODUCER, near={1}).partition == 1
    assert elect(_standing((1, 0), (2, 0)), PRODUCER, near={1}).partition == 1
    assert elect(_standing((1, 0), (3, 0)), PRODUCER, near={1}).partition == 0


def test_near_partition_is_passed_over_while_it_is_marked_or_overloaded() -> None:
    assert elect(_standing((1, 0), (1, 0), marked=1), PRODUCER, near={1}).partition == 0
    full = standing_of(load((0, 0), (0, 99)), ControlMemory(None))
    assert elect(full, PRODUCER, near={1}).partition == 0


def test_session_comes_near_if_that_leaves_the_partitions_as_close() -> None:
    moved = elect_again(_standing((3, 0), (2, 0)), PRODUCER, 0, near={1})
    assert moved is not None
    assert moved.partition == 1
    assert elect_again(_standing((2, 0), (2, 0)), PRODUCER, 0, near={1}) is None
    assert elect_again(_standing((3, 0), (2, 0)), PRODUCER, 0, near={0}) is None


def test_session_leaves_a_marked_partition() -> None:
    moved = elect_again(_standing((3, 0), (1, 0), marked=1), PRODUCER, 1)
    assert moved is not None
    assert moved.partition == 0
    assert "partition 1 is marked" in moved.reason.text


def test_session_leaves_a_partition_that_is_gone() -> None:
    moved = elect_again(_standing((3, 0), (1, 0)), PRODUCER, 9)
    assert moved is not None
    assert moved.partition == 1


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=24))
def test_migration_of_sessions_that_come_near_ends(sessions: list[tuple[int, int]]) -> None:
    """Front end f serves partition f; partition 3 is near to none. No move is undone.

    A move brings the partitions closer, or a session near while they stay as close.
    """
    places = [place for _, place in sessions]
    for _ in range(len(sessions) ** 2 + 1):
        standing = _standing(*((places.count(number), 0) for number in range(4)))
        moves = [
            (each, move.partition)
            for each, (front_end, _) in enumerate(sessions)
            if (move := elect_again(standing, PRODUCER, places[each], near={front_end}))
        ]
        if not moves:
            break
        session, places[session] = moves[0][0], moves[0][1]
    else:
        raise AssertionError("sessions still move")
    counts = [places.count(number) for number in range(4)]
    assert max(counts) - min(counts) <= 2


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=6),
    st.sampled_from(ClientRole),
)
def test_migration_of_single_sessions_ends(
    clients: list[tuple[int, int]], role: ClientRole
) -> None:
    """Every move makes the sum of squares smaller, so sessions cannot move in a circle."""
    place = 0 if role is PRODUCER else 1
    numbers = [list(each) for each in clients]
    for _ in range(sum(map(sum, clients)) + 1):
        standing = roomy(numbers)
        moves = [
            (number, move.partition)
            for number in range(len(numbers))
            if numbers[number][place] and (move := elect_again(standing, role, number))
        ]
        if not moves:
            break
        source, target = moves[0]
        numbers[source][place] -= 1
        numbers[target][place] += 1
    else:
        raise AssertionError("sessions still move")
    counted = [each[place] for each in numbers]
    assert max(counted) - min(counted) <= 1
