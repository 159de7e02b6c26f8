"""Parts that all batch operations share: checks of the whole, and failures of one entry."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from dovemq.core import errors, limits
from dovemq.sqs import shapes
from dovemq.sqs.faults import fault_of, text_of


class BatchEntry(Protocol):
    @property
    def id(self) -> str | None: ...


E = TypeVar("E", bound=BatchEntry)


def checked_entries(entries: Sequence[E] | None) -> list[E]:
    """The entries of a batch, if the batch as a whole is valid."""
    if entries is None or not entries:
        raise errors.BatchEmpty()
    if len(entries) > limits.BATCH_COUNT.most:
        raise errors.BatchTooMany(len(entries), limits.BATCH_COUNT.most)
    is_id = limits.BATCH_ID.fullmatch
    for number, entry in enumerate(entries, 1):
        if entry.id is None:
            raise errors.MissingValue(f"Entries.{number}.Id")
        if not is_id(entry.id):
            raise errors.BatchIdInvalid()
    ids = [entry.id or "" for entry in entries]
    if len(set(ids)) < len(ids):
        raise errors.BatchIdsNotDistinct(
            next(each for at, each in enumerate(ids) if each in ids[:at])
        )
    return list(entries)


def failed(entry_id: str, error: Exception) -> shapes.FailedEntry:
    fault = fault_of(error)
    return shapes.FailedEntry(entry_id, fault.code, text_of(error, query=False), fault.sender)
