"""The same queues for programs without asyncio, on an event loop in a background thread."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from dovemq.client.blocking import Face, LoopThread, OwningFace, blocking
from dovemq.inprocess.asynchronous import (
    AsyncLocalMessage,
    AsyncLocalQueue,
    AsyncLocalQueues,
    open_queues,
)
from dovemq.inprocess.options import QueueOptions
from dovemq.settings import ACCOUNT


class LocalMessage(Face[AsyncLocalMessage]):
    """A leased message. Settle it, or it can be received again when the lease ends."""

    def __init__(self, inner: AsyncLocalMessage, thread: LoopThread) -> None:
        super().__init__(inner, thread)
        self.id = inner.id
        self.body = inner.body
        self.attributes = inner.attributes
        self.group = inner.group
        self.sent_ms = inner.sent_ms
        self.receive_count = inner.receive_count
        self.receipt = inner.receipt

    settle = blocking(AsyncLocalMessage.settle)
    extend = blocking(AsyncLocalMessage.extend)
    release = blocking(AsyncLocalMessage.release)


class LocalQueue(Face[AsyncLocalQueue]):
    @property
    def name(self) -> str:
        return self._inner.name

    send = blocking(AsyncLocalQueue.send)
    send_all = blocking(AsyncLocalQueue.send_all)
    settle = blocking(AsyncLocalQueue.settle)
    extend = blocking(AsyncLocalQueue.extend)
    counts = blocking(AsyncLocalQueue.counts)
    peek = blocking(AsyncLocalQueue.peek)
    change = blocking(AsyncLocalQueue.change)
    purge = blocking(AsyncLocalQueue.purge)

    def receive(
        self, max: int = 1, *, wait: float | None = None, lease: float | None = None
    ) -> Sequence[LocalMessage]:
        """Receive up to `max` messages, hidden from others for `lease`; waits for the first one."""
        found = self._thread.run(self._inner.receive(max, wait=wait, lease=lease))
        return [LocalMessage(message, self._thread) for message in found]


class LocalQueues(OwningFace[AsyncLocalQueues]):
    """`with dovemq.open("directory") as mq:`, or `close` it when done."""

    names = blocking(AsyncLocalQueues.names)
    delete = blocking(AsyncLocalQueues.delete)

    def queue(self, name: str) -> LocalQueue:
        """The queue of that name; it is created with default settings if it does not exist."""
        return LocalQueue(self._thread.run(self._inner.queue(name)), self._thread)

    def create(self, name: str, **options: Unpack[QueueOptions]) -> LocalQueue:
        """Create a queue. A name that ends in `.fifo` makes a FIFO queue."""
        return LocalQueue(self._thread.run(self._inner.create(name, **options)), self._thread)


def open(path: str | Path, account: str = ACCOUNT) -> LocalQueues:
    """Open the queues of a directory, or of `memory://`. No other process may have it open."""
    with contextlib.ExitStack() as undo:
        thread = LoopThread("dovemq")
        undo.callback(thread.close)
        queues = LocalQueues(thread.run(open_queues(path, account)), thread)
        undo.pop_all()
    return queues
