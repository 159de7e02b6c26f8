"""What the format `dovemq` can be told: its options, then the environment, then defaults.

Refuses names that it does not know, since a misspelt limit would be no limit.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from dovemq.client import AdminClient, SqsClient
from dovemq.core import limits
from dovemq.core.access import AccessKey
from dovemq.core.limits import Range
from dovemq.pipeline.source.errors import OptionRefused

PEEK: Final = "peek"
DRAIN: Final = "drain"
MESSAGES: Final = Range(1, 100_000)
"""Of an epoch: below what a queue lets be leased at once."""
BYTES: Final = Range(1 << 20, 1 << 30)
LEASE_SECONDS: Final = Range(1, limits.LEASE_MS.most // limits.SECOND_MS)
CONCURRENT: Final = Range(1, 32)
SLICES: Final = Range(1, 1_000)

OPTIONS: Final[Mapping[str, str]] = {
    "queue": "its name or URL; also what load() and save() are given",
    "endpointUrl": "of the SQS endpoint; else AWS_ENDPOINT_URL_SQS, else the origin of queue",
    "adminUrl": "of the admin API, for peek; else AWS_ENDPOINT_URL_DOVEMQ, else the next port",
    "accessKeyId": "else AWS_ACCESS_KEY_ID",
    "secretAccessKey": "else AWS_SECRET_ACCESS_KEY",
    "sessionToken": "of a key that AWS gave for a while; else AWS_SESSION_TOKEN",
    "region": "else AWS_REGION, else us-east-1",
    "caBundle": "a file of trusted certificates; else AWS_CA_BUNDLE",
    "stagingLocation": "a directory that the driver and all executors see, one per query",
    "maxMessagesPerBatch": "of a micro-batch, or of a drain; 10000",
    "maxBytesPerBatch": "of bodies, about; 64 MiB",
    "leaseSeconds": "how long a message is hidden without a heartbeat; 120",
    "heartbeatSeconds": "between two extensions of the leases; a third of leaseSeconds",
    "waitSeconds": "how long an empty queue is polled; 1",
    "receivers": "receives at the same time; 8",
    "partitions": "tasks of a micro-batch, at most; as many as the driver has processors",
    "mode": "of a batch read: peek, which takes nothing, or drain",
    "maxMessages": "of a peek; 100000",
    "groupId": "of rows without a group_id",
    "senders": "batches that a task sends at the same time; 8",
}
_OF_SPARK: Final = frozenset({"path", "checkpointlocation", "queryname"})
_KNOWN: Final = frozenset(name.lower() for name in OPTIONS) | _OF_SPARK


class Server(Struct, frozen=True):
    """Where the queue is, and by which key; no text of it shows a secret."""

    queue: str
    endpoint_url: str
    admin_url: str
    region: str
    key: AccessKey | None = None
    session_token: str | None = None
    ca_bundle: Path | None = None

    def __repr__(self) -> str:
        return f"Server({self.queue!r}, {self.endpoint_url!r})"

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

    def admin(self) -> AdminClient:
        return AdminClient(self.admin_url, self.key, region=self.region, ca_bundle=self.ca_bundle)


class Pace(Struct, frozen=True):
    """How much is received, and how it is kept."""

    count_max: int = 10_000
    bytes_max: int = 64 << 20
    lease_seconds: int = 120
    heartbeat_seconds: float = 40.0
    wait_seconds: int = 1
    receivers: int = 8
    slices: int = 1


def check_names(options: Mapping[str, str]) -> None:
    for name in options:
        if name.lower() not in _KNOWN:
            raise OptionRefused(name, f"is not known; there are {', '.join(OPTIONS)}")


def server_of(options: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> Server:
    queue = options.get("queue") or options.get("path")
    if not queue:
        raise OptionRefused("queue", "is missing: the name or the URL of a queue")
    endpoint = options.get("endpointUrl") or environment.get("AWS_ENDPOINT_URL_SQS")
    endpoint = endpoint or _origin(queue)
    admin = options.get("adminUrl") or environment.get("AWS_ENDPOINT_URL_DOVEMQ")
    bundle = options.get("caBundle") or environment.get("AWS_CA_BUNDLE")
    key, token = _credentials(options, environment)
    return Server(
        queue,
        endpoint,
        admin or _next_port(endpoint),
        options.get("region") or environment.get("AWS_REGION") or "us-east-1",
        key,
        token,
        Path(bundle) if bundle else None,
    )


def pace_of(options: Mapping[str, str]) -> Pace:
    lease = _whole(options, "leaseSeconds", 120, LEASE_SECONDS)
    return Pace(
        _whole(options, "maxMessagesPerBatch", 10_000, MESSAGES),
        _whole(options, "maxBytesPerBatch", 64 << 20, BYTES),
        lease,
        _whole(options, "heartbeatSeconds", 0, Range(0, LEASE_SECONDS.most)) or lease / 3,
        _whole(options, "waitSeconds", 1, Range(0, limits.WAIT_MS.most // limits.SECOND_MS)),
        _whole(options, "receivers", 8, CONCURRENT),
        _whole(options, "partitions", os.cpu_count() or 1, SLICES),
    )


def staging_of(options: Mapping[str, str]) -> Path:
    given = options.get("stagingLocation")
    if not given:
        raise OptionRefused("stagingLocation", f"is missing: {OPTIONS['stagingLocation']}")
    parts = urlsplit(given)
    if parts.scheme not in ("", "file"):
        raise OptionRefused("stagingLocation", "must be a directory of a mounted file system")
    folder = Path(unquote(parts.path) if parts.scheme else given)
    if not folder.is_absolute():
        raise OptionRefused("stagingLocation", "must be an absolute path: tasks run elsewhere")
    return folder


def mode_of(options: Mapping[str, str]) -> str:
    mode = options.get("mode", PEEK).lower()
    if mode not in (PEEK, DRAIN):
        raise OptionRefused("mode", f"must be {PEEK} or {DRAIN}")
    return mode


def peeked_max(options: Mapping[str, str]) -> int:
    return _whole(options, "maxMessages", MESSAGES.most, Range(1, 10**9))


def senders_of(options: Mapping[str, str]) -> int:
    return _whole(options, "senders", 8, CONCURRENT)


def _whole(options: Mapping[str, str], name: str, default: int, allowed: Range) -> int:
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
    """Both parts from one place: a key of the one and a secret of the other do not fit."""
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
    """Where the admin API listens, unless it was told otherwise."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise OptionRefused("endpointUrl", "is not a URL") from None
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}:{port + 1}"
