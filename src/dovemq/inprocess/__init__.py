"""The queues of a data directory inside a program, without HTTP, with or without asyncio.

The directory is locked while it is open: a server and a program cannot use it at the same time.
"""

from dovemq.inprocess.asynchronous import (
    AsyncLocalMessage,
    AsyncLocalQueue,
    AsyncLocalQueues,
    AttributeInput,
    open_async,
)
from dovemq.inprocess.synchronous import LocalMessage, LocalQueue, LocalQueues, open

__all__ = [
    "AsyncLocalMessage",
    "AsyncLocalQueue",
    "AsyncLocalQueues",
    "AttributeInput",
    "LocalMessage",
    "LocalQueue",
    "LocalQueues",
    "open",
    "open_async",
]
