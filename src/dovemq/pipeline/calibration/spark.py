"""Observes a trace with Spark, on this machine or on a cluster."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dovemq.pipeline.calibration import transforms
from dovemq.pipeline.calibration.observed import Observed
from dovemq.pipeline.events import quarantine, valid_events, with_events

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from dovemq.pipeline.traces import Refusal


@contextlib.contextmanager
def observations(events: "DataFrame") -> "Iterator[dict[str, DataFrame]]":
    """Yields the tables of times, outcomes, clients and front ends, by name.

    Their size depends on queues, clients and bins of time, not on the number of rows. Shared
    DataFrames are persisted until the end.
    """
    valid = valid_events(events)
    steps = transforms.steps(valid).persist()
    visits = transforms.visits(valid).persist()
    requests = transforms.requests(valid).persist()
    try:
        yield {
            "times": transforms.times(valid, steps, visits, requests),
            "outcomes": transforms.outcomes(steps),
            "presences": transforms.presences(visits),
            "front_ends": transforms.front_ends(requests),
        }
    finally:
        for frame in (steps, visits, requests):
            frame.unpersist()


def observed_by_spark(session: "SparkSession", places: Sequence[str]) -> Observed:
    def work(events: "DataFrame", rows: int, refused: "tuple[Refusal, ...]") -> Observed:
        with observations(events) as tables:
            return Observed.of(
                lambda name: tables[name].toArrow(),
                rows=rows,
                quarantined=quarantine(events).count(),
                refused=refused,
                engine="spark",
            )

    return with_events(session, places, work)
