"""The JSON documents of the admin API for queues, messages, accounts and keys."""

import base64
from typing import Any, Final

import msgspec

from dovemq.core.accounts import Account, Credential
from dovemq.core.commands import Counts, Peeked
from dovemq.core.message import Attribute
from dovemq.core.queue import Queue
from dovemq.fabric.dequeue import DequeueCounts, summarise
from dovemq.fabric.dequeue.costs import PAPER_UNIT_COSTS
from dovemq.telemetry.meter import QueueTally

Document = dict[str, Any]
JSON: Final = "application/json"


def queue_document(queue: Queue, counts: Counts) -> Document:
    return {
        "account": queue.key.account,
        "name": queue.key.name,
        "fifo": queue.settings.fifo,
        **_fields(queue, "created_ms", "modified_ms", "version"),
        "tags": dict(queue.tags),
        "settings": settings_document(queue),
        "counts": msgspec.structs.asdict(counts),
    }


def dequeue_document(queue: Queue, tally: QueueTally) -> Document:
    """The partitions of a queue, and what its receives cost at this front end since its start.

    The costs are those of eq. 4 and 5 of the paper rds, in its seconds of a partition's server.
    """
    layout = queue.settings.layout
    looks = tally.monitor_looks
    counts = DequeueCounts(tally.sent, tally.hits, tally.received, tally.misses, looks)
    summary = summarise(counts, PAPER_UNIT_COSTS)
    return {
        "partitions": {
            "active": list(layout.active),
            "marked": queue.settings.control.marked,
            "draining": list(layout.draining),
        },
        **_fields(counts, "sent", "hits", "misses", "received", "looks"),
        **_fields(summary, "hit_rate", "messages_per_hit"),
        "cost": {
            name: getattr(summary, f"{name}_cost")
            for name in ("send", "hit", "message", "miss", "look")
        },
        **_fields(summary, "cost_per_message"),
    }


def settings_document(queue: Queue) -> Document:
    """The settings by their field names; queues are named `account/name`."""
    document: Document = msgspec.structs.asdict(queue.settings)
    redrive, allow = queue.settings.redrive, queue.settings.redrive_allow
    if redrive is not None:
        target = str(redrive.target)
        document["redrive"] = {"target": target, "receives_max": redrive.receives_max}
    if allow is not None:
        sources = [str(source) for source in allow.sources]
        document["redrive_allow"] = {"permission": allow.permission, "sources": sources}
    return document


def account_document(account: Account) -> Document:
    """An account without secrets: its keys by their ids, and whether it has a password."""
    return {
        **_fields(account, "number", "name"),
        "role": account.role.value if account.role else None,
        **_fields(account, "enabled", "created_ms"),
        "quotas": msgspec.structs.asdict(account.quotas),
        "has_password": account.password_hash is not None,
        "credentials": [credential_document(each) for each in account.credentials],
    }


def credential_document(credential: Credential) -> Document:
    return _fields(credential, "key_id", "enabled", "created_ms", "expires_ms")


def message_document(peeked: Peeked) -> Document:
    message = peeked.message
    return {
        **_fields(message, "message_id", "sequence"),
        "partition": peeked.partition,
        "visibility": peeked.visibility.value,
        "visible_ms": peeked.visible_ms,
        "sent_ms": message.sent_ms,
        "first_received_ms": peeked.first_received_ms or None,
        "receive_count": peeked.receive_count,
        **_fields(message, "sender", "group", "deduplication_id", "source"),
        "trace": message.xray_header,
        "body": message.body,
        "attributes": {name: _attribute(value) for name, value in message.attributes.items()},
    }


def _attribute(attribute: Attribute) -> Document:
    value = attribute.value
    if isinstance(value, bytes):
        return {"type": attribute.type, "base64": base64.b64encode(value).decode("ascii")}
    return {"type": attribute.type, "value": value}


def _fields(value: object, *names: str) -> Document:
    return {name: getattr(value, name) for name in names}
