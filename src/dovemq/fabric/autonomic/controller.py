"""The decision of the controller: add, mark, unmark or remove a partition, or do nothing.

One decision changes at most one partition. An addition or a marking waits for the end of the
inhibition; the other two do not, and start it like an addition does. After a marking only a removal
or an unmarking can follow. So no more than two changes happen within any inhibition delay, unless
the owner changes the bounds, which are enforced at once.
"""

import enum
from typing import Final

import msgspec
from msgspec import Struct

from dovemq.core.errors import InvariantError
from dovemq.core.partitions import ControlMemory
from dovemq.fabric.autonomic.election import Election, elect
from dovemq.fabric.autonomic.exchange import SuggestedExchange, suggest_exchanges
from dovemq.fabric.autonomic.observation import ClientJoins, PartitionLoad, QueueLoad
from dovemq.fabric.autonomic.reasons import ControlCause, ControlReason
from dovemq.fabric.autonomic.standing import QueueStanding, standing_of

PARTITION_NUMBERS: Final = 65_536
"""The numbers that partitions can have: a receipt has two bytes for them."""


class ControlSettings(Struct, frozen=True):
    """`capacity_start` is the capacity of a new partition: configured, or that of typical ones.

    `load_left_max` is the highest load that a removal may leave to the others. The paper's rule is
    1; with estimated capacities less is needed, or their noise marks and unmarks a partition
    forever. `exchange_count_max` bounds the messages that one decision moves; 0 turns exchange off,
    as FIFO queues need it.
    """

    partitions_min: int = 1
    partitions_max: int = 256
    inhibition_ms: int = 30_000
    capacity_start: float = 12.0
    load_left_max: float = 1.0
    exchange_count_min: int = 10
    exchange_count_max: int = 1_000

    def __post_init__(self) -> None:
        if not 1 <= self.partitions_min <= self.partitions_max < PARTITION_NUMBERS:
            bounds = f"{self.partitions_min} and {self.partitions_max}"
            raise InvariantError(f"The bounds of the number of partitions are {bounds}.")
        if not 0 < self.load_left_max <= 1:
            raise InvariantError(f"The load left by a removal is {self.load_left_max} at most.")


class ActionKind(enum.Enum):
    ADD = "add"
    MARK = "mark"
    UNMARK = "unmark"
    REMOVE = "remove"


class ControlAction(Struct, frozen=True):
    kind: ActionKind
    partition: int
    reason: ControlReason

    @property
    def text(self) -> str:
        """A sentence for the audit log."""
        return f"{self.kind.value} partition {self.partition}: {self.reason.text}"


class ControlDecision(Struct, frozen=True):
    """`action` is the change, if there is one; `withheld` tells why there is none.

    `elected` is the partition of a client that joins. `exchanges` are suggested at the controller's
    own period only.
    """

    action: ControlAction | None = None
    withheld: ControlReason | None = None
    elected: Election | None = None
    exchanges: tuple[SuggestedExchange, ...] = ()


def decide(
    observation: QueueLoad, memory: ControlMemory, settings: ControlSettings
) -> tuple[ControlDecision, ControlMemory]:
    """Algorithms 1 and 2 of the paper, and the same rules at the controller's own period.

    The caller carries the decision out and keeps the memory. If it fails to, it may decide again
    with the old memory.
    """
    numbers = {each.number for each in observation.partitions}
    if memory.marked not in numbers or len(numbers) == 1:
        memory = msgspec.structs.replace(memory, marked=None)
    found = _Provisioning(observation, memory, settings).outcome()
    action, withheld = (found, None) if isinstance(found, ControlAction) else (None, found)
    observation, memory = _applied(action, observation, memory, settings)
    standing = standing_of(observation, memory)
    event = observation.event
    elected = elect(standing, event.role) if isinstance(event, ClientJoins) else None
    exchanges = (
        suggest_exchanges(standing, settings.exchange_count_min, settings.exchange_count_max)
        if event is None
        else ()
    )
    return ControlDecision(action, withheld, elected, exchanges), memory


def _applied(
    action: ControlAction | None,
    observation: QueueLoad,
    memory: ControlMemory,
    settings: ControlSettings,
) -> tuple[QueueLoad, ControlMemory]:
    """The queue and the memory as they are once the action has been carried out."""
    if action is None:
        return observation, memory
    if action.kind is ActionKind.MARK:
        return observation, msgspec.structs.replace(memory, marked=action.partition)
    partitions = observation.partitions
    if action.kind is ActionKind.ADD:
        new = PartitionLoad(action.partition, 0, 0, settings.capacity_start)
        partitions = (*partitions, new)
        memory = msgspec.structs.replace(memory, last_number=action.partition)
    else:
        memory = msgspec.structs.replace(memory, marked=None)
    if action.kind is ActionKind.REMOVE:
        partitions = tuple(each for each in partitions if each.number != action.partition)
    inhibited_until_ms = observation.now_ms + settings.inhibition_ms
    memory = msgspec.structs.replace(memory, inhibited_until_ms=inhibited_until_ms)
    return msgspec.structs.replace(observation, partitions=partitions), memory


class _Provisioning:
    """The choice of one change, or of the reason why there is none."""

    def __init__(
        self, observation: QueueLoad, memory: ControlMemory, settings: ControlSettings
    ) -> None:
        self._observation = observation
        self._memory = memory
        self._settings = settings
        self._standing = standing_of(observation, memory)
        self._inhibited = memory.is_inhibited(observation.now_ms)

    def outcome(self) -> ControlAction | ControlReason:
        unmarked = len(self._standing.unmarked)
        if unmarked < self._settings.partitions_min:
            return self._grown(ControlCause.TOO_FEW)
        if unmarked > self._settings.partitions_max and self._memory.marked is None:
            return self._mark(self._standing, ControlCause.TOO_MANY)
        joins = isinstance(self._observation.event, ClientJoins)
        if joins and self._standing.load >= 1.0:
            return self._unless_withheld(ControlCause.FULL)
        if self._standing.load > 1.0:
            return self._unless_withheld(ControlCause.OVERLOADED)
        if self._memory.marked is not None:
            return self._removed(self._memory.marked)
        if joins or self._standing.load == 1.0:
            return self._because(ControlCause.SUITED)
        return self._shrunk()

    def _unless_withheld(self, cause: ControlCause) -> ControlAction | ControlReason:
        """Growth by R5. To keep a marked partition needs neither time nor room."""
        if self._memory.marked is not None:
            return self._grown(ControlCause.LOAD_RETURNED)
        if len(self._observation.partitions) >= self._settings.partitions_max:
            return self._because(ControlCause.AT_MOST)
        return self._because(ControlCause.INHIBITED) if self._inhibited else self._grown(cause)

    def _grown(self, cause: ControlCause) -> ControlAction:
        if self._memory.marked is not None:
            return ControlAction(ActionKind.UNMARK, self._memory.marked, self._because(cause))
        return ControlAction(ActionKind.ADD, self._next_number(), self._because(cause))

    def _next_number(self) -> int:
        """The number after the last one, in turn; those of present partitions are passed over."""
        used = {each.number for each in self._observation.partitions}
        first = self._memory.last_number + 1
        turn = (each % PARTITION_NUMBERS for each in range(first, first + PARTITION_NUMBERS))
        return next(number for number in turn if number not in used)

    def _removed(self, marked: int) -> ControlAction | ControlReason:
        partition = next(each for each in self._observation.partitions if each.number == marked)
        if partition.empty:
            return ControlAction(ActionKind.REMOVE, marked, ControlReason(ControlCause.EMPTY, {}))
        numbers = {
            "partition": marked,
            "clients": partition.clients,
            "messages": partition.messages,
        }
        return ControlReason(ControlCause.STILL_USED, numbers)

    def _shrunk(self) -> ControlAction | ControlReason:
        """Marks a partition by R6, if the others sustain all clients.

        With `load_left_max` = 1 this is C_r ≤ C − (N + M).
        """
        standing = self._standing
        if len(standing.unmarked) <= self._settings.partitions_min:
            return self._because(ControlCause.AT_LEAST)
        spare = standing.capacity - standing.clients / self._settings.load_left_max
        if not any(each.partition.capacity <= spare for each in standing.unmarked):
            return self._because(ControlCause.ALL_NEEDED)
        if self._inhibited:
            return self._because(ControlCause.INHIBITED)
        return self._mark(standing, ControlCause.SPARE, spare)

    def _mark(
        self, standing: QueueStanding, cause: ControlCause, spare: float | None = None
    ) -> ControlAction:
        """Marks the partition with the fewest clients, then messages; among equals the newest."""
        removable = [
            each.partition
            for each in standing.unmarked
            if spare is None or each.partition.capacity <= spare
        ]
        chosen = min(removable, key=lambda each: (each.clients, each.messages, -each.number))
        reason = self._because(cause, own=chosen.capacity)
        return ControlAction(ActionKind.MARK, chosen.number, reason)

    def _because(self, cause: ControlCause, **others: float) -> ControlReason:
        left_ms = self._memory.inhibited_until_ms - self._observation.now_ms
        numbers = {
            "clients": self._standing.clients,
            "capacity": self._standing.capacity,
            "load": self._standing.load,
            "partitions": len(self._standing.unmarked),
            "partitions_min": self._settings.partitions_min,
            "partitions_max": self._settings.partitions_max,
            "left_ms": max(left_ms, 0),
            **others,
        }
        return ControlReason(cause, numbers)
