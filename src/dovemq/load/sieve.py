"""Finds the messages without any violation, so that only the others are judged one by one.

These messages have one send and at most one receive, with equal ids and checksums. Comparing
columns gives the same verdict for them as `judgement.py`.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovemq.load.journals import RequestOutcome
from dovemq.load.reading import Rows

KEY: Final = ("queue", "sender", "send_seq")
"""The columns that identify a message: a sender numbers its messages for each queue."""


class MessageGroups(NamedTuple):
    """Rows grouped by message: message `n` has the rows with the number `n`.

    Messages are numbered in order of their key.
    """

    of_sends: NDArray[np.intp]
    of_receives: NDArray[np.intp]
    sends: NDArray[np.intp]
    """The number of sends of each message."""
    receives: NDArray[np.intp]


def grouped(sends: Rows, receives: Rows) -> MessageGroups:
    keys = [np.concatenate((sends[name], receives[name])) for name in KEY]
    order = np.lexsort(keys[::-1])
    changes = np.zeros(len(order), np.bool_)
    for column in keys:
        ordered = column[order]
        changes[1:] |= ordered[1:] != ordered[:-1]
    numbers = np.empty(len(order), np.intp)
    numbers[order] = np.cumsum(changes)
    count = int(numbers.max()) + 1 if len(numbers) else 0
    of_sends, of_receives = numbers[: len(sends)], numbers[len(sends) :]
    return MessageGroups(
        of_sends,
        of_receives,
        np.bincount(of_sends, minlength=count),
        np.bincount(of_receives, minlength=count),
    )


def plain(sends: Rows, receives: Rows, groups: MessageGroups) -> NDArray[np.bool_]:
    """Tells for each message whether it was sent once and cannot violate a rule."""
    once = (groups.sends == 1) & (groups.receives == 1)
    never = (groups.sends == 1) & (groups.receives == 0)
    outcome = _spread(sends["outcome"], groups.of_sends, once | never)
    same_id = _equal("message_id", sends, receives, groups, once)
    same_body = _equal("body_crc32", sends, receives, groups, once)
    known = (outcome == RequestOutcome.ACKNOWLEDGED) & same_id
    came: NDArray[np.bool_] = once & same_body & (known | (outcome == RequestOutcome.UNKNOWN))
    stayed_away: NDArray[np.bool_] = never & (outcome != RequestOutcome.ACKNOWLEDGED)
    return came | stayed_away


def _equal(
    name: str, sends: Rows, receives: Rows, groups: MessageGroups, where: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    sent = _spread(sends[name], groups.of_sends, where)
    received = _spread(receives[name], groups.of_receives, where)
    same: NDArray[np.bool_] = sent == received
    return same


def _spread(
    column: NDArray[Any], numbers: NDArray[np.intp], where: NDArray[np.bool_]
) -> NDArray[Any]:
    """Returns the column by message, for messages with one such row; others are zero."""
    spread = np.zeros(len(where), column.dtype)
    chosen = where[numbers]
    spread[numbers[chosen]] = column[chosen]
    return spread
