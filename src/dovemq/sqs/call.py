"""One request on its way through an action: who asks, from where, and what serves it."""

import asyncio
from collections.abc import Awaitable, Callable

from msgspec import Struct

from dovemq.core.errors import MissingValue, QueueMissing
from dovemq.core.observing import Trail
from dovemq.core.queue import Queue, QueueKey
from dovemq.service import Service
from dovemq.sqs.arns import Names, queue_url
from dovemq.sqs.http import Undelivered


class Call(Struct):
    """`path_url` names the queue when the request itself does not: it went to a queue URL."""

    service: Service
    names: Names
    new_id: Callable[[], str]
    permissions: asyncio.Lock
    account: str
    origin: str
    path_url: str | None = None
    trace: str | None = None
    query: bool = False
    undelivered: Undelivered | None = None
    trail: Trail | None = None
    asked: QueueKey | None = None
    """The queue that the request names, for the log."""

    @property
    def written(self) -> Callable[[], None] | None:
        return None if self.trail is None else self.trail.written

    def key(self, url: str | None) -> QueueKey:
        url = url or self.path_url
        if not url:
            raise MissingValue("QueueUrl")
        key = self.asked = self.names.key_of_url(url, self.account)
        if key.account != self.account:
            # Nobody may use the queues of another account, nor learn which there are.
            raise QueueMissing(str(key))
        return key

    def queue(self, url: str | None) -> Awaitable[Queue]:
        return self.service.queues.find(self.key(url))

    def url(self, key: QueueKey) -> str:
        return queue_url(self.origin, key)
