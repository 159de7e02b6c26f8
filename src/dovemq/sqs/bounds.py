"""Bounds of a request, which are checked before it is decoded.

Decoding takes time in proportion to the number of items in a request, and the event loop serves
nobody else meanwhile. Up to `limits.REQUEST_BYTES_MAX` that time is short. Only sends may be
longer, since a message may be; theirs is the decoder below, which looks at few items and skips the
rest, so that a long request has few items or is refused.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from dovemq.core import limits
from dovemq.core.errors import BatchTooMany, InvalidValue
from dovemq.sqs.errors import RequestTooLong, SerializationError
from dovemq.sqs.shapes import wire_name

ENTRIES_COUNTED_MAX: Final = 100
"""Entries of a batch that are counted for the text of an error."""
ITEMS_MAX: Final = 1_000
"""Items in the attributes of one message: names, values and what is nested in them."""

_NOTHING: Final = Raw(b"")
_TOO_MANY: Final = "Expected `array` of at most length"
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


class _Attributes(Struct, rename=wire_name):
    """The parts of a message that can have many items, not decoded."""

    message_attributes: Raw = _NOTHING
    message_system_attributes: Raw = _NOTHING


_Entries: Any = msgspec.defstruct(
    "_Entries",
    [(f"entry_{n}", _Attributes | None, None) for n in range(ENTRIES_COUNTED_MAX)],
    array_like=True,
    forbid_unknown_fields=True,
)
"""A list that ends decoding when it is too long; a list type would be decoded to its end."""


class _Send(_Attributes, rename=wire_name):
    entries: _Entries | None = None


_decode_send: Final = msgspec.json.Decoder(_Send).decode


def check_size(size_bytes: int, *, sends: bool) -> None:
    """Refuse a request that is longer than any valid one of its operation."""
    if size_bytes > limits.REQUEST_BYTES_MAX and not sends:
        raise RequestTooLong(size_bytes, limits.REQUEST_BYTES_MAX)


def check_items(body: bytes) -> None:
    """Refuse a long JSON send that has more items than any valid one."""
    try:
        send = _decode_send(body)
    except msgspec.ValidationError as error:
        if str(error).startswith(_TOO_MANY):
            sent = f"more than {ENTRIES_COUNTED_MAX}"
            raise BatchTooMany(sent, limits.BATCH_COUNT.most) from None
        raise SerializationError(str(error)) from None
    entries = () if send.entries is None else msgspec.structs.astuple(send.entries)
    for each in (send, *entries):
        if each is not None:
            _check_attributes(each.message_attributes)
            _check_attributes(each.message_system_attributes)


def checked_count(name: str, count: int | None, default: int, allowed: limits.Range) -> int:
    """The number of items that the request asks for, or the default."""
    if count is None:
        return default
    if not allowed.holds(count):
        raise InvalidValue(name, count, f"Must be between {allowed.least} and {allowed.most}.")
    return count


def check_length(name: str, items: Sequence[str] | None, count_max: int) -> None:
    if items is not None and len(items) > count_max:
        raise InvalidValue(name, f"of {len(items)} items", f"Must have at most {count_max} items.")


def _check_attributes(raw: Raw) -> None:
    data = bytes(raw)
    # The texts of values may hold these characters as well: only then they are cut out, which
    # takes longer than counting.
    if _separators(data) > ITEMS_MAX and _separators(_STRING.sub(b"", data)) > ITEMS_MAX:
        raise SerializationError(f"The attributes of a message have more than {ITEMS_MAX} items.")


def _separators(data: bytes) -> int:
    return data.count(b",") + data.count(b"[") + data.count(b"{")
