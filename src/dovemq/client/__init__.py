"""Signed requests to a running server: an asyncio core and a thin blocking face.

Owns connections, signing and typed answers. It knows no store and no server.
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
