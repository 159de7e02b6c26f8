"""The replicated queue of `joram` as a simulation that is run step by step.

    queue = ReplicatedQueue(JoramParameters(), seed=1)
    queue.join("producer", 0)
    queue.join("consumer", 0)
    queue.advance(60_000.0)
    queue.figures()

Whoever steers it decides where clients join, when partitions come and go, and which messages are
exchanged: a plan, or a controller that looks at the figures between two steps.
"""

import itertools
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np

from dovemq.models import checks
from dovemq.models.errors import ModelParameterInvalid, TooLarge
from dovemq.models.simulation.joram.kernel import advance, begin
from dovemq.models.simulation.joram.parameters import JoramParameters
from dovemq.models.simulation.joram.state import (
    CLIENTS_MAX,
    CONSUMER,
    EMPTY_HANDED,
    GONE,
    MOVER,
    PARTITIONS_MAX,
    PAUSING,
    PRODUCER,
    SERVED,
    joram_arrays,
)
from dovemq.models.simulation.replication import NONE
from dovemq.models.simulation.runs import ENDED, EVENTS_AT_ONCE_MAX
from dovemq.models.simulation.sampling import Rows

JoramRole: TypeAlias = Literal["producer", "consumer"]
_ROLES: Final = {"producer": PRODUCER, "consumer": CONSUMER}
WITHOUT_END: Final = 1 << 60


@dataclass(frozen=True, slots=True)
class PartitionFigures:
    """Counts since the start, and the clients and messages of now.

    `moving` messages are on their way to this partition; `busy` is in milliseconds.
    """

    number: int
    producers: int
    consumers: int
    waiting: int
    moving: int
    produced: int
    consumed: int
    busy: float


class ReplicatedQueue:
    """Clients are numbered in the order in which they join; numbers of partitions are used once."""

    def __init__(
        self, parameters: JoramParameters, seed: int = 0, replication: int = 0, partitions: int = 1
    ) -> None:
        checks.whole(partitions, "partitions", 1, PARTITIONS_MAX)
        self._arrays = joram_arrays(parameters, seed, replication)
        self._arrays.state["partitions"] = partitions
        self._present = list(range(partitions))

    @property
    def now(self) -> float:
        return float(self._arrays.state["now"][0])

    @property
    def partitions(self) -> tuple[int, ...]:
        return tuple(self._present)

    @property
    def produced(self) -> int:
        """All messages sent so far, also to partitions that are gone."""
        return int(self._arrays.partitions["produced"].sum())

    @property
    def consumed(self) -> int:
        return int(self._arrays.partitions["consumed"].sum())

    def add_partition(self) -> int:
        number = int(self._arrays.state["partitions"][0])
        if number == PARTITIONS_MAX:
            raise TooLarge("partitions", number + 1, PARTITIONS_MAX, "use fewer")
        self._present.append(number)
        self._arrays.state["partitions"] += 1
        return number

    def remove_partition(self, number: int) -> None:
        """Removes a partition that has neither clients nor messages."""
        found = next(each for each in self.figures() if each.number == number)
        if found.producers or found.consumers or found.waiting or found.moving:
            raise ModelParameterInvalid("partition", number, "one without clients and messages")
        self._present.remove(number)

    def join(self, role: JoramRole, partition: int, messages: int = WITHOUT_END) -> int:
        """Adds a client that leaves after so many messages; returns its number."""
        return self._begin(_ROLES[role], partition, NONE, messages)

    def leave(self, client: int) -> None:
        """Lets a client leave, at the end of its operation if one is under way."""
        row = self._arrays.clients[client]
        if row["stage"] == PAUSING:
            row["stage"], self._arrays.wakes[client] = GONE, np.inf
        elif row["stage"] == EMPTY_HANDED:
            self._forget(client)
        row["leaving"] = 1

    def migrate(self, client: int, partition: int) -> bool:
        """Moves a client between two operations; False if one is under way."""
        row = self._arrays.clients[client]
        if row["stage"] == EMPTY_HANDED:
            self._forget(client)
            row["partition"], row["stage"] = partition, PAUSING
            self._arrays.wakes[client] = self.now
        elif row["stage"] == PAUSING:
            row["partition"] = partition
        else:
            return False
        return True

    def exchange(self, source: int, target: int, count: int) -> None:
        """Starts to move messages; fewer, if the source has fewer when its turn comes."""
        checks.whole(count, "count", 1, WITHOUT_END)
        self._begin(MOVER, source, target, count)

    def advance(self, until: float) -> None:
        while advance(self._arrays, until, EVENTS_AT_ONCE_MAX) != ENDED:
            pass

    def clients(self, role: JoramRole) -> dict[int, int]:
        """The partitions of the clients of a role that are present, by their numbers."""
        rows = self._rows()
        found = np.flatnonzero((rows["stage"] != GONE) & (rows["role"] == _ROLES[role]))
        return {int(number): int(rows["partition"][number]) for number in found}

    def starved(self) -> dict[int, float]:
        """The time for which each present consumer has waited for a message since it joined."""
        rows, now = self._rows(), self.now
        waits = rows["starved"] + np.where(rows["stage"] == EMPTY_HANDED, now - rows["since"], 0.0)
        return {number: float(waits[number]) for number in self.clients("consumer")}

    def figures(self) -> tuple[PartitionFigures, ...]:
        rows, table = self._rows(), self._arrays.partitions
        here = rows[rows["stage"] != GONE]
        # A mover that still waits at its source has taken nothing.
        loaded = (here["target"] == NONE) | (here["stage"] == SERVED)
        movers = here[(here["role"] == MOVER) & loaded]
        goal = np.where(movers["target"] == NONE, movers["partition"], movers["target"])
        return tuple(
            PartitionFigures(
                number,
                int(np.sum((here["role"] == PRODUCER) & (here["partition"] == number))),
                int(np.sum((here["role"] == CONSUMER) & (here["partition"] == number))),
                int(table["waiting"][number]),
                int(np.sum(movers["left"][goal == number])),
                int(table["produced"][number]),
                int(table["consumed"][number]),
                float(table["busy"][number]),
            )
            for number in self._present
        )

    def _begin(self, role: int, partition: int, target: int, messages: int) -> int:
        if partition not in self._present or target not in (NONE, *self._present):
            raise ModelParameterInvalid("partition", partition, f"one of {self._present}")
        number = self._free_row(role)
        row = self._arrays.clients[number]
        row["role"], row["partition"], row["target"] = role, partition, target
        row["left"], row["stage"], row["link"] = messages, PAUSING, NONE
        row["done"] = row["leaving"] = 0
        row["since"] = row["starved"] = 0.0
        begin(self._arrays, number)
        return number

    def _free_row(self, role: int) -> int:
        """A new row for a client; a mover may take the row of one that has arrived."""
        rows = self._rows()
        if role == MOVER:
            ended = np.flatnonzero((rows["role"] == MOVER) & (rows["stage"] == GONE))
            if len(ended):
                return int(ended[0])
        if len(rows) == CLIENTS_MAX:
            raise TooLarge("clients", CLIENTS_MAX + 1, CLIENTS_MAX, "use fewer")
        self._arrays.state["clients"] += 1
        return len(rows)

    def _rows(self) -> Rows:
        return self._arrays.clients[: int(self._arrays.state["clients"][0])]

    def _forget(self, client: int) -> None:
        """Takes a consumer off the list of those that wait for a message."""
        rows = self._arrays.clients
        row = rows[client]
        partition = self._arrays.partitions[row["partition"]]
        row["starved"] += self.now - row["since"]
        row["stage"] = GONE
        waiting, number = [], int(partition["empty_head"])
        while number != NONE:
            waiting.append(number)
            number = int(rows["link"][number])
        waiting.remove(client)
        for each, after in itertools.pairwise((*waiting, NONE)):
            rows["link"][each] = after
        partition["empty_head"] = waiting[0] if waiting else NONE
        partition["empty_tail"] = waiting[-1] if waiting else NONE
