"""The queues of a data directory inside a program, without HTTP, with or without asyncio.

The directory is locked while it is open: a server and a program cannot use it at the same time.
"""

from dovemq.inprocess.asynchronous import AsyncLocalMessage as AsyncLocalMessage
from dovemq.inprocess.asynchronous import AsyncLocalQueue as AsyncLocalQueue
from dovemq.inprocess.asynchronous import AsyncLocalQueues as AsyncLocalQueues
from dovemq.inprocess.asynchronous import AttributeInput as AttributeInput
from dovemq.inprocess.asynchronous import open_async as open_async
from dovemq.inprocess.synchronous import LocalMessage as LocalMessage
from dovemq.inprocess.synchronous import LocalQueue as LocalQueue
from dovemq.inprocess.synchronous import LocalQueues as LocalQueues
from dovemq.inprocess.synchronous import open as open
