"""Spans of OpenTelemetry for requests that send, receive and settle messages.

Names and attributes follow the semantic conventions for messaging. A span has the ids of messages,
and no body. Needs the extra `otel`.

The parent of a span comes from the request: `traceparent` of W3C, or `X-Amzn-Trace-Id`. The context
of a message is its system attribute `AWSTraceHeader`, in the format of X-Ray.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.propagators.aws import AwsXRayPropagator
from opentelemetry.propagators.aws.aws_xray_propagator import TRACE_HEADER_KEY
from opentelemetry.trace import Span, SpanContext, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from dovemq.core.commands import Duplicate, Lease, Receipt, Sent
from dovemq.core.observing import Trail
from dovemq.core.queue import Queue, QueueKey

SYSTEM: Final = "aws_sqs"
"""The value for systems that speak SQS's protocol, which spans of clients have too."""
LINKS_MAX: Final = 10
"""Messages of one request that a span links to; no request has more."""
_TRACEPARENT: Final = "traceparent"
_XRAY: Final = "x-amzn-trace-id"


class MessageSpans:
    """Begins spans. `now_ns` is the time since 1970 in nanoseconds, and never goes back."""

    def __init__(self, tracer: Tracer, now_ns: Callable[[], int]) -> None:
        self._tracer = tracer
        self._now_ns = now_ns
        self._w3c = TraceContextTextMapPropagator()
        self._xray = AwsXRayPropagator()

    def begin(
        self, kind: str, operation: str, headers: Mapping[str, str], *, creates: bool
    ) -> "MessageSpan | None":
        """A span of the kind send, receive or settle, or None if it is not sampled.

        It `creates` messages if they get its context.
        """
        span = self._tracer.start_span(
            operation,
            self._parent(headers),
            SpanKind.PRODUCER if creates else SpanKind.SERVER,
            start_time=self._now_ns(),
        )
        return MessageSpan(self, span, kind, operation) if span.is_recording() else None

    def end(self, span: Span) -> None:
        span.end(self._now_ns())

    def context_of(self, xray_header: str) -> SpanContext | None:
        """The context that the header of a message names; None if it names none."""
        found = self._xray.extract({TRACE_HEADER_KEY: xray_header}, Context())
        context = trace.get_current_span(found).get_span_context()
        return context if context.is_valid else None

    def header_of(self, span: Span) -> str:
        carrier: dict[str, str] = {}
        self._xray.inject(carrier, trace.set_span_in_context(span, Context()))
        return carrier[TRACE_HEADER_KEY]

    def _parent(self, headers: Mapping[str, str]) -> Context:
        if _TRACEPARENT in headers:
            return self._w3c.extract(headers, Context())
        if _XRAY in headers:
            return self._xray.extract({TRACE_HEADER_KEY: headers[_XRAY]}, Context())
        return Context()


class MessageSpan(Trail):
    """The span of one request, which hears as its trail what happens to the messages.

    A receive that finds no message is not exported: idle consumers would fill the collector.
    """

    __slots__ = ("_count", "_ids", "_links", "_owner", "_span", "kind", "operation")

    def __init__(self, owner: MessageSpans, span: Span, kind: str, operation: str) -> None:
        self._owner = owner
        self._span = span
        self.kind = kind
        self.operation = operation
        self._count = 0
        self._ids: list[str] = []
        self._links: list[str] = []

    @property
    def xray_header(self) -> str:
        """The context of the span as messages carry it."""
        return self._owner.header_of(self._span)

    def link(self, xray_header: str) -> None:
        if len(self._links) < LINKS_MAX:
            self._links.append(xray_header)

    def beside(self, other: Trail) -> Trail:
        """A trail that tells the other one and this span."""
        return BothTrails(other, self)

    def sent(self, answers: Sequence[Sent | Duplicate]) -> None:
        self._count += len(answers)
        self._ids += [each.message_id for each in answers]

    def leased(self, queue: Queue, leases: Sequence[Lease]) -> None:
        self._count += len(leases)
        self._ids += [each.message.message_id for each in leases]
        for each in leases:
            if each.message.xray_header is not None:
                self.link(each.message.xray_header)

    def missed(self, queue: Queue) -> None:
        pass

    def settled(self, receipts: Sequence[Receipt]) -> None:
        self._count += len(receipts)

    def written(self) -> None:
        pass

    def end(
        self, queue: QueueKey | None, url: str | None, request_id: str, error: str | None
    ) -> None:
        """End the span, with the name of the error if the request was refused or failed."""
        if error is None and self.kind == "receive" and not self._count:
            return
        span = self._span
        span.set_attributes(
            {
                "messaging.system": SYSTEM,
                "messaging.operation.name": self.operation,
                "messaging.operation.type": self.kind,
                "aws.request_id": request_id,
            }
        )
        if queue is not None:
            span.update_name(f"{self.operation} {queue.name}")
            span.set_attribute("messaging.destination.name", queue.name)
            span.set_attribute("dovemq.account", queue.account)
        if url is not None:
            span.set_attribute("aws.sqs.queue.url", url)
        self._describe_messages()
        if error is not None:
            span.set_attribute("error.type", error)
            span.set_status(Status(StatusCode.ERROR))
        self._owner.end(span)

    def _describe_messages(self) -> None:
        span = self._span
        if self.kind == "receive" or self.operation.endswith("Batch"):
            span.set_attribute("messaging.batch.message_count", self._count)
        if len(self._ids) == 1:
            span.set_attribute("messaging.message.id", self._ids[0])
        for header in self._links:
            if (context := self._owner.context_of(header)) is not None:
                span.add_link(context)


class BothTrails(Trail):
    """Tells two trails the same."""

    __slots__ = ("_first", "_second")

    def __init__(self, first: Trail, second: Trail) -> None:
        self._first = first
        self._second = second

    def sent(self, answers: Sequence[Sent | Duplicate]) -> None:
        self._first.sent(answers)
        self._second.sent(answers)

    def leased(self, queue: Queue, leases: Sequence[Lease]) -> None:
        self._first.leased(queue, leases)
        self._second.leased(queue, leases)

    def missed(self, queue: Queue) -> None:
        self._first.missed(queue)
        self._second.missed(queue)

    def settled(self, receipts: Sequence[Receipt]) -> None:
        self._first.settled(receipts)
        self._second.settled(receipts)

    def written(self) -> None:
        self._first.written()
        self._second.written()
