"""Clients of a running server, for asyncio and for programs without it.

The package owns connections, signatures and typed answers. It imports no store and no server.
"""

from dovemq.client.admin import AdminClient
from dovemq.client.errors import (
    AnswerMalformed,
    ClientError,
    Refused,
    TimedOut,
    Unreachable,
    Untrusted,
)
from dovemq.client.sqs import SqsClient
from dovemq.client.sync import BlockingAdminClient, BlockingSqsClient

__all__ = [
    "AdminClient",
    "AnswerMalformed",
    "BlockingAdminClient",
    "BlockingSqsClient",
    "ClientError",
    "Refused",
    "SqsClient",
    "TimedOut",
    "Unreachable",
    "Untrusted",
]
