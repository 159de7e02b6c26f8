"""Sends, receives and settles messages: the hot path.

Owns what stores do not do: receipts as text, long polls, repeated attempts, and the move of
exhausted messages to their dead-letter queue.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from dovemq.core import errors, limits
from dovemq.core.commands import (
    Ask,
    Draft,
    Duplicate,
    Extension,
    Lease,
    Leased,
    Peek,
    Peeked,
    Receipt,
    Sent,
    Settlement,
)
from dovemq.core.observing import Observer, Trail
from dovemq.core.ports import Clock, Partition, Store
from dovemq.core.queue import Queue
from dovemq.core.receipts import ReceiptCodec
from dovemq.service.attempts import AttemptKey, Attempts, Delivery
from dovemq.service.polls import Polls
from dovemq.service.quotas import ByteQuotas
from dovemq.service.tempo import Tempo
from dovemq.service.transfers import dead_letter

REDRIVE_RETRY_MS: Final = 5 * limits.SECOND_MS
"""Time until a failed move to a full dead-letter queue is tried again."""


class Messages:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        tempo: Tempo,
        observer: Observer,
        polls: Polls,
        quotas: ByteQuotas,
    ) -> None:
        self._store = store
        self._quotas = quotas
        self._clock = clock
        self._observer = observer
        self._polls = polls
        self._tempo = tempo
        self._receipts = ReceiptCodec(store.receipt_key)
        self._attempts = Attempts()

    async def send(
        self, queue: Queue, drafts: Sequence[Draft], trail: Trail | None = None
    ) -> list[Sent | Duplicate]:
        now_ms = self._clock.now_ms()
        if queue.key.account in self._quotas.limited:
            sent = await self._quotas.send(queue, drafts, now_ms)
        else:
            sent = await self._store.partition(queue, 0).send(drafts, now_ms)
        repeats = queue.settings.fifo and sum(isinstance(each, Duplicate) for each in sent)
        self._tempo.sent(queue, len(sent) - repeats, now_ms)
        if trail is not None:
            trail.sent(sent)
        for draft in drafts:
            if draft.delay_ms:
                self._polls.due(queue.number, now_ms + draft.delay_ms)
        return sent

    async def receive(
        self,
        queue: Queue,
        count_max: int,
        lease_ms: int | None = None,
        wait_ms: int | None = None,
        attempt_id: str | None = None,
        trail: Trail | None = None,
    ) -> list[Delivery]:
        """Lease up to `count_max` messages; wait up to `wait_ms` for the first one."""
        settings = queue.settings
        lease_ms = settings.lease_ms if lease_ms is None else lease_ms
        wait_ms = settings.wait_ms if wait_ms is None else wait_ms
        attempt = (queue.number, attempt_id) if attempt_id and settings.fifo else None
        deliveries = await self._again(queue, attempt, lease_ms) if attempt else []
        if not deliveries:
            if wait_ms:
                deliveries = await self._poll(queue, count_max, lease_ms, wait_ms)
            else:
                deliveries = await self._take(queue, count_max, lease_ms)
            if attempt and deliveries:
                self._attempts.remember(attempt, deliveries, self._clock.now_ms())
        if not deliveries:
            self._observer.answered_empty(queue)
            if trail is not None:
                trail.missed(queue)
        elif trail is not None:
            trail.leased(queue, [delivery.lease for delivery in deliveries])
        return deliveries

    async def settle(
        self, queue: Queue, receipts: Sequence[str], trail: Trail | None = None
    ) -> list[errors.RequestError | None]:
        """Delete messages by receipt. Returns None for each deleted message, else the reason."""
        self._attempts.touched(receipts)
        results, positions, decoded = self._decoded(queue, receipts)
        if decoded:
            partition = self._store.partition(queue, 0)
            now_ms = self._clock.now_ms()
            self._tempo.settled(queue, decoded, now_ms)
            settled = await partition.settle(decoded, now_ms)
            if trail is not None:
                trail.settled(decoded)
            for position, settlement in zip(positions, settled, strict=True):
                if settlement is Settlement.EXPIRED:
                    results[position] = errors.ReceiptExpired(receipts[position])
        return results

    async def extend(
        self, queue: Queue, changes: Sequence[tuple[str, int]]
    ) -> list[errors.RequestError | None]:
        """Hide each message for a time from now. Returns None where that was done."""
        now_ms = self._clock.now_ms()
        texts = [text for text, _ in changes]
        self._attempts.touched(texts)
        results, positions, decoded = self._decoded(queue, texts)
        asked: list[tuple[Receipt, int]] = []
        asked_at: list[int] = []
        for position, receipt in zip(positions, decoded, strict=True):
            lease_ms = changes[position][1]
            if now_ms + lease_ms > receipt.leased_ms + limits.LEASE_MS.most:
                results[position] = _beyond_limit(lease_ms)
            else:
                asked.append((receipt, lease_ms))
                asked_at.append(position)
        if asked:
            extensions = await self._store.partition(queue, 0).extend(asked, now_ms)
            self._observer.extended(queue, extensions.count(Extension.EXTENDED))
            for position, extension in zip(asked_at, extensions, strict=True):
                results[position] = _refusal(extension, texts[position])
                self._polls.due(queue.number, now_ms + changes[position][1])
        return results

    async def release(self, queue: Queue, deliveries: Sequence[Delivery]) -> None:
        """Take back messages whose delivery failed, as if they had not been received."""
        receipts = [delivery.lease.receipt for delivery in deliveries]
        self._attempts.touched(delivery.receipt for delivery in deliveries)
        await self._store.partition(queue, 0).release(receipts, self._clock.now_ms())
        self._observer.released(queue, len(receipts))

    async def peek(self, queue: Queue, page: Peek) -> list[Peeked]:
        return await self._store.partition(queue, 0).peek(page, self._clock.now_ms())

    async def _poll(
        self, queue: Queue, count_max: int, lease_ms: int, wait_ms: int
    ) -> list[Delivery]:
        until_ms = self._clock.now_ms() + wait_ms
        partition = self._store.partition(queue, 0)
        with self._polls.of_queue(queue.number, partition) as waiting:
            while True:
                changes = waiting.changes
                left_ms = max(0, until_ms - self._clock.now_ms())
                deliveries = await self._take_in_turn(queue, count_max, lease_ms, left_ms)
                if deliveries:
                    return deliveries
                if not await self._polls.park(queue.number, waiting, changes, until_ms):
                    return []
                found = await self._store.catalogue.find(queue.key)
                if found is None or found.number != queue.number:
                    raise errors.QueueMissing(str(queue.key))
                queue = found
                # A queue that was spread over more partitions is another object from then on.
                waiting.watch(self._store.partition(queue, 0))

    async def _take_in_turn(
        self, queue: Queue, count_max: int, lease_ms: int, wait_ms: int
    ) -> list[Delivery]:
        """Lease messages for a poll; if that fails, another poll gets its turn."""
        try:
            return await self._take(queue, count_max, lease_ms, wait_ms)
        except errors.DoveError:
            self._polls.wake(queue.number)
            raise

    async def _take(
        self, queue: Queue, count_max: int, lease_ms: int, wait_ms: int = 0
    ) -> list[Delivery]:
        """Lease what is claimable now, and tell polls whether and when there is more."""
        redrive = queue.settings.redrive
        target = await self._store.catalogue.find(redrive.target) if redrive else None
        if target and (target.key == queue.key or not target.takes_dead_letters_of(queue.key)):
            # Without another queue to go to, or one that still takes it, a message is delivered on.
            target = None
        receives_max = redrive.receives_max if redrive and target else None
        ask = Ask(count_max, lease_ms, receives_max, wait_ms)
        partition = self._store.partition(queue, 0)
        while True:
            now_ms = self._clock.now_ms()
            leased = await partition.lease(ask, now_ms)
            moved = False
            if leased.exhausted and target:
                moved = await self._move_out(queue, partition, target, leased)
            if leased.messages or not moved:
                break
        for found in (len(leased.messages),) if leased.found is None else leased.found:
            self._observer.looked(queue, found)
        if leased.more:
            self._polls.wake(queue.number)
        if leased.next_due_ms is not None:
            self._polls.due(queue.number, leased.next_due_ms)
        if leased.messages:
            self._tempo.leased(queue, leased.messages, now_ms)
        encode = self._receipts.encode
        return [Delivery(lease, encode(lease.receipt)) for lease in leased.messages]

    async def _move_out(
        self, queue: Queue, partition: Partition, target: Queue, leased: Leased
    ) -> bool:
        """Move exhausted messages; returns whether they have left the queue.

        A started move continues when its caller goes away: half a move is a second copy.
        """
        moving = self._dead_letter(queue, partition, target, leased.exhausted)
        try:
            return await asyncio.shield(moving)
        except asyncio.CancelledError:
            receipts = [lease.receipt for lease in leased.messages]
            await partition.release(receipts, self._clock.now_ms())
            raise

    async def _dead_letter(
        self, queue: Queue, partition: Partition, target: Queue, exhausted: Sequence[Lease]
    ) -> bool:
        try:
            await dead_letter(self._store, queue, target, exhausted, self._clock.now_ms())
            self._observer.redriven(queue, exhausted)
            return True
        except errors.QueueMissing:
            receipts = [lease.receipt for lease in exhausted]
            await partition.release(receipts, self._clock.now_ms())
        except errors.UnavailableError:
            # If they were visible at once, the next receive would try the same move, without end.
            retries = [(lease.receipt, REDRIVE_RETRY_MS) for lease in exhausted]
            await partition.extend(retries, self._clock.now_ms())
        return False

    async def _again(self, queue: Queue, attempt: AttemptKey, lease_ms: int) -> list[Delivery]:
        """The messages of the same attempt, if all its leases are still valid; they start anew."""
        repeated = self._attempts.recall(attempt, self._clock.now_ms())
        if not repeated:
            return []
        changes = [(delivery.lease.receipt, lease_ms) for delivery in repeated]
        partition = self._store.partition(queue, 0)
        extensions = await partition.extend(changes, self._clock.now_ms())
        held = all(extension is Extension.EXTENDED for extension in extensions)
        return list(repeated) if held else []

    def _decoded(
        self, queue: Queue, texts: Sequence[str]
    ) -> tuple[list[errors.RequestError | None], list[int], list[Receipt]]:
        results: list[errors.RequestError | None] = [None] * len(texts)
        positions: list[int] = []
        decoded: list[Receipt] = []
        for position, text in enumerate(texts):
            try:
                decoded.append(self._receipts.decode(text, queue.number))
                positions.append(position)
            except errors.ReceiptInvalid as error:
                results[position] = error
        return results, positions, decoded


def _beyond_limit(lease_ms: int) -> errors.InvalidValue:
    return errors.InvalidValue(
        "lease_seconds",
        lease_ms // limits.SECOND_MS,
        f"Total {errors.FIELD} for the message is beyond the limit "
        f"[{limits.LEASE_MS.most // limits.SECOND_MS} seconds]",
    )


def _refusal(extension: Extension, receipt: str) -> errors.RequestError | None:
    if extension is Extension.EXTENDED:
        return None
    if extension is Extension.NOT_LEASED:
        return errors.MessageNotLeased()
    return errors.MessageGone(receipt)
