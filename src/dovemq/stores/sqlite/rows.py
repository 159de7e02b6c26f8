"""Queues, moves and accounts as rows, and back."""

from collections.abc import Mapping

import msgspec

from dovemq.core.accounts import Account
from dovemq.core.commands import Move
from dovemq.core.queue import Queue, QueueKey, QueueSettings

QueueRow = tuple[int, str, str, str, str, int, int, int]


def queue_columns(queue: Queue) -> tuple[str, str]:
    """Settings and tags as text."""
    return to_json(queue.settings), to_json(dict(queue.tags))


def queue_from_row(row: QueueRow) -> Queue:
    number, account, name, settings, tags, created_ms, modified_ms, version = row
    known_tags: Mapping[str, str] = msgspec.json.decode(tags, type=dict[str, str])
    return Queue(
        number=number,
        key=QueueKey(account, name),
        settings=msgspec.json.decode(settings, type=QueueSettings),
        created_ms=created_ms,
        modified_ms=modified_ms,
        tags=known_tags,
        version=version,
    )


def move_from_record(record: str) -> Move:
    return msgspec.json.decode(record, type=Move)


def account_from_row(version: int, record: str) -> Account:
    account = msgspec.json.decode(record, type=Account)
    return msgspec.structs.replace(account, version=version)


def to_json(value: object) -> str:
    return msgspec.json.encode(value).decode()
