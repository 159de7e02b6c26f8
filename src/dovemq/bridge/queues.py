"""The queues of a bridge, found or created before it connects to the broker."""

from collections.abc import Iterable
from typing import Final

from dovemq.bridge.errors import QueueUnusable
from dovemq.client.errors import Refused
from dovemq.client.sqs import SqsClient
from dovemq.core import limits

_MISSING: Final = "NonExistentQueue"


async def found_queues(client: SqsClient, names: Iterable[str], *, create: bool) -> dict[str, str]:
    """The URLs by name. A queue that does not exist is created, or raises `QueueUnusable`."""
    return {name: await _found(client, name, create=create) for name in names}


async def _found(client: SqsClient, name: str, *, create: bool) -> str:
    try:
        url = await client.queue_url(name)
        if "/" in name:
            # The URL was not looked up, so nothing has shown yet that the queue exists.
            await client.attributes(url, ["QueueArn"])
        return url
    except Refused as error:
        if not error.code.endswith(_MISSING):
            raise
        if not create or "/" in name:
            remedy = f"run `dovemq queue create {name.rpartition('/')[2]}`, or give --create"
            raise QueueUnusable(name, f"does not exist; {remedy}") from None
    fifo = {"FifoQueue": "true"} if name.endswith(limits.FIFO_SUFFIX) else {}
    return await client.create_queue(name, fifo, {})
