"""Which requests have spans, and what of the wire is in them."""

from typing import TYPE_CHECKING, Any, Final

from dovemq.sqs.actions.sending import XRAY_HEADER
from dovemq.sqs.call import Call

if TYPE_CHECKING:
    from dovemq.telemetry.spans import MessageSpan, MessageSpans

SPAN_KINDS: Final = {
    "SendMessage": "send",
    "SendMessageBatch": "send",
    "ReceiveMessage": "receive",
    "DeleteMessage": "settle",
    "DeleteMessageBatch": "settle",
}
"""The operations that have spans, and their types in the conventions."""


def begin_span(
    spans: "MessageSpans", operation: str, call: Call, asked: Any
) -> "MessageSpan | None":
    """The span of a request, if it is sampled.

    Messages without a trace header of their own get the context of the span. A header that the
    client gave stays, and the span links to it.
    """
    kind = SPAN_KINDS.get(operation)
    if kind is None or call.request is None:
        return None
    given, creates = _headers(asked, call) if kind == "send" else ([], False)
    span = spans.begin(kind, operation, call.request.headers, creates=creates)
    if span is None:
        return None
    if creates:
        call.xray_header = span.xray_header
    for header in given:
        span.link(header)
    call.trail = span if call.trail is None else span.beside(call.trail)
    return span


def end_span(span: "MessageSpan", call: Call, request_id: str, code: str | None) -> None:
    """End the span; `code` is that of the error, if the request failed."""
    queue = call.found or call.asked
    url = None if queue is None else call.url(queue)
    span.end(queue, url, request_id, code)


def _headers(asked: Any, call: Call) -> tuple[list[str], bool]:
    """The trace headers that the messages bring, and whether some bring none."""
    messages = getattr(asked, "entries", None)
    given, creates = [], False
    for message in (asked,) if messages is None else messages:
        attribute = (message.message_system_attributes or {}).get(XRAY_HEADER)
        if attribute is not None and isinstance(attribute.string_value, str):
            given.append(attribute.string_value)
        elif call.xray_header is None:
            creates = True
    return given, creates
