"""SendMessage and SendMessageBatch."""

from collections.abc import Mapping
from typing import Final

from dovemq.core import errors, limits
from dovemq.core.commands import Draft, Duplicate, Sent
from dovemq.core.message import Attribute
from dovemq.core.queue import Queue
from dovemq.core.sending import check_attribute_count, message_bytes, new_draft
from dovemq.sqs import shapes
from dovemq.sqs.actions.batches import checked_entries, failed
from dovemq.sqs.call import Call
from dovemq.sqs.digests import md5_of_attributes, md5_of_body
from dovemq.sqs.errors import ParameterInvalid
from dovemq.sqs.faults import text_of

XRAY_HEADER: Final = "AWSTraceHeader"
_SEQUENCE_OFFSET: Final = 10**19
"""Added to sequences, because they have twenty digits on the wire."""


async def send_message(
    call: Call, request: shapes.SendMessageRequest
) -> shapes.SendMessageResponse:
    queue = await call.queue(request.queue_url)
    draft = _draft(call, queue, request)
    [sent] = await call.service.messages.send(queue, (draft,), call.trail)
    return shapes.SendMessageResponse(*_sent(request, draft, sent))


async def send_message_batch(
    call: Call, request: shapes.SendMessageBatchRequest
) -> shapes.SendMessageBatchResponse:
    queue = await call.queue(request.queue_url)
    entries = checked_entries(request.entries)
    _check_total(entries)
    drafts: list[Draft] = []
    drafted: list[shapes.SendEntry] = []
    failures: list[shapes.FailedEntry] = []
    for entry in entries:
        try:
            drafts.append(_draft(call, queue, entry))
            drafted.append(entry)
        except errors.RequestError as error:
            failures.append(failed(entry.id or "", _of_entry(error)))
    sent = await call.service.messages.send(queue, drafts, call.trail) if drafts else []
    done = [
        shapes.SentEntry(*_sent(entry, draft, each), id=entry.id or "")
        for entry, draft, each in zip(drafted, drafts, sent, strict=True)
    ]
    return shapes.SendMessageBatchResponse(done, failures)


def sequence_number(sequence: int) -> str:
    return str(_SEQUENCE_OFFSET + sequence)


def wire_attributes(values: Mapping[str, shapes.AttributeValue]) -> dict[str, Attribute]:
    """The message attributes as values of the core, which checks them."""
    check_attribute_count(len(values))
    attributes = {}
    for name, value in values.items():
        if value.string_list_values or value.binary_list_values:
            raise errors.Unsupported(
                "Message attribute list values in SendMessage operation are not supported."
            )
        kind = value.data_type or ""
        given = value.binary_value if kind.startswith("Binary") else value.string_value
        attributes[name] = Attribute(kind, given or "")
    return attributes


def _draft(call: Call, queue: Queue, request: shapes.NewMessage) -> Draft:
    if request.message_body is None:
        raise errors.MissingValue("MessageBody")
    delay = request.delay_seconds
    attributes = request.message_attributes
    return new_draft(
        queue,
        message_id=call.new_id(),
        body=request.message_body,
        sender=call.account,
        delay_ms=None if delay is None else delay * limits.SECOND_MS,
        attributes=wire_attributes(attributes) if attributes else None,
        group=request.message_group_id,
        deduplication_id=request.message_deduplication_id,
        xray_header=_xray_header(request)
        if request.message_system_attributes
        else call.xray_header,
    )


def _xray_header(request: shapes.NewMessage) -> str | None:
    header = None
    for name, value in (request.message_system_attributes or {}).items():
        if name != XRAY_HEADER:
            raise errors.InvalidMessageAttribute(
                f"Message system attribute name '{name}' is invalid. "
                f"Only '{XRAY_HEADER}' can be set."
            )
        if value.data_type != "String" or not value.string_value:
            raise errors.InvalidMessageAttribute(
                f"Message system attribute '{name}' must contain a non-empty value of type "
                "'String'."
            )
        header = value.string_value
    return header


def _sent(
    request: shapes.NewMessage, draft: Draft, sent: Sent | Duplicate
) -> tuple[str, str, str | None, str | None, str | None]:
    """The fields that `SendMessageResponse` and `SentEntry` share, in their order."""
    system = request.message_system_attributes
    return (
        md5_of_body(draft.body),
        sent.message_id,
        md5_of_attributes(draft.attributes) if draft.attributes else None,
        md5_of_attributes(wire_attributes(system)) if system else None,
        sequence_number(sent.sequence) if draft.deduplication_id is not None else None,
    )


def _check_total(entries: list[shapes.SendEntry]) -> None:
    total = 0
    for entry in entries:
        total += message_bytes(entry.message_body or "", None)
        for name, value in (entry.message_attributes or {}).items():
            texts = (name, value.data_type or "", value.string_value or "")
            total += len("".join(texts).encode()) + len(value.binary_value or b"")
    if total > limits.BATCH_BYTES_MAX:
        raise errors.BatchTooLong(total, limits.BATCH_BYTES_MAX)


def _of_entry(error: errors.RequestError) -> errors.RequestError:
    """The error of one entry; a FIFO message without its ids refuses the whole batch instead."""
    if isinstance(error, errors.DeduplicationMissing):
        raise error
    if isinstance(error, errors.MissingValue) and error.field == "group":
        raise ParameterInvalid(text_of(error, query=False))
    if isinstance(error, errors.MessageTooLong):
        return ParameterInvalid(f"One or more parameters cannot be validated. Reason: {error}")
    return error
