"""Metrics: counting, the Prometheus format, and bounded labels."""

import random

import pytest
from prometheus_client.parser import text_string_to_metric_families

from dovemq.core.queue import Queue, QueueKey, QueueSettings
from dovemq.telemetry.counters import UNNAMED, BucketHistogram, RequestMeter
from dovemq.telemetry.labels import COUNTERS, QueueLabels
from dovemq.telemetry.meter import Meter, QueueTally
from dovemq.telemetry.metrics import METRICS, Distribution, MetricSample, exposition


def queue_of(number: int) -> Queue:
    return Queue(number, QueueKey("0", f"q{number}"), QueueSettings(), 0, 0)


def test_histogram_counts_a_value_at_the_first_bound_that_is_not_below_it() -> None:
    histogram = BucketHistogram((1, 10))
    for value in (0, 1, 2, 10, 11):
        histogram.add(value)
    assert histogram.counts == [2, 2, 1]
    assert histogram.total == 24


def test_meter_counts_hits_misses_and_messages_of_each_queue() -> None:
    meter = Meter()
    meter.looked(queue_of(1), 3)
    meter.looked(queue_of(1), 0)
    meter.answered_empty(queue_of(2))
    meter.expired(queue_of(2), 0, [1, 2])
    one, two = meter.queues[1], meter.queues[2]
    assert (one.received, one.hits, one.misses) == (3, 1, 1)
    assert (two.empty_receives, two.expired, two.hits) == (1, 2, 0)


def test_removed_queue_is_counted_no_more() -> None:
    meter = Meter()
    for number in range(1_000):
        meter.looked(queue_of(number), 1)
        meter.removed(queue_of(number))
    assert meter.queues == {}


def test_request_is_counted_by_operation_and_outcome() -> None:
    meter = RequestMeter(["SendMessage"])
    for status in (200, 200, 400, 403, 503):
        meter.operations["SendMessage"].count(status, 1_000_000)
    meter.operations[UNNAMED].count(403, 10)
    tally = meter.operations["SendMessage"]
    assert (tally.answered, tally.refused, tally.failed) == (2, 2, 1)
    assert tally.total == 5_000_000
    assert meter.operations[UNNAMED].refused == 1


def test_text_is_what_prometheus_reads() -> None:
    text = exposition(
        [
            MetricSample("dovemq_queues", 2),
            MetricSample("dovemq_messages_sent_total", 5, ("0", 'odd "name"\n')),
            MetricSample("dovemq_commit_seconds", Distribution((0.001, 0.01), [1, 2, 3], 0.5)),
        ]
    ).decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    [sent] = families["dovemq_messages_sent"].samples
    assert (sent.labels, sent.value) == ({"account": "0", "queue": 'odd "name"\n'}, 5)
    buckets = {
        sample.labels["le"]: sample.value
        for sample in families["dovemq_commit_seconds"].samples
        if sample.name.endswith("_bucket")
    }
    assert buckets == {"0.001": 1, "0.01": 3, "+Inf": 6}
    assert "process_cpu_seconds" in families


def test_sample_that_no_description_knows_is_refused() -> None:
    with pytest.raises(KeyError, match="dovemq_surprises"):
        exposition([MetricSample("dovemq_surprises", 1)])


def test_names_end_as_prometheus_expects() -> None:
    for metric in METRICS:
        assert metric.name.startswith("dovemq_")
        assert metric.name.endswith("_total") == (metric.kind == "counter")
        assert metric.help.endswith(".")
    assert len({metric.name for metric in METRICS}) == len(METRICS)


def test_busiest_queues_have_labels_of_their_own() -> None:
    tallies = {number: QueueTally(QueueKey("0", f"q{number}"), sent=number) for number in range(9)}
    assert QueueLabels(3).chosen(tallies) == {6, 7, 8}
    assert QueueLabels(0).chosen(tallies) == set()
    assert QueueLabels(9).chosen(tallies) == set(tallies)


def test_counters_never_go_back_while_queues_change_places() -> None:
    rng = random.Random(5)
    labels = QueueLabels(2)
    tallies = {number: QueueTally(QueueKey("0", f"q{number}")) for number in range(6)}
    own_before: dict[int, list[int]] = {}
    other_before = [0] * len(COUNTERS)
    told = 0
    for _ in range(200):
        tallies[rng.randrange(6)].sent += rng.randrange(100)
        chosen = labels.chosen(tallies)
        own, other = labels.share_out(tallies, chosen)
        assert set(own) == chosen
        assert all(now >= before for now, before in zip(other, other_before, strict=True))
        told += sum(counts[0] - own_before.get(number, [0])[0] for number, counts in own.items())
        told += other[0] - other_before[0]
        assert all(counts[0] >= own_before.get(number, [0])[0] for number, counts in own.items())
        own_before, other_before = dict(own), list(other)
    assert told == sum(tally.sent for tally in tallies.values())
