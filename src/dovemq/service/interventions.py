"""Changes that an operator makes to single messages, which nobody has received.

A message is named by its place: its sequence and its partition, as a look at the queue shows them.
"""

import enum

from msgspec import Struct

from dovemq.core.commands import Extension, Lease, Peek, Peeked, Receipt, Settlement, Visibility
from dovemq.core.observing import Observer
from dovemq.core.ports import Clock, Store
from dovemq.core.queue import Queue, QueueKey
from dovemq.service.polls import Polls
from dovemq.service.transfers import move_back


class MessagePlace(Struct, frozen=True):
    sequence: int
    partition: int = 0


class Intervention(enum.Enum):
    """The outcome of a change. Only `DONE` has changed anything."""

    DONE = "done"
    GONE = "gone"
    """The queue has no message at this place, or has it no more."""
    VISIBLE = "visible"
    """The message is visible already."""
    DELAYED = "delayed"
    """Nobody has received the message, so there is no lease to end."""
    LEASED = "leased"
    """A consumer holds the message."""
    HOMELESS = "homeless"
    """The message does not know its queue of origin, and no target was named."""
    TARGET_MISSING = "target missing"


class Interventions:
    def __init__(self, store: Store, clock: Clock, observer: Observer, polls: Polls) -> None:
        self._store = store
        self._clock = clock
        self._observer = observer
        self._polls = polls

    async def find(self, queue: Queue, place: MessagePlace) -> Peeked | None:
        after = Peek(1, place.sequence - 1)
        if place.partition:
            # Messages of several partitions may have the same sequence.
            after = Peek(1, place.sequence, place.partition - 1)
        page = await self._store.partition(queue, 0).peek(after, self._clock.now_ms())
        found = page[0] if page else None
        if found is None or (found.message.sequence, found.partition) != (
            place.sequence,
            place.partition,
        ):
            return None
        return found

    async def delete(self, queue: Queue, place: MessagePlace) -> Intervention:
        """Delete a message, also one that a consumer holds."""
        receipt = Receipt(queue.number, place.partition, place.sequence, 0, self._clock.now_ms())
        [settlement] = await self._store.partition(queue, 0).settle(
            [receipt], self._clock.now_ms(), forced=True
        )
        return Intervention.DONE if settlement is Settlement.SETTLED else Intervention.GONE

    async def show(self, queue: Queue, place: MessagePlace) -> Intervention:
        """End the lease of a message, which is then visible. Its consumer keeps a copy."""
        found = await self.find(queue, place)
        if found is None:
            return Intervention.GONE
        if found.visibility is Visibility.VISIBLE:
            return Intervention.VISIBLE
        if found.visibility is Visibility.DELAYED:
            return Intervention.DELAYED
        now_ms = self._clock.now_ms()
        change = (_receipt(queue, found, now_ms), 0)
        [extension] = await self._store.partition(queue, 0).extend([change], now_ms)
        self._polls.due(queue.number, now_ms)
        if extension is Extension.EXTENDED:
            self._observer.extended(queue, 1)
            return Intervention.DONE
        # It was settled, or received again, since it was found.
        return Intervention.GONE if extension is Extension.GONE else Intervention.LEASED

    async def move(
        self, queue: Queue, place: MessagePlace, target: QueueKey | None
    ) -> Intervention:
        """Move a message that nobody holds; without a target to the queue that it came from.

        A consumer that receives the message at this moment may handle it too.
        """
        found = await self.find(queue, place)
        if found is None:
            return Intervention.GONE
        if found.visibility is Visibility.LEASED:
            return Intervention.LEASED
        origin = found.message.source
        if target is None and origin is None:
            return Intervention.HOMELESS
        key = target or QueueKey.parse(str(origin))
        to = await self._store.catalogue.find(key)
        if to is None or to.key == queue.key or to.settings.fifo != queue.settings.fifo:
            return Intervention.TARGET_MISSING
        now_ms = self._clock.now_ms()
        lease = Lease(found.message, _receipt(queue, found, now_ms), found.receive_count, 0)
        await move_back(self._store, queue, to, [lease], now_ms, forced=True)
        self._observer.redriven(queue, [lease])
        return Intervention.DONE


def _receipt(queue: Queue, found: Peeked, now_ms: int) -> Receipt:
    sequence = found.message.sequence
    return Receipt(queue.number, found.partition, sequence, found.receive_count, now_ms)
