"""A queue in memory behind the client's methods, with leases in a time that tests advance."""

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Any

from dovemq.client import SqsClient, Unreachable
from dovemq.sqs.shapes import BatchResponse, DoneEntry, FailedEntry, ReceivedMessage


class Crash(BaseException):
    """The process ends here."""


class FakeQueue:
    """FIFO queues refuse receipts of leases that have ended; standard queues accept them."""

    def __init__(self, *, fifo: bool = False) -> None:
        self.fifo = fifo
        self.now = 0.0
        self.messages: dict[str, tuple[float, int]] = {}
        self.receives = 0
        self.asked: list[tuple[list[str], list[str]]] = []

    def send(self, *message_ids: str) -> None:
        self.messages |= dict.fromkeys(message_ids, (0.0, 0))

    def lease(self, count_max: int, seconds: float) -> list[ReceivedMessage]:
        self.receives += 1
        visible = [each for each, (until, _) in self.messages.items() if until <= self.now]
        leased = []
        for message_id in visible[:count_max]:
            count = self.messages[message_id][1] + 1
            self.messages[message_id] = (self.now + seconds, count)
            told = {"ApproximateReceiveCount": str(count), "SentTimestamp": "7"}
            receipt = f"{message_id}#{count}"
            body = f"body of {message_id}"
            leased.append(ReceivedMessage(message_id, receipt, "", body, told))
        return leased

    def settle(self, receipt: str) -> bool:
        message_id, _, _ = receipt.partition("#")
        if message_id in self.messages and self.fifo and not self.holds(receipt):
            return False
        self.messages.pop(message_id, None)
        return True

    def extend(self, receipt: str, seconds: float) -> bool:
        message_id, _, count = receipt.partition("#")
        if not self.holds(receipt):
            return False
        self.messages[message_id] = (self.now + seconds, int(count))
        return True

    def holds(self, receipt: str) -> bool:
        """Tells whether the receipt is that of the current lease."""
        message_id, _, number = receipt.partition("#")
        until, count = self.messages.get(message_id, (0.0, 0))
        return until > self.now and count == int(number)


def no_interference() -> None:
    return None


class FakeClient(SqsClient):
    """`interfere` is called before and after each request takes effect.

    A client whose process has ended sends no request.
    """

    def __init__(self, queue: FakeQueue, interfere: Callable[[], None] = no_interference) -> None:
        self.queue = queue
        self._interfere = interfere
        self._ended = False

    async def queue_url(self, name: str) -> str:
        return name

    async def receive(self, queue: str, count_max: int = 1, **more: Any) -> list[ReceivedMessage]:
        self._meet()
        leased = self.queue.lease(count_max, more["lease_seconds"])
        self.queue.asked.append((list(more["names"]), list(more["attribute_names"])))
        await asyncio.sleep(0)
        self._meet()
        return leased

    async def settle_batch(self, queue: str, receipts: Sequence[str]) -> BatchResponse:
        self._meet()
        answer = _answer([self.queue.settle(each) for each in receipts])
        self._meet()
        return answer

    async def extend_batch(
        self, queue: str, receipts: Sequence[str], lease_seconds: int
    ) -> BatchResponse:
        if self._ended:
            raise Crash
        return _answer([self.queue.extend(each, lease_seconds) for each in receipts])

    async def attributes(self, queue: str, names: Sequence[str] = ()) -> dict[str, str]:
        visible = sum(until <= self.queue.now for until, _ in self.queue.messages.values())
        return {"ApproximateNumberOfMessages": str(visible)}

    def _meet(self) -> None:
        if self._ended:
            raise Crash
        try:
            self._interfere()
        except Crash:
            self._ended = True
            raise


def _answer(done: Sequence[bool]) -> BatchResponse:
    return BatchResponse(
        [DoneEntry(str(place)) for place, fine in enumerate(done) if fine],
        [
            FailedEntry(str(place), "ReceiptHandleIsInvalid", "", True)
            for place, fine in enumerate(done)
            if not fine
        ],
    )


class Trouble:
    """Random faults: the process ends, an answer is lost, or leases end."""

    def __init__(self, queue: FakeQueue, rng: random.Random, lease_seconds: float) -> None:
        self._queue = queue
        self._rng = rng
        self._lease_seconds = lease_seconds
        self.over = False

    def __call__(self) -> None:
        if self.over:
            return
        chance = self._rng.random()
        if chance < 0.05:
            raise Crash()
        if chance < 0.12:
            raise Unreachable("queue", "lost")
        if chance < 0.25:
            self._queue.now += self._lease_seconds * self._rng.random() * 1.5
