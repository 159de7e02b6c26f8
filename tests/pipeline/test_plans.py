"""Spark's plans for each transform: scans of files, and real columns."""

import contextlib
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dovemq import pipeline
from dovemq.pipeline.metrics.facts import facts
from dovemq.pipeline.metrics.figures import figures
from tests.pipeline import traces

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WINDOW_US = 1_000_000
Transform = Callable[["DataFrame"], "DataFrame"]


def _figures(events: "DataFrame") -> "DataFrame":
    messages = pipeline.messages(events)
    order = pipeline.order(messages, WINDOW_US)
    requests = pipeline.requests(events, WINDOW_US)
    return figures(facts(messages, requests, order, WINDOW_US), WINDOW_US)


def _observed(name: str) -> Transform:
    def observed(events: "DataFrame") -> "DataFrame":
        with pipeline.observations(events) as tables:
            return tables[name]

    return observed


STAGES: dict[str, tuple[Transform, list[str]]] = {
    "messages": (pipeline.messages, ["queue, message_id"]),
    "requests": (
        lambda events: pipeline.requests(events, WINDOW_US),
        ["queue, client, answered_us"],
    ),
    "order": (
        lambda events: pipeline.order(pipeline.messages(events), WINDOW_US),
        ["queue, message_id", "queue, sender, window, bucket", "queue, sender, slice"],
    ),
    "figures": (_figures, ["level, queue, window, measure"]),
    "outcomes": (_observed("outcomes"), ["queue, message_id"]),
    "front ends": (_observed("front_ends"), ["front_end, second"]),
}


def plan_of(frame: "DataFrame") -> str:
    """Returns the plan as `explain` prints it, without the numbers of columns."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        frame.explain("formatted")
    return re.sub(r"#\d+L?", "", printed.getvalue())


@pytest.mark.parametrize("stage", STAGES)
def test_each_stage_scans_files_and_exchanges_real_columns(
    spark: "SparkSession", tmp_path: Path, stage: str
) -> None:
    transform, exchanges = STAGES[stage]
    path = traces.write(traces.made(1, queues=1), tmp_path / "a.parquet")
    plan = plan_of(transform(pipeline.read_events(spark, str(path))))
    scans = re.findall(r"\(\d+\) Scan parquet.*?ReadSchema: [^\n]*", plan, re.S)
    assert scans
    for scan in scans:
        pushed = re.search(r"PushedFilters: \[(.*)\]", scan)
        assert pushed is not None
        for part in ("IsNotNull(event)", "IsNotNull(queue)", "GreaterThanOrEqual(ts_us,"):
            assert part in pushed[1]
        # Unused columns are not read.
        assert "job_id" not in scan
        assert "bytes:" not in scan
    partitioned = re.findall(r"hashpartitioning\(([^)]*), \d+\)", plan)
    for columns in exchanges:
        assert columns in partitioned
    assert "binary" not in plan
    assert "RDD" not in plan


def test_only_the_kernels_of_order_run_in_python(spark: "SparkSession", tmp_path: Path) -> None:
    path = traces.write(traces.made(1, queues=1), tmp_path / "a.parquet")
    events = pipeline.read_events(spark, str(path))
    for stage, (transform, _) in STAGES.items():
        python = re.findall(r"\((\d+)\) MapInArrow", plan_of(transform(events)))
        assert bool(python) == (stage in ("order", "figures")), stage
