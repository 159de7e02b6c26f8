"""Queues for asyncio programs: the use cases of the service as methods.

Times are in seconds, as floats. Errors are those of `core/errors.py`.
"""

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypedDict, Unpack

from dovemq.bootstrap import opening
from dovemq.core import limits
from dovemq.core.commands import Counts, Draft, Peek, Peeked
from dovemq.core.errors import InvalidValue, QueueMissing, RequestError
from dovemq.core.message import Attribute
from dovemq.core.queue import Queue, QueueKey
from dovemq.core.sending import new_draft
from dovemq.core.sessions import ClientSession
from dovemq.inprocess.options import QueueOptions, changes_of
from dovemq.service import Service
from dovemq.service.attempts import Delivery
from dovemq.settings import ACCOUNT
from dovemq.stores.urls import parse_path

RECEIVE_COUNT: Final = limits.Range(1, 100)
WAIT_MS: Final = limits.Range(0, limits.HOUR_MS)
NAMES_MAX: Final = 1_000_000

AttributeInput = str | int | float | bytes | Attribute


class DraftOptions(TypedDict, total=False):
    delay_ms: int | None
    attributes: Mapping[str, Attribute]
    group: str | None
    deduplication_id: str | None


class AsyncLocalMessage:
    """A leased message. Settle it, or it can be received again when the lease ends."""

    def __init__(self, queue: "AsyncLocalQueue", delivery: Delivery) -> None:
        message = delivery.lease.message
        self.id = message.message_id
        self.body = message.body
        self.attributes = {name: each.value for name, each in message.attributes.items()}
        self.group = message.group
        self.sent_ms = message.sent_ms
        self.receive_count = delivery.lease.receive_count
        self.receipt = delivery.receipt
        self._queue = queue

    async def settle(self) -> None:
        """Delete the message for good."""
        await self._queue.settle([self.receipt])

    async def extend(self, seconds: float) -> None:
        """Let the lease end that many seconds from now."""
        await self._queue.extend(self.receipt, seconds)

    async def release(self) -> None:
        """End the lease: the message is visible at once, and this receive counts."""
        await self.extend(0)


class AsyncLocalQueue:
    def __init__(
        self, service: Service, key: QueueKey, new_id: Callable[[], str], session: ClientSession
    ) -> None:
        self.name = key.name
        self._service = service
        self._key = key
        self._new_id = new_id
        self._session = session

    async def send(
        self,
        body: str,
        *,
        delay: float | None = None,
        attributes: Mapping[str, AttributeInput] | None = None,
        group: str | None = None,
        deduplication_id: str | None = None,
    ) -> str:
        """Send a message; returns its id when it is durable."""
        queue = await self._found()
        draft = self._draft(
            queue,
            body,
            delay_ms=None if delay is None else _ms(delay),
            attributes=_attributes(attributes),
            group=group,
            deduplication_id=deduplication_id,
        )
        with self._session.call():
            return (await self._service.messages.send(queue, [draft]))[0].message_id

    async def send_all(self, bodies: Sequence[str], *, group: str | None = None) -> list[str]:
        """Send messages in one commit; returns their ids when all are durable."""
        queue = await self._found()
        drafts = [self._draft(queue, body, group=group) for body in bodies]
        with self._session.call():
            return [sent.message_id for sent in await self._service.messages.send(queue, drafts)]

    async def receive(
        self, max: int = 1, *, wait: float | None = None, lease: float | None = None
    ) -> list[AsyncLocalMessage]:
        """Receive up to `max` messages, hidden from others for `lease`; waits for the first one."""
        queue = await self._found()
        if not RECEIVE_COUNT.holds(max):
            raise InvalidValue("max", max, f"Must be between 1 and {RECEIVE_COUNT.most}.")
        lease_ms = _ms_within("lease", lease, limits.LEASE_MS)
        wait_ms = _ms_within("wait", wait, WAIT_MS)
        with self._session.call():
            deliveries = await self._service.messages.receive(queue, max, lease_ms, wait_ms)
        return [AsyncLocalMessage(self, delivery) for delivery in deliveries]

    async def settle(self, receipts: Sequence[str]) -> None:
        """Settle all messages that can be settled, then raise the first error, if any."""
        queue = await self._found()
        _raise_first(await self._service.messages.settle(queue, receipts))

    async def extend(self, receipt: str, seconds: float) -> None:
        queue = await self._found()
        lease_ms = _ms_within("seconds", seconds, limits.LEASE_MS) or 0
        _raise_first(await self._service.messages.extend(queue, [(receipt, lease_ms)]))

    async def counts(self) -> Counts:
        return await self._service.queues.counts(await self._found())

    async def peek(
        self, max: int = 10, *, after: int = 0, after_partition: int | None = None
    ) -> list[Peeked]:
        """Show messages without receiving them; `after` is the sequence of the last one seen.

        Messages of several partitions may have the same one: `after_partition` tells them apart.
        """
        if not limits.PEEK_COUNT.holds(max):
            raise InvalidValue("max", max, f"Must be between 1 and {limits.PEEK_COUNT.most}.")
        return await self._service.messages.peek(
            await self._found(), Peek(max, after, after_partition)
        )

    async def change(self, **options: Unpack[QueueOptions]) -> None:
        await self._service.queues.change(self._key, changes_of(self._key, options))

    async def purge(self) -> None:
        await self._service.queues.purge(self._key)

    async def _found(self) -> Queue:
        return await self._service.queues.find(self._key)

    def _draft(self, queue: Queue, body: str, **more: Unpack[DraftOptions]) -> Draft:
        message_id, account = self._new_id(), self._key.account
        return new_draft(queue, message_id=message_id, body=body, sender=account, **more)


class AsyncLocalQueues:
    """The queues of an account. All that is asked through one such object is one session."""

    def __init__(self, service: Service, account: str, new_id: Callable[[], str]) -> None:
        self._service = service
        self._account = account
        self._new_id = new_id
        self._session = ClientSession()

    async def queue(self, name: str) -> AsyncLocalQueue:
        """The queue of that name; it is created with default settings if it does not exist."""
        try:
            await self._service.queues.find(QueueKey(self._account, name))
        except QueueMissing:
            return await self.create(name)
        return self._handle(name)

    async def create(self, name: str, **options: Unpack[QueueOptions]) -> AsyncLocalQueue:
        """Create a queue. A name that ends in `.fifo` makes a FIFO queue."""
        key = QueueKey(self._account, name)
        changes = changes_of(key, options)
        if key.fifo:
            changes["fifo"] = True
        await self._service.queues.create(key, changes, {})
        return self._handle(name)

    async def delete(self, name: str) -> None:
        await self._service.queues.remove(QueueKey(self._account, name))

    async def names(self, prefix: str = "") -> list[str]:
        names: list[str] = []
        after = ""
        while len(names) < NAMES_MAX:
            page = await self._service.queues.page(
                self._account, prefix, after, limits.QUEUES_LISTED.most
            )
            names += [queue.key.name for queue in page]
            if len(page) < limits.QUEUES_LISTED.most:
                break
            after = str(page[-1].key)
        return names

    async def close(self) -> None:
        self._session.end()
        await self._service.close()

    def _handle(self, name: str) -> AsyncLocalQueue:
        key = QueueKey(self._account, name)
        return AsyncLocalQueue(self._service, key, self._new_id, self._session)


async def open_queues(path: str | Path, account: str = ACCOUNT) -> AsyncLocalQueues:
    opened = await opening.open_service(parse_path(path), root=account)
    return AsyncLocalQueues(opened.service, account, opened.new_id)


@contextlib.asynccontextmanager
async def open_async(path: str | Path, account: str = ACCOUNT) -> AsyncIterator[AsyncLocalQueues]:
    """Open the queues of a directory, or of `memory://`, until the block ends."""
    queues = await open_queues(path, account)
    try:
        yield queues
    finally:
        await queues.close()


def _ms(seconds: float) -> int:
    return round(seconds * limits.SECOND_MS)


def _ms_within(name: str, seconds: float | None, allowed: limits.Range) -> int | None:
    if seconds is None:
        return None
    if not allowed.holds(_ms(seconds)):
        most = allowed.most // limits.SECOND_MS
        raise InvalidValue(name, seconds, f"Must be between 0 and {most} seconds.")
    return _ms(seconds)


def _attributes(given: Mapping[str, AttributeInput] | None) -> dict[str, Attribute]:
    return {name: _attribute(value) for name, value in (given or {}).items()}


def _attribute(value: AttributeInput) -> Attribute:
    if isinstance(value, Attribute):
        return value
    if isinstance(value, bytes):
        return Attribute("Binary", value)
    if isinstance(value, str):
        return Attribute("String", value)
    return Attribute("Number", str(value))


def _raise_first(results: Sequence[RequestError | None]) -> None:
    for error in results:
        if error is not None:
            raise error
