"""A trace observed by Spark, here or on a cluster."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dovemq.pipeline.calibration import transforms
from dovemq.pipeline.calibration.events import EVENTS
from dovemq.pipeline.calibration.observed import Observed
from dovemq.pipeline.metrics.damage import damage_named
from dovemq.pipeline.metrics.rules import REASON
from dovemq.pipeline.metrics.sources import readable_traces

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_JUDGED: Final = "reason"


def observed_by_spark(session: "SparkSession", places: Sequence[Path]) -> Observed:
    traces = readable_traces(places)
    judged = session.read.parquet(*traces.paths).selectExpr("*", f"{REASON} AS {_JUDGED}")
    events = judged.where(f"{_JUDGED} IS NULL").selectExpr(*EVENTS)
    steps = transforms.steps(events).persist()
    visits = transforms.visits(events).persist()
    requests = transforms.requests(events).persist()
    tables: dict[str, DataFrame] = {
        "times": transforms.times(events, steps, visits, requests),
        "outcomes": transforms.outcomes(steps),
        "presences": transforms.presences(visits),
        "front_ends": transforms.front_ends(requests),
    }
    try:
        with damage_named(traces):
            return Observed.of(
                lambda name: tables[name].toArrow(),
                rows=traces.rows,
                quarantined=judged.where(f"{_JUDGED} IS NOT NULL").count(),
                refused=traces.refused,
                engine="spark",
            )
    finally:
        for frame in (steps, visits, requests):
            frame.unpersist()
