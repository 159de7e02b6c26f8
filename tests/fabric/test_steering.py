"""The controller steers a simulated queue: it is stable, stays in its bounds and does not flap."""

import itertools
import random
from collections.abc import Sequence

import pytest

from dovemq.experiments.steered import PERIOD_MS, SteeredAction, SteeredQueue
from dovemq.fabric.autonomic import ActionKind, CapacitySettings, ClientRole, ControlSettings
from dovemq.models.simulation.joram.parameters import JoramParameters
from dovemq.models.simulation.joram.replicated import ReplicatedQueue

SETTINGS = ControlSettings(partitions_max=4, inhibition_ms=30_000, load_left_max=0.9)
ESTIMATED = CapacitySettings(start=12.0, least=4.0, most=40.0)
KINDS = {
    "fixed": {},
    "estimated": {"capacity": ESTIMATED},
    "migrating": {"migration": True},
    "both": {"capacity": ESTIMATED, "migration": True},
}
GAP_MS = 2_000
HOLD_MS = 120_000
CLIENTS = 30

kinds = pytest.mark.parametrize("kind", KINDS)
seeds = pytest.mark.parametrize("seed", [1, 2])


def _queue(kind: str, seed: int, settings: ControlSettings = SETTINGS) -> SteeredQueue:
    queue = ReplicatedQueue(JoramParameters(), seed)
    return SteeredQueue(queue, settings, **KINDS[kind])  # type: ignore[arg-type]


def _roles(count: int) -> list[ClientRole]:
    """A producer, then its two consumers, and so on."""
    return [ClientRole.CONSUMER if place % 3 else ClientRole.PRODUCER for place in range(count)]


def _ramp_up(queue: SteeredQueue, count: int = CLIENTS) -> list[tuple[int, ClientRole]]:
    clients = []
    for role in _roles(count):
        clients.append((queue.join(role), role))
        queue.advance(queue.queue.now + GAP_MS)
    queue.advance(queue.queue.now + HOLD_MS)
    return clients


def _ramp_down(queue: SteeredQueue, clients: Sequence[tuple[int, ClientRole]]) -> None:
    for client, role in clients:
        queue.leave(client, role)
        queue.advance(queue.queue.now + GAP_MS)
    queue.advance(queue.queue.now + HOLD_MS)


def _most_within(actions: Sequence[SteeredAction], window_ms: int) -> int:
    """The most actions that fall into any window of a length."""
    times = [each.now_ms for each in actions]
    return max(
        (sum(start <= each < start + window_ms for each in times) for start in times), default=0
    )


@kinds
@seeds
def test_partitions_follow_clients_that_are_ramped_up_and_down_three_times(
    kind: str, seed: int
) -> None:
    queue = _queue(kind, seed)
    for _ in range(3):
        clients = _ramp_up(queue)
        assert 3 <= len(queue.queue.partitions) <= SETTINGS.partitions_max
        _ramp_down(queue, clients)
        assert len(queue.queue.partitions) == 1
    assert _most_within(queue.actions, SETTINGS.inhibition_ms) <= 2


@kinds
@seeds
def test_clients_that_come_and_go_at_random_cause_few_changes(kind: str, seed: int) -> None:
    rng, queue = random.Random(seed), _queue(kind, seed)
    present: list[tuple[int, ClientRole]] = []
    for _ in range(400):
        if present and rng.random() < len(present) / 30:
            queue.leave(*present.pop(rng.randrange(len(present))))
        else:
            role = rng.choice((ClientRole.PRODUCER, ClientRole.CONSUMER, ClientRole.CONSUMER))
            present.append((queue.join(role), role))
        queue.advance(queue.queue.now + 1_000 * rng.expovariate(1.0))
        assert 1 <= len(queue.queue.partitions) <= SETTINGS.partitions_max
    assert _most_within(queue.actions, SETTINGS.inhibition_ms) <= 2


@kinds
@seeds
def test_constant_load_ends_all_changes(kind: str, seed: int) -> None:
    queue = _queue(kind, seed)
    _ramp_up(queue)
    settled, before = len(queue.actions), queue.queue.partitions
    queue.advance(queue.queue.now + 20 * SETTINGS.inhibition_ms)
    assert (len(queue.actions) - settled, queue.queue.partitions) == (0, before)


@seeds
def test_queue_at_its_bounds_does_not_change(seed: int) -> None:
    settings = ControlSettings(partitions_min=2, partitions_max=2, inhibition_ms=5_000)
    queue = _queue("fixed", seed, settings)
    _ramp_down(queue, _ramp_up(queue))
    kinds = [each.action.kind for each in queue.actions]
    assert (kinds, len(queue.queue.partitions)) == ([ActionKind.ADD], 2)


@seeds
def test_no_message_is_lost_when_partitions_come_and_go(seed: int) -> None:
    queue = _queue("fixed", seed)
    total = 0
    for _ in range(3):
        clients = [(queue.join(role, 400), role) for role in _roles(CLIENTS)]
        # A producer sends 400 messages, and its two consumers read 800.
        total += 400 * sum(role is ClientRole.PRODUCER for _, role in clients)
        queue.advance(queue.queue.now + HOLD_MS)
    figures = queue.queue.figures()
    left = sum(each.waiting + each.moving for each in figures)
    assert queue.queue.consumed + left == queue.queue.produced == total


@seeds
def test_no_consumer_starves_while_another_partition_floods(seed: int) -> None:
    """All producers are at one partition, and most consumers at the other."""
    queue = _queue("fixed", seed, ControlSettings(partitions_min=2, partitions_max=2))
    queue.advance(PERIOD_MS)
    for _ in range(3):
        queue.queue.join("producer", 0)
    for partition in (0, 0, 1, 1, 1, 1, 1, 1):
        queue.queue.join("consumer", partition)
    waits = []
    for _ in range(60):
        before = queue.queue.starved()
        queue.advance(queue.queue.now + 10_000)
        flooded = max(each.waiting for each in queue.queue.figures()) > 200
        after = queue.queue.starved()
        waits += [(after[each] - before[each]) / 10_000 for each in after if flooded]
    assert max(waits, default=0.0) < 0.5


def test_exchange_gives_the_starved_what_the_flooded_have() -> None:
    """Without exchange the consumers of a partition without producers get nothing."""
    received = []
    for count_max in (0, 1_000):
        settings = ControlSettings(2, 2, exchange_count_max=count_max)
        queue = _queue("fixed", 1, settings)
        queue.advance(PERIOD_MS)
        for role, partition in itertools.product(("producer", "consumer"), (0, 1)):
            queue.queue.join(role, partition if role == "consumer" else 0)  # type: ignore[arg-type]
        queue.advance(120_000)
        received.append(queue.queue.figures()[1].consumed)
    assert received[0] == 0
    assert received[1] > 1_000
