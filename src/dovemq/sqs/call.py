"""One call of an operation: the account and request that it comes from, and the service.

Every action gets its queue from here, so that none skips the check of the queue's policy.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct

from dovemq.core.errors import MissingValue, QueueDenied, QueueMissing
from dovemq.core.observing import Trail
from dovemq.core.queue import Queue, QueueKey
from dovemq.http import HttpRequest, Undelivered
from dovemq.service import Service
from dovemq.sqs.arns import QueueNames, queue_url
from dovemq.sqs.authorisation import Judge
from dovemq.sqs.context import Context

RESOURCE_LENGTH_MAX: Final = 512
"""Characters of a queue URL that an error repeats."""


class Call(Struct):
    """One call. `path_url` is the path of a request to a queue URL, which then names the queue.

    `origin` is the scheme and host at the start of queue URLs. `query` is true in the Query
    protocol. The server awaits `undelivered` if the response cannot be written; a receive then
    releases its leases.

    A call without a request is made by the operator in this process, and no policy applies to it.
    """

    service: Service
    names: QueueNames
    judge: Judge
    new_id: Callable[[], str]
    account: str
    origin: str
    request: HttpRequest | None
    path_url: str | None = None
    xray_header: str | None = None
    operation: str = ""
    query: bool = False
    undelivered: Undelivered | None = None
    key_id: str | None = None
    trail: Trail | None = None
    asked: QueueKey | None = None
    """The queue that the request names, for the log."""
    found: QueueKey | None = None
    """The queue that exists and is open to the caller."""

    @property
    def written(self) -> Callable[[], None] | None:
        """The function to call when the whole response was written."""
        return None if self.trail is None else self.trail.written

    def key(self, url: str | None) -> QueueKey:
        url = url or self.path_url
        if not url:
            raise MissingValue("QueueUrl")
        key = self.asked = self.names.key_of_url(url, self.account)
        return key

    def queue(self, url: str | None) -> Awaitable[Queue]:
        return self.find(self.key(url))

    async def find(self, key: QueueKey, operation: str | None = None) -> Queue:
        """Returns the queue if the account may use `operation` on it; default: that of this call.

        A queue of another account that does not exist is denied like one that does.
        """
        try:
            queue = await self.service.queues.find(key)
        except QueueMissing:
            if key.account == self.account:
                raise
            raise self.denied(key) from None
        # Most calls are by the owner of a queue without a policy: they need only this test.
        if (queue.settings.policy is not None or key.account != self.account) and not self.allows(
            queue, operation or self.operation
        ):
            raise self.denied(key)
        self.found = key
        return queue

    def allows(self, queue: Queue, operation: str) -> bool:
        request = self.request
        if request is None:
            return queue.key.account == self.account
        headers = request.headers
        context = Context(
            self.service.clock.now_ms(),
            request.peer,
            request.secure,
            headers.get("user-agent"),
            headers.get("referer"),
        )
        return self.judge.allows(queue, self.account, operation, context)

    def url(self, key: QueueKey) -> str:
        return queue_url(self.origin, key)

    def denied(self, key: QueueKey) -> QueueDenied:
        return QueueDenied(self.url(key)[:RESOURCE_LENGTH_MAX])
