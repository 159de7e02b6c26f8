"""Rows and groups of a log, for tests."""

import msgspec

from dovemq.stores.owned.logged.encoding import GroupCodec, LoggedSend, LogGroup
from dovemq.stores.owned.logged.positions import first_position, first_sequence


def at(epoch: int, slot: int) -> int:
    """The position of a group in the first segment of an epoch."""
    return first_position(epoch) + slot


def number(epoch: int, count: int) -> int:
    """A sequence."""
    return first_sequence(epoch) + count


def row(sequence: int, *, visible_ms: int = 10, **changes: object) -> LoggedSend:
    plain = LoggedSend(sequence, visible_ms, 10, 0, 0, None, 3, 0, b"record")
    return msgspec.structs.replace(plain, **changes)


def encoded(group: LogGroup) -> bytes:
    return GroupCodec().encode(group)
