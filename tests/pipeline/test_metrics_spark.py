"""Spark against DuckDB and the definitions, on traces with many cases."""

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from dovemq import pipeline
from dovemq.pipeline.calibration.duck import observed_by_duckdb
from dovemq.pipeline.calibration.spark import observed_by_spark
from dovemq.pipeline.errors import TraceDamaged, TracesMissing
from dovemq.pipeline.metrics.duck import metrics_duckdb
from dovemq.pipeline.metrics.spark import Output, metrics_spark
from tests.pipeline import traces
from tests.pipeline.agreement import assert_by_definition, assert_same

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WINDOW_US = 1_000_000
PARTS = 5


def written(rows: list[traces.Row], folder: Path) -> str:
    """Writes several files, so that rows of a message and of a request are apart."""
    for part in range(PARTS):
        traces.write(rows[part::PARTS], folder / f"{part}.parquet")
    return str(folder)


def test_spark_agrees_with_the_definitions_and_duckdb(
    spark: "SparkSession", tmp_path: Path
) -> None:
    rows = traces.made(20, queues=8, messages=80)
    folder = written(rows, tmp_path)
    found = metrics_spark(spark, [folder], WINDOW_US)
    assert found.sound
    assert found.engine == "spark"
    assert_by_definition(found, rows, WINDOW_US)
    assert_same(found, metrics_duckdb([folder], WINDOW_US))


def test_spark_puts_the_same_rows_and_files_aside_and_writes_the_same_tables(
    spark: "SparkSession", tmp_path: Path
) -> None:
    rows = traces.made(21, queues=2)
    folder = tmp_path / "trace"
    written([*rows, *traces.bad(rows).values()], folder)
    (folder / "noise.parquet").write_bytes(b"not a table")
    traces.rewrite(folder / "0.parquet", folder / "wrong.parquet", to_text="ts_us")
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    found = metrics_spark(spark, [folder.as_uri()], WINDOW_US, Output(ours.as_uri()))
    assert_by_definition(found, rows, WINDOW_US)
    assert_same(found, metrics_duckdb([str(folder)], WINDOW_US, str(theirs)))
    for name in ("metrics_by_queue", "metrics_by_window", "overall", "quarantine"):
        mine, other = pq.read_table(ours / name), pq.read_table(theirs / name)
        assert set(mine.column_names) == set(other.column_names)
        assert mine.num_rows == other.num_rows
    keys = [(name, "ascending") for name in ("file", "reason", "ts_us")]
    mine, other = (pq.read_table(place / "quarantine") for place in (ours, theirs))
    assert mine.sort_by(keys).to_pylist() == other.sort_by(keys).to_pylist()


def test_the_examples_of_the_paper_come_out_of_spark(spark: "SparkSession", tmp_path: Path) -> None:
    near, far = (
        traces.received("a/near", [2, 1, 3, 4, 5]),
        traces.received("a/far", [2, 3, 4, 5, 1]),
    )
    path = traces.write([*near, *far], tmp_path / "a.parquet")
    found = metrics_spark(spark, [str(path)], WINDOW_US).by_queue
    names = ["queue", "out_of_order_rate", "average_displacement"]
    assert found.select(names).to_pylist() == [
        dict(zip(names, ("a/far", 0.2, 1.6), strict=True)),
        dict(zip(names, ("a/near", 0.2, 0.4), strict=True)),
    ]


@pytest.mark.timeout(1_500)
@pytest.mark.parametrize("storage", ["s3", "hdfs"])
def test_figures_and_observations_are_the_same_on_other_storages(
    spark: "SparkSession", storage: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    place = request.getfixturevalue(storage)
    rows = traces.made(22, queues=3)
    local, uri = written(rows, tmp_path), place.spark_uri("metrics/trace")
    pipeline.read_events(spark, local).write.parquet(uri)
    found = metrics_spark(spark, [uri], WINDOW_US, Output(place.spark_uri("metrics/out")))
    assert_by_definition(found, rows, WINDOW_US)
    assert_same(found, metrics_duckdb([local], WINDOW_US))
    kept = spark.read.parquet(place.spark_uri("metrics/out/metrics_by_window"))
    assert kept.count() == found.by_window.num_rows
    assert observed_by_spark(spark, [uri]).tables == observed_by_duckdb([local]).tables


def test_spark_names_a_file_with_a_damaged_page(spark: "SparkSession", tmp_path: Path) -> None:
    rows = traces.made(9)
    traces.write(rows, tmp_path / "a.parquet")
    traces.damage(traces.write(rows, tmp_path / "b.parquet"))
    named = r"b\.parquet is damaged"
    with pytest.raises(TraceDamaged, match=named):
        metrics_spark(spark, [str(tmp_path)], WINDOW_US)
    with pytest.raises(TraceDamaged, match=named):
        observed_by_spark(spark, [str(tmp_path)])


def test_spark_reports_a_place_without_a_trace(spark: "SparkSession", tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(TracesMissing, match=r"dovemq serve --trace"):
            metrics_spark(spark, [str(place)], WINDOW_US)
