"""Metrics for Prometheus: the table of all metrics, and their text.

Metrics are not objects that are updated: their values are collected as samples when Prometheus
asks. `docs/reference/metrics.md` is generated from the table.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

from msgspec import Struct
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4
OTHER: Final = "(other)"
"""The label of all queues that have no label of their own."""


class Description(Struct, frozen=True):
    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()


class Distribution(Struct, frozen=True):
    """The value of a histogram: the counts up to each bound, and above all bounds."""

    bounds: Sequence[float]
    counts: Sequence[int]
    total: float


class MetricSample(Struct, frozen=True):
    """One value of a metric; `labels` are in the order of its description."""

    name: str
    value: float | Distribution
    labels: tuple[str, ...] = ()


_QUEUE: Final = ("account", "queue")


def _gauge(name: str, help_text: str, *labels: str) -> Description:
    return Description(name, "gauge", help_text, labels)


def _counter(name: str, help_text: str, *labels: str) -> Description:
    return Description(name, "counter", help_text, labels)


def _messages(what: str, help_text: str) -> Description:
    return _counter(f"dovemq_messages_{what}_total", help_text, *_QUEUE)


WORKFLOW_METRICS: Final = (
    _counter(
        "dovemq_workflow_jobs_total",
        "Jobs by what this front end stored: started, ended, failed, cancelled, or retried by hand "
        "after a failure.",
        "account",
        "type",
        "outcome",
    ),
    Description(
        "dovemq_workflow_job_seconds",
        "histogram",
        "Response time of jobs that ended: from their submission to the end of the last task.",
        ("account", "type"),
    ),
    _counter(
        "dovemq_workflow_tasks_total",
        "Tasks by what this front end stored: attempts that a worker started, tasks that ended or "
        "failed for good, and attempts after the first (retried).",
        "account",
        "topic",
        "outcome",
    ),
    Description(
        "dovemq_workflow_task_seconds",
        "histogram",
        "Service time of tasks that ended, as reported by their workers.",
        ("account", "topic"),
    ),
)
"""Metrics of jobs. The first 100 types and 200 topics have labels; others are counted together."""

CLUSTER_METRICS: Final = (
    _gauge("dovemq_front_ends", "Front ends that share the store."),
    _gauge("dovemq_leads", "1 if this front end runs move tasks for all of them."),
    _gauge("dovemq_partitions_owned", "Partitions that this front end owns."),
    _counter("dovemq_partitions_opened_total", "Partitions that this front end has opened."),
    _counter(
        "dovemq_partitions_handed_over_total",
        "Partitions that this front end has handed to another one.",
    ),
    _counter(
        "dovemq_partitions_lost_total",
        "Partitions that this front end lost because its lease ended.",
    ),
    _counter(
        "dovemq_index_events_total",
        "What this front end has seen of queues with Coordination=none or serial: receives, empty "
        "receives, claims; claims that were sampled and those that met another one (collided); "
        "compare-and-sets that were refused, or whose answer was lost (unknown); tuples of settled "
        "messages (stale); messages that no replica showed (unseen); insertions that were repeated "
        "(late); buckets that were dropped (closed).",
        "event",
    ),
)
"""Metrics of servers whose store can be shared."""

METRICS: Final = (
    _gauge("dovemq_queues", "Queues of all accounts."),
    _gauge("dovemq_queues_auto", "Queues that size themselves."),
    _counter(
        "dovemq_partition_actions_total",
        "Changes that this front end has made to partitions of queues that size themselves: add, "
        "mark, unmark or remove.",
        "action",
    ),
    _gauge(
        "dovemq_queue_messages",
        "Messages in a queue by state: visible, leased or delayed.",
        *_QUEUE,
        "state",
    ),
    _gauge(
        "dovemq_queue_oldest_claimable_age_seconds",
        "Time since the oldest visible message was sent; 0 if none is visible.",
        *_QUEUE,
    ),
    _gauge(
        "dovemq_queue_consistency",
        "A rate or displacement that a monitor reported to the admin API; see the pipeline.",
        *_QUEUE,
        "figure",
    ),
    _messages("sent", "Messages sent."),
    _messages("received", "Messages received, including those that are released again."),
    _messages("settled", "Messages deleted by their receipt."),
    _messages("extended", "Leases changed by their holder."),
    _messages(
        "expired", "Messages removed without being settled: past their retention, or purged."
    ),
    _messages("redriven", "Messages moved to another queue: exhausted, or by a move task."),
    _messages("exchanged", "Messages moved between the partitions of their queue."),
    _messages("released", "Leases undone because their response could not be delivered."),
    _counter(
        "dovemq_receive_hits_total",
        "Looks into a partition that found messages; a receive may look several times.",
        *_QUEUE,
    ),
    _counter("dovemq_receive_misses_total", "Looks into a partition that found none.", *_QUEUE),
    _counter("dovemq_receives_empty_total", "Receives that returned no message.", *_QUEUE),
    _counter(
        "dovemq_monitor_looks_total",
        "Looks at the number of messages in a partition, by the strategy pms.",
        *_QUEUE,
    ),
    _counter(
        "dovemq_requests_total",
        "SQS requests by outcome: ok, refused (4xx) or failed (5xx).",
        "operation",
        "outcome",
    ),
    Description(
        "dovemq_request_seconds",
        "histogram",
        "Time to answer SQS requests, including the waiting time of long polls.",
        ("operation",),
    ),
    _gauge("dovemq_connections", "Open connections of the SQS endpoint."),
    _gauge("dovemq_long_polls_parked", "Receives that wait for a message."),
    Description(
        "dovemq_commit_seconds",
        "histogram",
        "Time from the start of a commit until it is synced to disk.",
    ),
    Description("dovemq_commit_items", "histogram", "Changes that shared one commit."),
    _counter("dovemq_checkpoints_total", "Checkpoints of the store's log."),
    _counter("dovemq_cache_hits_total", "Bodies found in memory."),
    _counter("dovemq_cache_misses_total", "Bodies read from disk."),
    _gauge("dovemq_cache_bytes", "Memory that cached bodies take."),
    _counter("dovemq_messages_damaged_total", "Messages set aside as unreadable."),
    *WORKFLOW_METRICS,
    *CLUSTER_METRICS,
    _gauge(
        "dovemq_store_state", "1 for the state that the store is in: ok, full or failed.", "state"
    ),
    _counter(
        "dovemq_otel_spans_total",
        "Spans of OpenTelemetry: exported to the collector, failed because it refused them or did "
        "not answer, or dropped because too many waited.",
        "outcome",
    ),
    _counter(
        "dovemq_trace_rows_total",
        "Rows of the lifecycle trace: written to whole files, or dropped.",
        "outcome",
    ),
)


class _Once(Collector):
    def __init__(self, samples: Iterable[MetricSample]) -> None:
        self._samples = samples

    def collect(self) -> Iterator[Metric]:
        by_name: dict[str, list[MetricSample]] = {}
        for sample in self._samples:
            by_name.setdefault(sample.name, []).append(sample)
        for description in METRICS:
            if found := by_name.pop(description.name, None):
                yield _family(description, found)
        if by_name:
            raise KeyError(f"no metric is described as {', '.join(by_name)}")


def exposition(samples: Iterable[MetricSample]) -> bytes:
    """The samples and those of the process in Prometheus' format. Any thread may call it."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(_Once(samples))
    return generate_latest(registry)


def _family(description: Description, samples: Iterable[MetricSample]) -> Metric:
    name, text, labels = description.name, description.help, description.labels
    if description.kind == "histogram":
        histogram = HistogramMetricFamily(name, text, labels=labels)
        for sample in samples:
            if isinstance(sample.value, Distribution):
                buckets = list(_buckets(sample.value))
                histogram.add_metric(sample.labels, buckets, sample.value.total)
        return histogram
    counts = description.kind == "counter"
    family = (CounterMetricFamily if counts else GaugeMetricFamily)(name, text, labels=labels)
    for sample in samples:
        if not isinstance(sample.value, Distribution):
            family.add_metric(sample.labels, sample.value)
    return family


def _buckets(value: Distribution) -> Iterator[tuple[str, float]]:
    """Cumulative counts: Prometheus wants the number of all values up to each bound."""
    reached = 0
    for bound, count in zip((*value.bounds, float("inf")), value.counts, strict=True):
        reached += count
        yield "+Inf" if bound == float("inf") else f"{bound:g}", reached
