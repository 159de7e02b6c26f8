"""The partitions of one queue as a front end sees them: where they are, and whose turn it is.

The choice of a partition is made here, without I/O. Messages with a group go by a hash of the group
that is the same in every process; the others go to the active partitions in turn. Partitions of
this front end are preferred, since others cost a passage over the link.
"""

import itertools
import zlib
from collections.abc import Callable, Collection, Sequence
from typing import Final

from dovemq.core.commands import Draft, Transfer
from dovemq.core.ports import Partition, Store
from dovemq.core.queue import Queue
from dovemq.fabric.outside import OutsideTurns

LOCATED_MS: Final = 1_000
"""The time for which the places of partitions are taken as unchanged."""

Locality = Callable[[int, int], bool]
"""Whether this front end serves the partition: number of the queue, number of the partition."""


def everywhere_local(queue_number: int, partition: int) -> bool:
    """The locality of a store that one process uses alone."""
    return True


def hashed(text: str, numbers: Sequence[int]) -> int:
    """The partition of a text: always the same one while the numbers are the same."""
    return numbers[zlib.crc32(text.encode()) % len(numbers)]


class Members:
    def __init__(self, store: Store, queue: Queue, is_local: Locality) -> None:
        self.queue = queue
        self._store = store
        self._is_local = is_local
        self._partitions: dict[int, Partition] = {}
        # The least recently tried first.
        self._turns: dict[int, None] = {}
        self._sends = itertools.count()
        self._outside = OutsideTurns()
        self._local: frozenset[int] = frozenset()
        self._located_ms: int | None = None
        self._adjust()

    @property
    def numbers(self) -> tuple[int, ...]:
        """Active and draining partitions: those that may hold messages."""
        return self.queue.settings.layout.numbers

    @property
    def targets(self) -> tuple[int, ...]:
        """Partitions for new messages."""
        return self.queue.settings.targets

    def __getitem__(self, number: int) -> Partition:
        """A partition, also one that the layout has forgotten: a receipt may still name it."""
        partition = self._partitions.get(number)
        if partition is None:
            partition = self._partitions[number] = self._store.partition(self.queue, number)
        return partition

    def follow(self, queue: Queue) -> None:
        """Take over a newer version of the queue."""
        self.queue = queue
        self._adjust()

    def target_of_draft(self, draft: Draft, ungrouped: int) -> int:
        """`ungrouped` is the partition for drafts without a group."""
        return ungrouped if draft.group is None else hashed(draft.group, self.targets)

    def target_of_transfer(self, transfer: Transfer) -> int:
        """A repeated transfer goes to the same partition, which recognises it."""
        message = transfer.message
        text = message.message_id if message.group is None else message.group
        return hashed(text, self.targets)

    def next_target(self, now_ms: int, resting: Collection[int]) -> int:
        """The partition for the drafts of one request that have no group."""
        targets = self.targets
        awake = [number for number in targets if number not in resting] if resting else targets
        local = self._local_at(now_ms)
        near = [number for number in awake if number in local]
        choice = near or awake or targets
        return choice[next(self._sends) % len(choice)]

    def begin_receive(self) -> bool:
        """Whether the receive begins with the partitions of other front ends."""
        return self._outside.begin()

    def looked(self, number: int, now_ms: int, *, backlog: bool) -> None:
        """A receive has looked into the partition, and left messages there if `backlog`."""
        local = self._local_at(now_ms)
        if number not in local:
            outside = len(self.numbers) - len(local)
            self._outside.looked(backlog=backlog, partitions=outside)

    def tried(self, number: int) -> None:
        """The partition goes to the end of the line."""
        self._turns.pop(number, None)
        if number in self._partitions:
            self._turns[number] = None

    def in_turn(
        self, numbers: Collection[int], now_ms: int, *, outside: bool, missed: bool = False
    ) -> tuple[int, ...]:
        """These partitions, the least recently tried first.

        Those of this front end are ahead, or the others for a receive that begins `outside`. One
        that has `missed` and slept has no preference: its looks are rare, and must come to every
        partition.
        """
        turn = [number for number in self._turns if number in numbers]
        local = self._local_at(now_ms)
        if len(local) < len(self.numbers) and not missed:
            turn.sort(key=lambda number: (number in local) == outside)
        return tuple(turn)

    def beside(self, number: int) -> int:
        """The least recently tried of the other partitions, wherever it is."""
        return next(each for each in self._turns if each != number)

    def _adjust(self) -> None:
        numbers = self.numbers
        self._partitions = {
            number: self._store.partition(self.queue, number)
            for number in {*numbers, *self._partitions}
        }
        kept = [number for number in self._turns if number in numbers]
        self._turns = dict.fromkeys((*kept, *numbers))
        self._located_ms = None

    def _local_at(self, now_ms: int) -> frozenset[int]:
        if self._located_ms is None or now_ms - self._located_ms >= LOCATED_MS:
            number = self.queue.number
            here = (each for each in self.numbers if self._is_local(number, each))
            self._local, self._located_ms = frozenset(here), now_ms
        return self._local
