"""The driver's side of a stream: promises epochs, extends leases of staged messages, settles.

Tasks receive messages (`slots.py`); this reads what they staged. Every request may be repeated. A
message that its receipts no longer settle is owed: when a task receives it again, it is not handed
to Spark again, and is settled with that epoch.
"""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from dovemq.client.batching import batches
from dovemq.client.retrying import Pause, retried
from dovemq.client.sqs import SqsClient
from dovemq.core import limits
from dovemq.core.ports import Clock
from dovemq.pipeline.source.options import ReceiveOptions
from dovemq.pipeline.source.staging import Promise, Staging
from dovemq.sqs.shapes import BatchResponse

REQUESTS_MAX: Final = 16
"""The most concurrent settles or extensions."""
SETTLE_ROUNDS_MAX: Final = 3
LOOK_SECONDS: Final = 0.25
"""The pause between two checks of an empty queue."""
_VISIBLE: Final = "ApproximateNumberOfMessages"


@dataclass(slots=True)
class Keeper:
    _client: SqsClient
    _queue_url: str
    staging: Staging
    _options: ReceiveOptions
    _clock: Clock
    _pause: Pause = asyncio.sleep
    _requests: asyncio.Semaphore = field(init=False)
    _allowed: int | None = None
    _promised: int | None = None
    _visible: int = 0
    _last_age: int | None = None
    _totals: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self._requests = asyncio.Semaphore(REQUESTS_MAX)
        self._totals = dict.fromkeys(("received", "staged", "settled"), 0)

    @property
    def settled(self) -> Promise:
        """The offset before everything that is not settled yet."""
        state = self.staging.state
        return Promise(state.staging, state.settled)

    async def allow_present(self) -> None:
        """Limits all further promises to the messages that are visible now."""
        self._allowed = await self._look()

    async def offer(self, start: Promise, count_max: int) -> Promise:
        """Settles everything up to `start`, and returns the next promise, or `start` if there is
        none.

        Slots that are filled already are offered again, because their query has not read them.
        """
        self.staging.check(start)
        await self.finish(start)
        epoch = start.epoch + 1
        filled = [entry.slot + 1 for entry in self.staging.epoch.refresh()]
        if filled:
            return Promise(start.staging, epoch, max(filled), count_max)
        if self._allowed is not None:
            count_max = min(count_max, self._allowed)
        if count_max < 1 or not await self._wait_for_messages():
            return start
        self._promised = epoch
        # More tasks than needed would wait for more messages.
        needed = math.ceil(min(count_max, self._visible) / limits.RECEIVE_COUNT.most)
        return Promise(start.staging, epoch, min(self._options.receivers, needed), count_max)

    async def finish_staged(self) -> bool:
        """Settles what a drain has staged. Returns False if nothing was staged."""
        epoch = self.staging.epoch
        if not epoch.refresh():
            return False
        await self.finish(Promise(self.staging.state.staging, epoch.number))
        return True

    async def finish(self, end: Promise) -> None:
        """Settles that epoch and removes its files."""
        self.staging.place.keep_claim()
        epoch = self.staging.epoch
        if epoch.number != end.epoch:
            return
        entries = list(epoch.refresh())
        receipts = list(epoch.receipts)
        left = await self._settle(receipts)
        settled = frozenset(message_id for message_id, _ in receipts) - left
        counts, self._last_age = self._counts(), self._age()
        self.staging.finish(settled, left)
        self._totals = counts | {"settled": counts["settled"] + len(settled)}
        if self._allowed is not None and self._promised == end.epoch:
            staged = sum(entry.rows - len(entry.repeated) for entry in entries)
            # Other clients may hold messages that count as visible; without this the run would not
            # end.
            self._allowed = self._allowed - staged if staged else 0

    async def beat(self) -> int:
        """Extends the leases of all staged messages, and returns how many were extended."""
        self.staging.epoch.refresh()
        receipts = [receipt for _, receipt in self.staging.epoch.receipts]
        kept = await asyncio.gather(*(self._extend(part) for part in batches(receipts, len)))
        return sum(kept)

    async def keep_leases(self) -> None:
        """Extends leases until it is cancelled, also after failures."""
        while True:
            await self._pause(self._options.heartbeat_seconds)
            try:
                await self.beat()
            except Exception:
                # If the leases end, the messages come back and are recognised.
                continue

    async def report(self) -> dict[str, int | None]:
        """Returns counts since the start of this process, for the progress of the query.

        Spark asks when it plans a batch, when nothing is staged: the age is that of the last batch
        when it was settled.
        """
        self.staging.epoch.refresh()
        return {**self._counts(), "visible": self._visible, "oldestStagedSeconds": self._age()}

    def _age(self) -> int | None:
        times = [entry.oldest_ms for entry in self.staging.epoch.entries]
        sent = [sent_ms for sent_ms in times if sent_ms is not None]
        if not sent:
            return self._last_age
        return max(0, self._clock.now_ms() - min(sent)) // limits.SECOND_MS

    def _counts(self) -> dict[str, int]:
        entries = self.staging.epoch.entries
        received = sum(entry.rows for entry in entries)
        repeated = sum(len(entry.repeated) for entry in entries)
        totals = self._totals
        return totals | {
            "received": totals["received"] + received,
            "staged": totals["staged"] + received - repeated,
        }

    async def _look(self) -> int:
        ask = self._client.attributes
        answer = await retried(lambda: ask(self._queue_url, [_VISIBLE]), self._pause)
        self._visible = int(answer.get(_VISIBLE, "0"))
        return self._visible

    async def _wait_for_messages(self) -> bool:
        """A run over the available messages does not wait."""
        seconds = 0 if self._allowed is not None else self._options.wait_seconds
        for _ in range(math.ceil(seconds / LOOK_SECONDS)):
            if await self._look():
                return True
            await self._pause(LOOK_SECONDS)
        return await self._look() > 0

    async def _settle(self, receipts: Sequence[tuple[str, str]]) -> frozenset[str]:
        """Settles messages, and returns the ids of those that none of their receipts settled."""
        settled: set[str] = set()
        left = list(receipts)
        for _ in range(SETTLE_ROUNDS_MAX):
            tens = list(batches(left, lambda pair: 0))
            answers = await asyncio.gather(
                *(self._settle_ten([receipt for _, receipt in ten]) for ten in tens)
            )
            failures = {
                ten[int(failed.id)]: failed.sender_fault
                for ten, answer in zip(tens, answers, strict=True)
                for failed in answer.failed
            }
            settled.update(message_id for message_id, _ in set(left).difference(failures))
            left = list(failures)
            if all(failures.values()):
                break
        return frozenset(message_id for message_id, _ in left) - settled

    async def _settle_ten(self, receipts: Sequence[str]) -> BatchResponse:
        async with self._requests:
            ask = self._client.settle_batch
            return await retried(lambda: ask(self._queue_url, receipts), self._pause)

    async def _extend(self, receipts: Sequence[str]) -> int:
        async with self._requests:
            answer = await self._client.extend_batch(
                self._queue_url, receipts, self._options.lease_seconds
            )
        return len(answer.successful)
