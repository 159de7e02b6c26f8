"""The queues of a data directory inside a program, without HTTP: plain or with asyncio.

The directory is locked meanwhile: a server on it and a program cannot have it both.
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
