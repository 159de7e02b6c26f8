"""The simulated queue of `joram`: clients, partitions and exchanged messages."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovemq.models.errors import ModelError
from dovemq.models.simulation.joram.parameters import (
    CEILING,
    JoramParameters,
    with_group_demand,
)
from dovemq.models.simulation.joram.replicated import ReplicatedQueue

PLAIN = JoramParameters(slowdown=0.0)
MINUTE = 60_000.0


def _rate_of_producers(count: int, pause: float, service: float) -> float:
    """The throughput of M/M/1 with a finite source, exact by its birth–death chain."""
    weights = [math.perm(count, busy) * (service / pause) ** busy for busy in range(count + 1)]
    return (1.0 - weights[0] / sum(weights)) / service


@pytest.mark.parametrize("count", [1, 2, 5, 12])
def test_producers_alone_are_a_finite_source(count: int) -> None:
    queue = ReplicatedQueue(PLAIN, seed=3)
    for _ in range(count):
        queue.join("producer", 0)
    queue.advance(20 * MINUTE)
    expected = _rate_of_producers(count, PLAIN.producer_pause, PLAIN.send_time)
    assert queue.produced / queue.now == pytest.approx(expected, rel=0.02)


def test_full_partition_passes_on_its_ceiling() -> None:
    queue = ReplicatedQueue(PLAIN, seed=1)
    for _ in range(20):
        queue.join("producer", 0)
        queue.join("consumer", 0)
        queue.join("consumer", 0)
    queue.advance(5 * MINUTE)
    assert queue.consumed / queue.now == pytest.approx(CEILING, rel=0.03)
    (figures,) = queue.figures()
    assert figures.busy / queue.now == pytest.approx(1.0, abs=0.01)


def test_waiting_messages_slow_a_partition_down() -> None:
    rates = []
    for slowdown in (0.0, 1.0):
        queue = ReplicatedQueue(JoramParameters(slowdown=slowdown), seed=1)
        for _ in range(10):
            queue.join("producer", 0)
        queue.advance(MINUTE)
        rates.append(queue.produced)
    assert rates[1] < 0.5 * rates[0]


def test_consumer_of_an_empty_partition_waits_for_a_message() -> None:
    queue = ReplicatedQueue(PLAIN, seed=1)
    consumer = queue.join("consumer", 0)
    queue.advance(MINUTE)
    assert queue.consumed == 0
    assert queue.starved()[consumer] == pytest.approx(MINUTE, rel=0.02)
    queue.join("producer", 0, messages=1)
    queue.advance(2 * MINUTE)
    assert queue.consumed == 1


def test_client_leaves_after_its_messages() -> None:
    queue = ReplicatedQueue(PLAIN, seed=1)
    queue.join("producer", 0, messages=7)
    queue.advance(MINUTE)
    assert (queue.produced, queue.clients("producer")) == (7, {})


def test_partition_is_removed_only_without_clients_and_messages() -> None:
    queue = ReplicatedQueue(PLAIN, seed=1, partitions=2)
    producer = queue.join("producer", 1, messages=5)
    with pytest.raises(ModelError):
        queue.remove_partition(1)
    queue.leave(producer)
    queue.advance(MINUTE)
    if queue.figures()[1].waiting:
        queue.join("consumer", 1, messages=queue.figures()[1].waiting)
        queue.advance(2 * MINUTE)
    queue.remove_partition(1)
    assert queue.partitions == (0,)
    assert queue.add_partition() == 2


def test_waiting_consumer_may_leave_or_migrate() -> None:
    queue = ReplicatedQueue(PLAIN, seed=1, partitions=2)
    consumers = [queue.join("consumer", 0) for _ in range(4)]
    queue.advance(1_000.0)
    queue.leave(consumers[1])
    assert queue.migrate(consumers[2], 1)
    queue.advance(2_000.0)
    assert queue.clients("consumer") == {consumers[0]: 0, consumers[2]: 1, consumers[3]: 0}
    queue.join("producer", 1, messages=1)
    queue.advance(3_000.0)
    assert [each.consumed for each in queue.figures()] == [0, 1]


def test_exchanged_messages_take_time_at_both_ends() -> None:
    queue = ReplicatedQueue(PLAIN, seed=1, partitions=2)
    queue.join("producer", 0, messages=100)
    queue.advance(MINUTE)
    queue.exchange(0, 1, 60)
    assert [each.waiting + each.moving for each in queue.figures()] == [40, 60]
    queue.advance(2 * MINUTE)
    source, target = queue.figures()
    assert (source.waiting, target.waiting, target.moving) == (40, 60, 0)
    assert target.busy > 0


def test_exchange_of_more_than_there_is_moves_what_there_is() -> None:
    queue = ReplicatedQueue(PLAIN, seed=1, partitions=2)
    queue.join("producer", 0, messages=10)
    queue.advance(MINUTE)
    queue.exchange(0, 1, 500)
    queue.advance(2 * MINUTE)
    assert [each.waiting for each in queue.figures()] == [0, 10]


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(("producer", "consumer", "leave", "exchange", "migrate")),
        st.integers(0, 2),
        st.integers(1, 40),
    ),
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(_STEPS, st.integers(0, 5))
def test_no_message_is_lost_or_doubled(steps: list[tuple[str, int, int]], seed: int) -> None:
    queue = ReplicatedQueue(PLAIN, seed, partitions=3)
    joined: list[int] = []
    for action, partition, number in steps:
        if action == "exchange":
            queue.exchange(partition, (partition + 1) % 3, number)
        elif action in ("producer", "consumer"):
            joined.append(queue.join(action, partition, number))  # type: ignore[arg-type]
        elif joined and action == "leave":
            queue.leave(joined[number % len(joined)])
        elif joined:
            queue.migrate(joined[number % len(joined)], partition)
        queue.advance(queue.now + 37.0)
        left = sum(each.waiting + each.moving for each in queue.figures())
        under_way = queue.produced - queue.consumed - left
        # A receive that is being served has taken its message and has not counted it yet.
        assert 0 <= under_way <= 3
    queue.advance(queue.now + MINUTE)
    left = sum(each.waiting + each.moving for each in queue.figures())
    assert queue.produced == queue.consumed + left


def test_demand_of_a_group_is_the_share_of_a_partition_that_it_uses() -> None:
    queue = ReplicatedQueue(with_group_demand(0.2), seed=2)
    queue.join("producer", 0)
    for _ in range(2):
        queue.join("consumer", 0)
    queue.advance(10 * MINUTE)
    assert queue.figures()[0].busy / queue.now == pytest.approx(0.2, rel=0.1)


def test_same_seed_gives_the_same_course() -> None:
    found = []
    for _ in range(2):
        queue = ReplicatedQueue(PLAIN, seed=9)
        queue.join("producer", 0)
        queue.advance(MINUTE)
        found.append(queue.figures())
    assert found[0] == found[1]


def test_invalid_input_is_refused() -> None:
    with pytest.raises(ModelError, match="send_time"):
        JoramParameters(send_time=0.0)
    with pytest.raises(ModelError, match="partitions"):
        ReplicatedQueue(PLAIN, partitions=0)
    queue = ReplicatedQueue(PLAIN)
    with pytest.raises(ModelError, match="partition"):
        queue.join("producer", 4)
    with pytest.raises(ModelError, match="count"):
        queue.exchange(0, 0, 0)
