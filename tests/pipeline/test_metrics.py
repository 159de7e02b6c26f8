"""The figures of DuckDB against their definitions, without Spark, on many traces."""

import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dovemq.models.consistency import measure
from dovemq.pipeline.errors import PlaceRemote, TracesMissing
from dovemq.pipeline.metrics.duck import metrics_duckdb
from tests.pipeline import traces
from tests.pipeline.agreement import assert_by_definition
from tests.pipeline.traces import START_US, Maker

WINDOW_US = 1_000_000
SEEDS = int(os.environ.get("DOVETEST_METRICS", "4"))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_duckdb_agrees_with_the_definitions(tmp_path: Path, seed: int) -> None:
    rows = traces.made(seed)
    half = len(rows) // 2
    traces.write(rows[:half], tmp_path / "a.parquet")
    traces.write(rows[half:], tmp_path / "deeper" / "b.parquet")
    found = metrics_duckdb([str(tmp_path)], WINDOW_US)
    assert found.sound
    assert found.rows == len(rows)
    assert_by_definition(found, rows, WINDOW_US)


@pytest.mark.parametrize(
    ("numbers", "rate", "displacement"),
    [([2, 1, 3, 4, 5], 0.2, 0.4), ([2, 3, 4, 5, 1], 0.2, 1.6), ([1, 2, 3, 4, 5], 0.0, 0.0)],
)
def test_the_examples_of_the_paper_come_out(
    tmp_path: Path, numbers: list[int], rate: float, displacement: float
) -> None:
    path = traces.write(traces.received("a/paper", numbers), tmp_path / "a.parquet")
    (row,) = metrics_duckdb([str(path)], WINDOW_US).overall.to_pylist()
    assert (row["out_of_order_rate"], row["average_displacement"]) == (rate, displacement)


def test_the_rates_are_those_of_the_kernels(tmp_path: Path) -> None:
    numbers = [3, 1, 1, 2, 7, 5, 6, 3, 9]
    path = traces.write(traces.received("a/q", numbers, sent=10), tmp_path / "a.parquet")
    (row,) = metrics_duckdb([str(path)], WINDOW_US).overall.to_pylist()
    stream = [0] * 10
    kernels = measure((stream, list(range(1, 11))), (stream[: len(numbers)], numbers))
    assert {name: row[name] for name in kernels.rates} == kernels.rates


def test_littles_law_holds_if_every_message_has_left(tmp_path: Path) -> None:
    maker = Maker(3)
    for number in range(50):
        at_us = START_US + 1_000 * number
        known = {"message_id": str(number), "send_seq": number + 1}
        maker.event("sent", "a/q", at_us, **known, sender="s")
        maker.event("settled", "a/q", at_us + 70 * number, **known)
    found = metrics_duckdb([str(traces.write(maker.rows, tmp_path / "a.parquet"))], WINDOW_US)
    (row,) = found.overall.to_pylist()
    assert row["little_ratio"] == pytest.approx(1, abs=1e-12)
    assert row["number_last"] == 0


def test_settles_that_the_trace_has_lost_show_in_littles_law(tmp_path: Path) -> None:
    maker = Maker(3)
    for number in range(50):
        at_us = START_US + 1_000 * number
        known = {"message_id": str(number), "send_seq": number + 1}
        maker.event("sent", "a/q", at_us, **known, sender="s")
        if number % 2:
            maker.event("settled", "a/q", at_us + 500, **known)
    found = metrics_duckdb([str(traces.write(maker.rows, tmp_path / "a.parquet"))], WINDOW_US)
    (row,) = found.overall.to_pylist()
    assert row["little_ratio"] > 5
    assert row["number_last"] == 25


def test_every_bad_row_is_put_aside_with_its_reason(tmp_path: Path) -> None:
    rows = traces.made(5)
    bad = traces.bad(rows)
    path = traces.write([*rows, *bad.values()], tmp_path / "a.parquet")
    found = metrics_duckdb([str(path)], WINDOW_US, str(tmp_path / "out"))
    assert found.reasons == dict.fromkeys(bad, 1)
    kept = pq.read_table(tmp_path / "out" / "quarantine")
    assert sorted(kept["reason"].to_pylist()) == sorted(bad)
    assert set(kept["file"].to_pylist()) == {path.as_uri()}
    assert not found.sound
    assert_by_definition(found, rows, WINDOW_US)


def test_a_file_that_is_no_trace_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    rows = traces.made(6)
    good = traces.write(rows, tmp_path / "good.parquet")
    noise, wrong = (tmp_path / f"{name}.parquet" for name in ("noise", "wrong"))
    noise.write_bytes(b"not a table")
    traces.rewrite(good, wrong, to_text="ts_us")
    found = metrics_duckdb([str(tmp_path)], WINDOW_US, str(tmp_path / "out"))
    assert_by_definition(found, rows, WINDOW_US)
    named = {each.file: each.reason for each in found.refused}
    assert named == {
        noise.as_uri(): "it is not a readable Parquet file",
        wrong.as_uri(): "its column ts_us has another type than in a trace",
    }
    kept = pq.read_table(tmp_path / "out" / "quarantine").to_pylist()
    assert {row["file"]: row["reason"] for row in kept} == named


def test_a_file_without_a_column_has_nulls_there(tmp_path: Path) -> None:
    rows = traces.made(6)
    good = traces.write(rows, tmp_path / "good.parquet")
    traces.rewrite(good, tmp_path / "short.parquet", drop="queue")
    found = metrics_duckdb([str(tmp_path)], WINDOW_US)
    assert_by_definition(found, rows, WINDOW_US)
    assert found.reasons == {"queue is null": len(rows)}


def test_tables_are_written_whole(tmp_path: Path) -> None:
    path = traces.write(traces.made(8), tmp_path / "a.parquet")
    found = metrics_duckdb([path.as_uri()], WINDOW_US, (tmp_path / "out").as_uri())
    names = ("metrics_by_queue", "metrics_by_window", "overall")
    for name, table in zip(names, (found.by_queue, found.by_window, found.overall), strict=True):
        written = pq.read_table(tmp_path / "out" / name).select(table.column_names)
        keys = [(key, "ascending") for key in table.column_names[:2]]
        assert written.sort_by(keys).to_pylist() == table.sort_by(keys).to_pylist()


def test_a_trace_without_any_good_row_has_empty_tables(tmp_path: Path) -> None:
    (tmp_path / "noise.parquet").write_bytes(b"")
    found = metrics_duckdb([str(tmp_path)], WINDOW_US)
    assert [found.by_queue.num_rows, found.by_window.num_rows, found.overall.num_rows] == [0, 0, 0]


def test_directory_without_traces_is_reported(tmp_path: Path) -> None:
    with pytest.raises(TracesMissing, match=r"dovemq serve --trace"):
        metrics_duckdb([str(tmp_path)], WINDOW_US)


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    rows = traces.made(7, queues=1)
    path = traces.write(rows, tmp_path / "a.parquet")
    assert metrics_duckdb([str(path), str(tmp_path), str(path)], WINDOW_US).rows == len(rows)


def test_a_place_of_another_machine_is_for_spark(tmp_path: Path) -> None:
    with pytest.raises(PlaceRemote, match=r"s3a://bucket/trace .* --engine spark"):
        metrics_duckdb(["s3a://bucket/trace"], WINDOW_US)
