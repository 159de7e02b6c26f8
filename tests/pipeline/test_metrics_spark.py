"""Spark against DuckDB and against the definitions, on one trace that holds many cases."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dovemq.pipeline.calibration.spark import observed_by_spark
from dovemq.pipeline.errors import TraceDamaged
from dovemq.pipeline.metrics.duck import metrics_duckdb
from dovemq.pipeline.metrics.spark import metrics_spark
from tests.pipeline import traces
from tests.pipeline.agreement import assert_by_definition, assert_same

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WINDOW_US = 1_000_000
PARTS = 5


def written(rows: list[traces.Row], folder: Path) -> Path:
    """In several files, so that tasks find parts of the same message and request."""
    for part in range(PARTS):
        traces.write(rows[part::PARTS], folder / f"{part}.parquet")
    return folder


def test_spark_gives_what_the_definitions_and_duckdb_give(
    spark: "SparkSession", tmp_path: Path
) -> None:
    rows = traces.made(20, queues=8, messages=80)
    folder = written(rows, tmp_path)
    found = metrics_spark(spark, [folder], WINDOW_US, bucket_rows=300)
    assert found.sound
    assert found.engine == "spark"
    assert_by_definition(found, rows, WINDOW_US)
    assert_same(found, metrics_duckdb([folder], WINDOW_US))


def test_spark_puts_the_same_rows_and_files_aside(spark: "SparkSession", tmp_path: Path) -> None:
    rows = traces.made(21, queues=2)
    bad = traces.bad(rows)
    folder = written([*rows, *bad.values()], tmp_path)
    (folder / "noise.parquet").write_bytes(b"not a table")
    found = metrics_spark(spark, [folder], WINDOW_US)
    assert_by_definition(found, rows, WINDOW_US)
    other = metrics_duckdb([folder], WINDOW_US)
    assert_same(found, other)
    keys = [("file", "ascending"), ("reason", "ascending")]
    assert found.quarantine.sort_by(keys) == other.quarantine.sort_by(keys)


def test_the_examples_of_the_paper_come_out_of_spark(spark: "SparkSession", tmp_path: Path) -> None:
    near, far = (
        traces.received("a/near", [2, 1, 3, 4, 5]),
        traces.received("a/far", [2, 3, 4, 5, 1]),
    )
    path = traces.write([*near, *far], tmp_path / "a.parquet")
    found = metrics_spark(spark, [path], WINDOW_US).by_queue
    names = ["queue", "out_of_order_rate", "average_displacement"]
    assert found.select(names).to_pylist() == [
        dict(zip(names, ("a/far", 0.2, 1.6), strict=True)),
        dict(zip(names, ("a/near", 0.2, 0.4), strict=True)),
    ]


def test_spark_names_a_file_with_a_damaged_page(spark: "SparkSession", tmp_path: Path) -> None:
    rows = traces.made(9)
    traces.write(rows, tmp_path / "a.parquet")
    traces.damage(traces.write(rows, tmp_path / "b.parquet"))
    named = r"b\.parquet is damaged"
    with pytest.raises(TraceDamaged, match=named):
        metrics_spark(spark, [tmp_path], WINDOW_US)
    with pytest.raises(TraceDamaged, match=named):
        observed_by_spark(spark, [tmp_path])
