"""A simulated queue of `joram` that the service's own controller steers.

The controller sees the queue when a client joins or leaves, and once a period. Its decisions are
carried out at once.
"""

from dataclasses import dataclass
from typing import Final

import msgspec

from dovemq.fabric.autonomic import (
    ActionKind,
    CapacityEstimate,
    CapacitySample,
    CapacitySettings,
    ClientJoins,
    ClientLeaves,
    ClientRole,
    ControlAction,
    ControlDecision,
    ControlMemory,
    ControlSettings,
    PartitionLoad,
    QueueLoad,
    decide,
    elect_again,
    estimate_capacity,
    standing_of,
    typical_capacity,
)
from dovemq.fabric.autonomic.observation import ClientEvent
from dovemq.models.simulation.joram.replicated import (
    WITHOUT_END,
    PartitionFigures,
    ReplicatedQueue,
)

PERIOD_MS: Final = 1_000


@dataclass(frozen=True, slots=True)
class SteeredAction:
    now_ms: int
    action: ControlAction


class SteeredQueue:
    """`capacity` estimates C_i online; without it every partition has the start value.

    `actions` are all changes so far. With `migration`, sessions are elected again once a period.
    """

    def __init__(
        self,
        queue: ReplicatedQueue,
        settings: ControlSettings,
        capacity: CapacitySettings | None = None,
        migration: bool = False,
    ) -> None:
        self.queue = queue
        self.actions: list[SteeredAction] = []
        self.memory = ControlMemory(last_number=max(queue.partitions))
        self._settings = settings
        self._capacity = capacity
        self._migration = migration
        self._estimates: dict[int, CapacityEstimate] = {}
        self._sampled: dict[int, PartitionFigures] = {}

    def join(self, role: ClientRole, messages: int = WITHOUT_END) -> int:
        decision = self._decide(ClientJoins(role))
        assert decision.elected is not None
        return self.queue.join(role.value, decision.elected.partition, messages)

    def leave(self, client: int, role: ClientRole) -> None:
        self.queue.leave(client)
        self._decide(ClientLeaves(role))

    def advance(self, until_ms: float) -> None:
        """Runs to a time; the controller acts at the full periods before it."""
        while (due := (self.queue.now // PERIOD_MS + 1) * PERIOD_MS) <= until_ms:
            self.queue.advance(due)
            self._act()
        self.queue.advance(until_ms)

    def observation(self, event: ClientEvent = None) -> QueueLoad:
        partitions = tuple(self._load(each) for each in self.queue.figures())
        return QueueLoad(int(self.queue.now), partitions, event)

    def _load(self, each: PartitionFigures) -> PartitionLoad:
        estimate = self._estimates.get(each.number)
        known = estimate is not None and estimate.measured
        capacity = estimate.value if estimate and known else self._typical()
        clients = each.producers, each.consumers
        return PartitionLoad(each.number, *clients, capacity, each.waiting, each.moving)

    def _typical(self) -> float:
        if self._capacity is None:
            return self._settings.capacity_start
        present = set(self.queue.partitions)
        estimates = (each for number, each in self._estimates.items() if number in present)
        return typical_capacity(estimates, self._capacity)

    def _act(self) -> None:
        if self._capacity is not None:
            self._sample(self._capacity)
        for each in self._decide(None).exchanges:
            self.queue.exchange(each.source, each.target, each.count)
        if self._migration:
            self._migrate()

    def _sample(self, settings: CapacitySettings) -> None:
        for each in self.queue.figures():
            before = self._sampled.get(each.number)
            worked = each.busy - before.busy if before else 0.0
            passed = each.produced + each.consumed
            passed -= before.produced + before.consumed if before else 0
            sample = CapacitySample(
                int(self.queue.now), each.producers + each.consumers, worked / PERIOD_MS, passed
            )
            self._estimates[each.number] = estimate_capacity(
                sample, self._estimates.get(each.number), settings
            )
            self._sampled[each.number] = each

    def _migrate(self) -> None:
        """Elects sessions again, one after another, so that each sees the moves before it."""
        standing = standing_of(self.observation(), self.memory)
        for role in ClientRole:
            for client, partition in self.queue.clients(role.value).items():
                move = elect_again(standing, role, partition)
                if move is not None and self.queue.migrate(client, move.partition):
                    standing = standing_of(self.observation(), self.memory)

    def _decide(self, event: ClientEvent) -> ControlDecision:
        observation = self.observation(event)
        settings = msgspec.structs.replace(self._settings, capacity_start=self._typical())
        decision, self.memory = decide(observation, self.memory, settings)
        if decision.action is not None:
            self.actions.append(SteeredAction(observation.now_ms, decision.action))
            if decision.action.kind is ActionKind.ADD:
                added = self.queue.add_partition()
                assert added == decision.action.partition
            elif decision.action.kind is ActionKind.REMOVE:
                self.queue.remove_partition(decision.action.partition)
        return decision
