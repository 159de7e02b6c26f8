"""Checks of a message to be sent: contents, size, attributes, group, deduplication, delay."""

import hashlib
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from dovemq.core import errors, limits
from dovemq.core.commands import Draft
from dovemq.core.coordination import check_group
from dovemq.core.message import Attribute, Message
from dovemq.core.queue import Queue, QueueSettings

_UNIT: Final = limits.STORED_UNIT_BYTES
_ROUNDED_UP: Final = limits.STORED_OVERHEAD_BYTES + limits.STORED_UNIT_BYTES - 1
_NAME: Final = re.compile(r"[\w.-]+")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_RESERVED_PREFIXES: Final = ("aws.", "amazon.")
_TYPE: Final = re.compile(r"(String|Number|Binary)(\..+)?")
_NOT_FOR_THIS_QUEUE: Final = "The request include parameter that is not valid for this queue type."


def new_draft(
    queue: Queue,
    *,
    message_id: str,
    body: str,
    sender: str,
    delay_ms: int | None = None,
    attributes: Mapping[str, Attribute] | None = None,
    group: str | None = None,
    deduplication_id: str | None = None,
    xray_header: str | None = None,
) -> Draft:
    """A draft that the queue accepts, with the queue's defaults filled in."""
    settings = queue.settings
    if not body:
        raise errors.MissingValue("body")
    if has_forbidden_character(body):
        raise errors.InvalidContents()
    if attributes:
        check_attributes(attributes)
    if message_bytes(body, attributes) > settings.message_bytes_max:
        raise errors.MessageTooLong(settings.message_bytes_max)
    if xray_header is not None:
        _check_xray_header(xray_header)
    if group is not None:
        check_token("group", group)
        check_group(settings, group)
    if settings.fifo:
        deduplication_id = _fifo_identity(settings, body, group, deduplication_id)
    elif deduplication_id is not None:
        raise errors.InvalidValue("deduplication_id", deduplication_id, _NOT_FOR_THIS_QUEUE)
    return Draft(
        message_id,
        body,
        sender,
        settings.delay_ms if delay_ms is None else _delay_ms(settings, delay_ms),
        attributes or {},
        group,
        deduplication_id,
        xray_header,
    )


def accepted(draft: Draft, sequence: int, sent_ms: int) -> Message:
    """The message that a draft becomes when a store takes it."""
    return Message(
        draft.message_id,
        sequence,
        draft.body,
        sent_ms,
        draft.sender,
        draft.attributes,
        draft.group,
        draft.deduplication_id,
        draft.xray_header,
    )


def has_forbidden_character(text: str) -> bool:
    if text.isascii():
        # Most bodies are ASCII, and this takes a fifth of the time of the pattern.
        return len(text.encode().translate(None, limits.FORBIDDEN_ASCII)) != len(text)
    return limits.FORBIDDEN_CHARACTER.search(text) is not None


def check_token(field: str, value: str) -> None:
    if not limits.TOKEN.fullmatch(value):
        raise errors.InvalidValue(
            field,
            value,
            f"{errors.FIELD} can only include alphanumeric and punctuation characters. "
            "1 to 128 in length.",
        )


def attribute_bytes(item: tuple[str, Attribute]) -> int:
    name, attribute = item
    value = attribute.value
    value_bytes = len(value) if isinstance(value, bytes) else len(value.encode())
    return len(name.encode()) + len(attribute.type.encode()) + value_bytes


def message_bytes(body: str, attributes: Mapping[str, Attribute] | None) -> int:
    """The size that counts against the limits of a message and of a batch."""
    body_bytes = len(body) if body.isascii() else len(body.encode())
    return body_bytes + (sum(map(attribute_bytes, attributes.items())) if attributes else 0)


def stored_units(message: Draft | Message) -> int:
    """The size of a message in a store, in whole units. It is the same in every store.

    Ids, group and times count the same in all messages.
    """
    body, attributes, xray_header = message.body, message.attributes, message.xray_header
    size = len(body) if body.isascii() else len(body.encode())
    if attributes:
        size += sum(map(attribute_bytes, attributes.items()))
    if xray_header is not None:
        size += len(xray_header.encode())
    return (size + _ROUNDED_UP) // _UNIT


def check_attribute_count(count: int) -> None:
    if count > limits.MESSAGE_ATTRIBUTES_MAX:
        raise errors.InvalidMessageAttribute(
            f"Number of message attributes [{count}] exceeds the allowed maximum "
            f"[{limits.MESSAGE_ATTRIBUTES_MAX}]."
        )


def check_attributes(attributes: Mapping[str, Attribute]) -> None:
    check_attribute_count(len(attributes))
    for name, attribute in attributes.items():
        _check_attribute_name(name)
        _check_attribute_type(name, attribute.type)
        _check_attribute_value(name, attribute)


def _check_attribute_name(name: str) -> None:
    if not limits.ATTRIBUTE_NAME_LENGTH.holds(len(name)):
        raise errors.InvalidMessageAttribute(
            "Message (user) attribute names must be shorter than 256 Bytes"
        )
    if not _NAME.fullmatch(name):
        raise errors.InvalidMessageAttribute(
            "Message (user) attributes name can only contain upper and lower score characters, "
            "digits, periods, hyphens and underscores. "
        )
    if name.lower().startswith(_RESERVED_PREFIXES) or name[0] == "." or name[-1] == ".":
        raise errors.InvalidMessageAttribute(
            "You can't use message attribute names beginning with 'AWS.' or 'Amazon.'. "
            "These strings are reserved for internal use. Additionally, they cannot start or "
            "end with '.'."
        )
    if ".." in name:
        raise errors.InvalidMessageAttribute(
            f"Message (user) attribute name '{name}' cannot have successive periods."
        )


def _check_attribute_type(name: str, type_name: str) -> None:
    if not type_name:
        raise errors.InvalidMessageAttribute(
            f"The message attribute '{name}' must contain message attribute type."
        )
    if not _TYPE.fullmatch(type_name) or has_forbidden_character(type_name):
        raise errors.InvalidMessageAttribute(
            f"The type of message (user) attribute '{name}' is invalid. You must use only the "
            "following supported type prefixes: Binary, Number, String."
        )
    if not limits.ATTRIBUTE_TYPE_LENGTH.holds(len(type_name)):
        raise errors.InvalidMessageAttribute(
            "Message (user) attribute types must be shorter than 256 Bytes"
        )


def _check_attribute_value(name: str, attribute: Attribute) -> None:
    kind = attribute.type.partition(".")[0]
    value = attribute.value
    if not value or isinstance(value, bytes) != (kind == "Binary"):
        raise errors.InvalidMessageAttribute(
            f"Message (user) attribute '{name}' must contain a non-empty value of type '{kind}'."
        )
    if isinstance(value, str):
        if has_forbidden_character(value):
            raise errors.InvalidMessageAttribute(str(errors.InvalidContents()))
        if kind == "Number":
            _check_number(name, value)


def _check_number(name: str, value: str) -> None:
    if not _NUMBER.fullmatch(value):
        raise errors.InvalidMessageAttribute(
            f"Can't cast the value of message (user) attribute '{name}' to a number."
        )
    try:
        number = Decimal(value) if len(value) <= limits.NUMBER_LENGTH_MAX else None
    except ArithmeticError:
        number = None
    if number is None or not (
        number == 0
        or limits.NUMBER_LEAST <= number <= -limits.NUMBER_SIZE_LEAST
        or limits.NUMBER_SIZE_LEAST <= number <= limits.NUMBER_MOST
    ):
        shown = value[: limits.NUMBER_LENGTH_MAX]
        raise errors.InvalidMessageAttribute(
            f"Number attribute value {shown} should be in range (-10**128..10**126)"
        )


def _check_xray_header(header: str) -> None:
    """The header has its own bound, since it does not count as size of the message."""
    if len(header) > limits.XRAY_HEADER_LENGTH_MAX:
        raise errors.InvalidMessageAttribute(
            f"The X-Ray header must not be longer than {limits.XRAY_HEADER_LENGTH_MAX} characters."
        )
    if has_forbidden_character(header):
        raise errors.InvalidMessageAttribute(str(errors.InvalidContents()))


def _fifo_identity(
    settings: QueueSettings, body: str, group: str | None, deduplication_id: str | None
) -> str:
    if group is None:
        raise errors.MissingValue("group")
    if deduplication_id is not None:
        check_token("deduplication_id", deduplication_id)
        return deduplication_id
    if not settings.content_deduplication:
        raise errors.DeduplicationMissing()
    return hashlib.sha256(body.encode()).hexdigest()


def _delay_ms(settings: QueueSettings, delay_ms: int) -> int:
    delay_seconds = delay_ms // limits.SECOND_MS
    if settings.fifo:
        if delay_ms:
            raise errors.InvalidValue("delay_seconds", delay_seconds, _NOT_FOR_THIS_QUEUE)
        return settings.delay_ms
    if not 0 <= delay_ms <= settings.delay_ms_max:
        raise errors.InvalidValue(
            "delay_seconds",
            delay_seconds,
            f"{errors.FIELD} must be >= 0 and <= {settings.delay_ms_max // limits.SECOND_MS}.",
        )
    return delay_ms
