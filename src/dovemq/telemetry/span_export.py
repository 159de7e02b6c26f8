"""The way of spans to a collector: sampling, a bounded queue, OTLP over HTTP in a thread.

Needs the extra `otel`. The event loop never waits for the collector: spans that find no room are
dropped and counted.
"""

import asyncio
import importlib.metadata
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

from dovemq.telemetry.metrics import MetricSample
from dovemq.telemetry.spans import MessageSpans

SPANS_WAITING_MAX: Final = 4_096
BATCH_MAX: Final = 512
BATCH_EVERY_MS: Final = 2_000
EXPORT_SECONDS_MAX: Final = 3
"""Longest time for one batch, its repetitions included."""
TRACES_PATH: Final = "/v1/traces"
SERVICE_NAME: Final = "dovemq"


class CountedExport(SpanExporter):
    """Counts the spans that the collector took, and those that it refused or did not answer."""

    def __init__(self, inner: SpanExporter) -> None:
        self._inner = inner
        self.exported = 0
        self.failed = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = SpanExportResult.FAILURE
        try:
            result = self._inner.export(spans)
        finally:
            if result is SpanExportResult.SUCCESS:
                self.exported += len(spans)
            else:
                self.failed += len(spans)
        return result

    def shutdown(self) -> None:
        self._inner.shutdown()


class BoundedSpans(SpanProcessor):
    """Passes at most so many spans on as the queue behind it has room for."""

    def __init__(self, export: CountedExport, waiting_max: int) -> None:
        self._export = export
        self._waiting_max = waiting_max
        self._inner = BatchSpanProcessor(
            export,
            max_queue_size=waiting_max,
            schedule_delay_millis=BATCH_EVERY_MS,
            max_export_batch_size=min(BATCH_MAX, waiting_max),
        )
        self._passed = 0
        self.dropped = 0

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        pass

    def on_end(self, span: ReadableSpan) -> None:
        waiting = self._passed - self._export.exported - self._export.failed
        if waiting >= self._waiting_max:
            self.dropped += 1
            return
        self._passed += 1
        self._inner.on_end(span)

    def shutdown(self) -> None:
        self._inner.shutdown()  # type: ignore[no-untyped-call]

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._inner.force_flush(timeout_millis)


class SpanExport:
    """The running export of one process. `endpoint` is the URL for traces of a collector."""

    def __init__(
        self,
        endpoint: str,
        sampled_percent: int,
        now_ns: Callable[[], int],
        front_end: str,
        waiting_max: int = SPANS_WAITING_MAX,
    ) -> None:
        exporter = OTLPSpanExporter(
            endpoint=endpoint, timeout=EXPORT_SECONDS_MAX, compression=Compression.Gzip
        )
        self._export = CountedExport(exporter)
        self._bounded = BoundedSpans(self._export, waiting_max)
        release = importlib.metadata.version(SERVICE_NAME)
        resource = {
            "service.name": SERVICE_NAME,
            "service.version": release,
            "service.instance.id": front_end,
        }
        self._provider = TracerProvider(
            sampler=ParentBased(TraceIdRatioBased(sampled_percent / 100)),
            resource=Resource.create(resource),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(self._bounded)
        self.spans = MessageSpans(self._provider.get_tracer(SERVICE_NAME, release), now_ns)

    def samples(self) -> Iterator[MetricSample]:
        counts = {
            "exported": self._export.exported,
            "failed": self._export.failed,
            "dropped": self._bounded.dropped,
        }
        for outcome, count in counts.items():
            yield MetricSample("dovemq_otel_spans_total", count, (outcome,))

    async def close(self) -> None:
        """Export what waits, for as long as the collector answers."""
        await asyncio.to_thread(self._provider.shutdown)
