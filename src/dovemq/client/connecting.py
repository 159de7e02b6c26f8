"""Explicit sessions: `connect` makes a producer or a consumer of one queue on its own connection.

It does what the clustered connection factory of the paper joram does: the client says what it will
be, the server elects a partition for it, and all that it sends or receives goes through this one
connection until it is closed. On servers that know no sessions it is a client as any other.
"""

import contextlib
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Literal, Self, TypedDict, Unpack

from dovemq.client.blocking import LoopThread, OwningFace, blocking
from dovemq.client.environment import ca_bundle_of, endpoint_of, key_of
from dovemq.client.errors import WrongRole
from dovemq.client.sqs import SqsClient
from dovemq.core.access import AccessKey
from dovemq.core.errors import InvalidValue
from dovemq.fabric.autonomic import ClientRole
from dovemq.sqs.shapes import AttributeValue, ReceivedMessage, SendMessageRequest

RoleName = Literal["producer", "consumer"]


class ConnectOptions(TypedDict, total=False):
    """The server and the key. The AWS variables of the environment stand in for the rest."""

    endpoint_url: str
    key: AccessKey
    region: str


class QueueSession:
    """A producer or a consumer of one queue. It has one request at a time; others wait for it.

    If the connection breaks or was silent for too long, the next request makes another one, which
    is a new session at the server.
    """

    def __init__(self, client: SqsClient, queue_url: str, role: ClientRole) -> None:
        self.queue_url = queue_url
        self.role = role
        self._client = client

    async def send(
        self,
        body: str,
        *,
        delay_seconds: int | None = None,
        attributes: Mapping[str, AttributeValue] | None = None,
        group: str | None = None,
        deduplication_id: str | None = None,
    ) -> str:
        """Send a message; returns its id when it is durable."""
        self._check(ClientRole.PRODUCER, "send")
        message = SendMessageRequest(
            message_body=body,
            delay_seconds=delay_seconds,
            message_attributes=dict(attributes) if attributes else None,
            message_group_id=group,
            message_deduplication_id=deduplication_id,
        )
        return (await self._client.send(self.queue_url, message)).message_id

    async def receive(
        self,
        count_max: int = 1,
        *,
        wait_seconds: int | None = None,
        lease_seconds: int | None = None,
    ) -> Sequence[ReceivedMessage]:
        """Receive messages, hidden from others for the lease; `wait_seconds` is for the first."""
        self._check(ClientRole.CONSUMER, "receive")
        return await self._client.receive(
            self.queue_url, count_max, wait_seconds=wait_seconds, lease_seconds=lease_seconds
        )

    async def delete(self, receipt: str) -> None:
        """Delete the message of this receipt for good."""
        await self._client.settle(self.queue_url, receipt)

    async def extend(self, receipt: str, lease_seconds: int) -> None:
        """Let the lease end that many seconds from now."""
        await self._client.extend(self.queue_url, receipt, lease_seconds)

    async def close(self) -> None:
        """Close the connection, which ends the session at once."""
        await self._client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def _check(self, role: ClientRole, verb: str) -> None:
        if self.role is not role:
            raise WrongRole(verb, self.role.value, role.value)


class BlockingQueueSession(OwningFace[QueueSession]):
    @property
    def queue_url(self) -> str:
        return self._inner.queue_url

    @property
    def role(self) -> ClientRole:
        return self._inner.role

    send = blocking(QueueSession.send)
    receive = blocking(QueueSession.receive)
    delete = blocking(QueueSession.delete)
    extend = blocking(QueueSession.extend)


def connect(queue: str, role: RoleName, **options: Unpack[ConnectOptions]) -> BlockingQueueSession:
    """Connect to a queue, by NAME, ACCOUNT/NAME or URL, as a producer or as a consumer of it."""
    with contextlib.ExitStack() as undo:
        thread = LoopThread("dovemq-session")
        undo.callback(thread.close)
        session = thread.run(_connected(queue, role, options))
        undo.pop_all()
    return BlockingQueueSession(session, thread)


@contextlib.asynccontextmanager
async def connect_async(
    queue: str, role: RoleName, **options: Unpack[ConnectOptions]
) -> AsyncIterator[QueueSession]:
    """The same for asyncio: the session ends with the block."""
    async with await _connected(queue, role, options) as session:
        yield session


async def _connected(queue: str, role: RoleName, options: ConnectOptions) -> QueueSession:
    try:
        known = ClientRole(role)
    except ValueError:
        raise InvalidValue("role", role, "Must be producer or consumer.") from None
    client = _client(queue, options, os.environ)
    try:
        return QueueSession(client, await client.join(queue, known), known)
    except BaseException:
        await client.close()
        raise


def _client(queue: str, options: ConnectOptions, environment: Mapping[str, str]) -> SqsClient:
    key = options.get("key")
    return SqsClient(
        options.get("endpoint_url") or endpoint_of(queue, environment),
        key or key_of(environment),
        session_token=None if key else environment.get("AWS_SESSION_TOKEN"),
        region=options.get("region") or environment.get("AWS_REGION") or "us-east-1",
        ca_bundle=ca_bundle_of(environment),
        connections_max=1,
    )
