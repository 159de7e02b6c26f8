"""Accounts, a queue, statements and requests for the tests of policies."""

import json
from typing import Any

import msgspec

from dovemq.core.queue import Queue, QueueKey, QueueSettings
from dovemq.sqs.arns import QueueNames
from dovemq.sqs.context import AccessRequest, Context

OWNER = "111111111111"
FRIEND = "222222222222"
STRANGER = "333333333333"
REGION = "us-east-1"
ARN = f"arn:aws:sqs:{REGION}:{OWNER}:jobs"
NAMES = QueueNames(REGION)
NOW_MS = 1_700_000_000_000
"""2023-11-14T22:13:20Z"""
CONTEXT = Context(NOW_MS, "203.0.113.9:5000", False, "boto3/1.40", "http://example.org/a")


def statement(**elements: Any) -> dict[str, Any]:
    """One that allows the friend to send; None takes an element away."""
    whole = {
        "Effect": "Allow",
        "Principal": {"AWS": FRIEND},
        "Action": "sqs:SendMessage",
        "Resource": ARN,
        **elements,
    }
    return {name: value for name, value in whole.items() if value is not None}


def policy(*statements: Any, version: str | None = "2012-10-17", **elements: Any) -> str:
    document = {"Version": version} if version else {}
    return json.dumps({**document, "Statement": list(statements), **elements})


def queue(text: str | None = None, **tags: str) -> Queue:
    return Queue(1, QueueKey(OWNER, "jobs"), QueueSettings(policy=text), 0, 0, tags)


def asked(account: str = FRIEND, right: str = "SendMessage", **context: Any) -> AccessRequest:
    known = msgspec.structs.replace(CONTEXT, **context)
    return AccessRequest(account, right, queue(None, Team="blue"), ARN, REGION, known)
