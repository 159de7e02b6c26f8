"""Turns entries that the index has picked into leases with messages.

While bodies are read from the journal three things may happen, and are handled here: the caller
goes away, the message is deleted by an older receipt, or its body turns out to be damaged.
"""

import logging
from collections.abc import Callable

from dovemq.core.commands import Lease, Leased, Receipt
from dovemq.core.entry import Entry, Picked
from dovemq.core.index import Index
from dovemq.core.message import Message
from dovemq.core.queue import Queue
from dovemq.stores.owned.context import OwnerContext
from dovemq.stores.owned.group import PartitionKey

_log = logging.getLogger(__name__)


class Holding:
    """A picked entry and the lease that it was given; the entry itself may change meanwhile."""

    __slots__ = ("entry", "first_received_ms", "receive_count", "sequence")

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.sequence = entry.sequence
        self.receive_count = entry.receive_count
        self.first_received_ms = entry.first_received_ms


class Handout:
    def __init__(
        self,
        queue: Queue,
        place: PartitionKey,
        index: Index,
        context: OwnerContext,
        wake: Callable[[], None],
    ) -> None:
        self._queue_key = queue.key
        self._place = place
        self._index = index
        self._context = context
        self._touch = context.commits.touch
        self._cached = context.bodies.cache.get
        self._cached_all = context.bodies.cache.get_all
        self._wake = wake

    def at_once(self, picked: Picked, now_ms: int) -> Leased | None:
        """The leases, if all messages are cached; None if one has to be read from the journal."""
        taken = picked.taken
        messages = None if picked.exhausted else self._cached_all(taken)
        if messages is None:
            return None
        queue, partition = self._place
        leases = []
        for entry, message in zip(taken, messages, strict=True):
            count = entry.receive_count
            receipt = Receipt(queue, partition, entry.sequence, count, now_ms)
            leases.append(Lease(message, receipt, count, entry.first_received_ms))
        self._touch(self._place, taken)
        self._context.statistics.cache_hits += len(leases)
        return Leased(leases, [], picked.more, picked.next_due_ms)

    async def hand_out(self, picked: Picked, now_ms: int) -> tuple[Leased, bool]:
        """The leases with their messages, and whether damaged messages were left out."""
        taken = [Holding(entry) for entry in picked.taken]
        exhausted = [Holding(entry) for entry in picked.exhausted]
        holdings = [*taken, *exhausted] if exhausted else taken
        found: dict[int, Message] = {}
        missing = []
        for holding in holdings:
            message = self._cached(holding.sequence)
            if message is None:
                missing.append(holding.sequence)
            else:
                found[holding.sequence] = message
        self._context.statistics.cache_hits += len(found)
        damaged = False
        if missing:
            found.update(await self._load(missing, holdings))
            damaged = self._sort_out(holdings, found)
        self._touch(self._place, [each.entry for each in holdings if each.sequence in found])
        leased = Leased(
            self._leases(taken, found, now_ms),
            self._leases(exhausted, found, now_ms),
            picked.more,
            picked.next_due_ms,
        )
        return leased, damaged

    def take_back(self, entry: Entry, receive_count: int) -> None:
        if self._index.release(entry.sequence, receive_count):
            # The index may have put a copy of the entry at its old position.
            self._touch(self._place, (self._index.get(entry.sequence) or entry,))

    async def _load(self, missing: list[int], holdings: list[Holding]) -> dict[int, Message]:
        try:
            return await self._context.bodies.load(missing, self._index.ahead)
        except BaseException:
            # Also when the caller goes away (cancelled): nothing stays leased.
            for holding in holdings:
                self.take_back(holding.entry, holding.receive_count)
            self._wake()
            raise

    def _sort_out(self, holdings: list[Holding], found: dict[int, Message]) -> bool:
        """Leave out messages that were deleted meanwhile, and remove damaged ones from the index.

        Returns whether there were damaged ones. Their rows stay, for `verify` and the next start.
        """
        damaged = False
        for holding in holdings:
            sequence = holding.sequence
            if self._index.get(sequence) is None:
                found.pop(sequence, None)
            elif sequence not in found:
                damaged = True
                self._index.set_aside(sequence)
                self._context.statistics.damaged += 1
                _log.error(
                    "message %d of queue %s is damaged and set aside", sequence, self._queue_key
                )
        return damaged

    def _leases(
        self, holdings: list[Holding], found: dict[int, Message], now_ms: int
    ) -> list[Lease]:
        queue, partition = self._place
        return [
            Lease(
                found[holding.sequence],
                Receipt(queue, partition, holding.sequence, holding.receive_count, now_ms),
                holding.receive_count,
                holding.first_received_ms,
            )
            for holding in holdings
            if holding.sequence in found
        ]
