"""The server of a queue: its address, its key, and errors that name it."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from dovemq.client import SqsClient
from dovemq.client.blocking import LoopThread
from dovemq.client.errors import ClientError
from dovemq.client.patience import patiently
from dovemq.core import limits
from dovemq.core.access import AccessKey
from dovemq.pipeline.source.errors import QueueFailed


class QueueServer(Struct, frozen=True):
    """A queue and its server. Its text form has no secret."""

    queue: str
    endpoint_url: str
    admin_url: str
    region: str
    key: AccessKey | None = None
    session_token: str | None = None
    ca_bundle: Path | None = None

    def __repr__(self) -> str:
        return f"QueueServer({self.queue!r}, {self.endpoint_url!r})"

    @property
    def fifo(self) -> bool:
        return self.queue.endswith(limits.FIFO_SUFFIX)

    def sqs(self) -> SqsClient:
        return SqsClient(
            self.endpoint_url,
            self.key,
            region=self.region,
            session_token=self.session_token,
            ca_bundle=self.ca_bundle,
        )

    @contextlib.contextmanager
    def naming(self, url: str | None = None) -> Iterator[None]:
        """Turns client errors into errors that name the queue and its URL."""
        try:
            yield
        except ClientError as error:
            raise QueueFailed(self.queue, url or self.endpoint_url, error) from None

    @contextlib.contextmanager
    def connected(self) -> Iterator[tuple[LoopThread, SqsClient]]:
        thread = LoopThread("dovemq-spark")
        client = self.sqs()
        try:
            with self.naming():
                yield thread, client
        finally:
            thread.run(client.close())
            thread.close()


async def queue_url(client: SqsClient, queue: str) -> str:
    if urlsplit(queue).scheme in ("http", "https"):
        return queue
    return await patiently(lambda: client.queue_url(queue))


def queue_key(url: str) -> str:
    """Returns account and name, because the host of a URL may change."""
    return urlsplit(url).path.strip("/")
