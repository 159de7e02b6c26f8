"""One queue's side of a bridge: batches, retries, and what a refusal means."""

import asyncio
import enum
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from dovemq.bridge.errors import QueueUnusable
from dovemq.bridge.holding import HeldMessage
from dovemq.bridge.routes import Route
from dovemq.client.batching import batches
from dovemq.client.errors import ClientError, Refused
from dovemq.client.retrying import (
    PAUSE_SECONDS,
    PAUSE_SECONDS_MAX,
    Pause,
    is_about_one_message,
    is_transient,
)
from dovemq.core import limits
from dovemq.sqs.shapes import SendEntry, SendMessageBatchResponse

SENDERS: Final = 4
"""Concurrent requests to a standard queue. A FIFO queue gets one at a time, for its order."""
_LATER: Final = "OverLimit"
"""A quota of the account is used up. Consumers make room."""
_KEPT: Final = "the broker keeps the messages"

SendBatch = Callable[[str, Sequence[SendEntry]], Awaitable[SendMessageBatchResponse]]


class SendVerdict(enum.Enum):
    """The meaning of a refusal for the messages of a request."""

    AGAIN = "try again"
    MESSAGE = "the queue does not accept this message"
    QUEUE = "the queue accepts no message"


class FeedItem(Struct, frozen=True, eq=False):
    """A held message in the form in which a queue gets it.

    `refusal` is the reason for which the queue of its route has refused it before.
    """

    held: HeldMessage
    route: Route
    entry: SendEntry
    size: int
    refusal: str = ""


class FeedEvents(Struct, frozen=True):
    stored: Callable[[FeedItem], None]
    refused: Callable[[FeedItem, str], None]
    report: Callable[[str], None]


class QueueFeed:
    """Sends items to one queue, repeatedly until each is stored, refused or no longer wanted."""

    def __init__(
        self, queue: str, send: SendBatch, events: FeedEvents, pause: Pause = asyncio.sleep
    ) -> None:
        self.queue = queue
        self.fifo = queue.endswith(limits.FIFO_SUFFIX)
        self.senders = 1 if self.fifo else SENDERS
        self._send = send
        self._events = events
        self._pause = pause
        self._waiting: deque[FeedItem] = deque()
        self._filled = asyncio.Event()
        self._failing = False

    def put(self, item: FeedItem) -> None:
        self._waiting.append(item)
        self._filled.set()

    def drop_unwanted(self) -> None:
        """Forget items that wait in vain, so that a connection that flaps does not pile them up."""
        self._waiting = deque(item for item in self._waiting if item.held.wanted)

    async def work(self) -> None:
        """Send until cancelled. Raises `QueueUnusable` if the queue accepts no message.

        `senders` tasks may do this at the same time.
        """
        while True:
            await self._filled.wait()
            items = next_batch(self._waiting, fifo=self.fifo)
            if not self._waiting:
                self._filled.clear()
            seconds = PAUSE_SECONDS
            while items := [item for item in items if item.held.wanted]:
                items = await self._attempt(items)
                if items:
                    await self._pause(seconds)
                    seconds = min(seconds * 2, PAUSE_SECONDS_MAX)

    async def _attempt(self, items: Sequence[FeedItem]) -> list[FeedItem]:
        """The items that must be sent again."""
        entries = [replace(item.entry, id=str(place)) for place, item in enumerate(items)]
        try:
            answer = await self._send(self.queue, entries)
        except ClientError as error:
            return await self._after(error, items)
        again = dict(enumerate(items))
        for sent in answer.successful:
            self._events.stored(again.pop(int(sent.id)))
        for failed in answer.failed:
            verdict = judged(failed.code, by_sender=failed.sender_fault)
            if verdict is SendVerdict.QUEUE:
                raise QueueUnusable(self.queue, f"{failed.code}: {failed.message}; {_KEPT}")
            if verdict is SendVerdict.MESSAGE:
                self._events.refused(again.pop(int(failed.id)), failed.code)
        if again:
            self._note_failure("did not store all messages of a request")
        else:
            self._note_success()
        return list(again.values())

    async def _after(self, error: ClientError, items: Sequence[FeedItem]) -> list[FeedItem]:
        verdict = judged_error(error)
        if verdict is SendVerdict.QUEUE:
            raise QueueUnusable(self.queue, f"{error}; {_KEPT}")
        if verdict is SendVerdict.AGAIN:
            self._note_failure(str(error))
            return list(items)
        if len(items) > 1:
            # One message may have caused this, so each is tried alone.
            return [again for item in items for again in await self._attempt([item])]
        self._events.refused(items[0], error.code if isinstance(error, Refused) else "")
        return []

    def _note_failure(self, found: str) -> None:
        """Report the first failure of a row. Later ones would only repeat it."""
        if not self._failing:
            self._failing = True
            self._events.report(f"queue {self.queue}: {found}; {_KEPT}")

    def _note_success(self) -> None:
        if self._failing:
            self._failing = False
            self._events.report(f"queue {self.queue}: accepts messages again")


def next_batch(waiting: deque[FeedItem], *, fifo: bool) -> list[FeedItem]:
    """Take the next items that one request may carry.

    On a FIFO queue these are of different groups, since a batch could store a later message of a
    group and fail to store an earlier one.
    """
    candidates = _until_group_repeats(waiting) if fifo else waiting
    batch = next(batches(candidates, lambda item: item.size), [])
    for _ in batch:
        waiting.popleft()
    return batch


def _until_group_repeats(items: Iterable[FeedItem]) -> Iterator[FeedItem]:
    seen: set[str | None] = set()
    for item in items:
        if item.entry.message_group_id in seen:
            return
        seen.add(item.entry.message_group_id)
        yield item


def judged(code: str, *, by_sender: bool) -> SendVerdict:
    """The meaning of an error code of SQS. `by_sender` is SQS's own view of who must act."""
    if not by_sender or "Throttl" in code or code.endswith(_LATER):
        return SendVerdict.AGAIN
    return SendVerdict.MESSAGE if is_about_one_message(code) else SendVerdict.QUEUE


def judged_error(error: ClientError) -> SendVerdict:
    """The meaning of an error. Without an answer of the queue itself it is worth another try."""
    if not isinstance(error, Refused) or is_transient(error):
        return SendVerdict.AGAIN
    return judged(error.code, by_sender=True)
