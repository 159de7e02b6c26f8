"""Options of the format `dovemq`, with the environment and defaults behind them.

Unknown names are refused, because a misspelt limit would be no limit. `QueueServer` is the queue
with its server, key and errors.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from dovemq.client import SqsClient
from dovemq.client.blocking import LoopThread
from dovemq.client.errors import ClientError
from dovemq.client.retrying import retried
from dovemq.core import limits
from dovemq.core.access import AccessKey
from dovemq.core.limits import Range
from dovemq.pipeline.source.errors import OptionRefused, QueueFailed
from dovemq.pipeline.source.folders import staging_folder
from dovemq.pipeline.source.staging import SLOTS_MAX


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
    return await retried(lambda: client.queue_url(queue))


def queue_key(url: str) -> str:
    """Returns account and name, because the host of a URL may change."""
    return urlsplit(url).path.strip("/")


PEEK: Final = "peek"
DRAIN: Final = "drain"
MESSAGES: Final = Range(1, 100_000)
"""Messages of an epoch: fewer than can be leased from a queue at once."""
PEEKED: Final = Range(1, 10**9)
BYTES: Final = Range(1 << 20, 1 << 30)
LEASE_SECONDS: Final = Range(1, limits.LEASE_MS.most // limits.SECOND_MS)
CONCURRENT: Final = Range(1, 32)
TASKS: Final = Range(1, SLOTS_MAX)

OPTIONS: Final = (
    *("queue", "endpointUrl", "adminUrl", "region", "caBundle"),
    *("accessKeyId", "secretAccessKey", "sessionToken"),
    *("stagingLocation", "maxMessagesPerBatch", "maxBytesPerBatch", "receivers", "receives"),
    *("leaseSeconds", "heartbeatSeconds", "waitSeconds"),
    *("mode", "maxMessages", "readers"),
    *("groupId", "senders"),
)
"""docs/how-to/spark-queues.md describes each option and its default."""
_OF_SPARK: Final = frozenset({"path", "checkpointlocation", "queryname"})
_KNOWN: Final = frozenset(name.lower() for name in OPTIONS) | _OF_SPARK


class ReceiveOptions(Struct, frozen=True):
    """The number of messages to receive at a time, and the times of their leases."""

    count_max: int = 10_000
    bytes_max: int = 64 << 20
    lease_seconds: int = 120
    heartbeat_seconds: float = 40.0
    wait_seconds: int = 1
    receivers: int = 1
    receives: int = 8


def check_names(options: Mapping[str, str]) -> None:
    for name in options:
        if name.lower() not in _KNOWN:
            raise OptionRefused(name, f"is not known; there are {', '.join(OPTIONS)}")


def server_of(
    options: Mapping[str, str], environment: Mapping[str, str] = os.environ
) -> QueueServer:
    queue = options.get("queue") or options.get("path")
    if not queue:
        raise OptionRefused("queue", "is missing: the name or the URL of a queue")
    endpoint = options.get("endpointUrl") or environment.get("AWS_ENDPOINT_URL_SQS")
    endpoint = endpoint or _origin(queue)
    admin = options.get("adminUrl") or environment.get("AWS_ENDPOINT_URL_DOVEMQ")
    bundle = options.get("caBundle") or environment.get("AWS_CA_BUNDLE")
    key, token = _credentials(options, environment)
    return QueueServer(
        queue,
        endpoint,
        admin or _next_port(endpoint),
        options.get("region") or environment.get("AWS_REGION") or "us-east-1",
        key,
        token,
        Path(bundle) if bundle else None,
    )


def receive_options(options: Mapping[str, str]) -> ReceiveOptions:
    lease = whole(options, "leaseSeconds", 120, LEASE_SECONDS)
    return ReceiveOptions(
        whole(options, "maxMessagesPerBatch", 10_000, MESSAGES),
        whole(options, "maxBytesPerBatch", 64 << 20, BYTES),
        lease,
        whole(options, "heartbeatSeconds", 0, Range(0, LEASE_SECONDS.most)) or lease / 3,
        whole(options, "waitSeconds", 1, Range(0, limits.WAIT_MS.most // limits.SECOND_MS)),
        whole(options, "receivers", 1, TASKS),
        whole(options, "receives", 8, CONCURRENT),
    )


def staging_of(options: Mapping[str, str]) -> str:
    location = options.get("stagingLocation")
    if not location:
        found = "is missing: a directory, or s3://bucket/folder, that driver and executors see"
        raise OptionRefused("stagingLocation", found)
    staging_folder(location).close()
    return location


def mode_of(options: Mapping[str, str]) -> str:
    mode = options.get("mode", PEEK).lower()
    if mode not in (PEEK, DRAIN):
        raise OptionRefused("mode", f"must be {PEEK} or {DRAIN}")
    return mode


def whole(options: Mapping[str, str], name: str, default: int, allowed: Range) -> int:
    given = options.get(name)
    if given is None:
        return default
    try:
        value = int(given)
    except ValueError:
        value = None
    if value is None or not allowed.holds(value):
        raise OptionRefused(name, f"must be a whole number from {allowed.least} to {allowed.most}")
    return value


def _credentials(
    options: Mapping[str, str], environment: Mapping[str, str]
) -> tuple[AccessKey | None, str | None]:
    """Takes both parts of the key from the options, or both from the environment."""
    for place, names in (
        (options, ("accessKeyId", "secretAccessKey", "sessionToken")),
        (environment, ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")),
    ):
        key_id, secret, token = map(place.get, names)
        if key_id and secret:
            return AccessKey(key_id, secret, ""), token
        if key_id or secret:
            raise OptionRefused(names[0], f"needs {names[1]} beside it, and it needs that")
    return None, None


def _origin(queue: str) -> str:
    parts = urlsplit(queue)
    if parts.scheme not in ("http", "https"):
        raise OptionRefused("endpointUrl", "is missing, and queue is not a URL")
    return f"{parts.scheme}://{parts.netloc}"


def _next_port(url: str) -> str:
    """Returns the default URL of the admin API."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise OptionRefused("endpointUrl", "is not a URL") from None
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}:{port + 1}"
