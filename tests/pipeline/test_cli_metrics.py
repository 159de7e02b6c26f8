"""The command `dovemq pipeline metrics`, with DuckDB."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dovemq.cli.program import main
from dovemq.pipeline import engines
from tests.pipeline import traces

ROWS = traces.made(9, queues=2)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return traces.write(ROWS, tmp_path / "trace" / "a.parquet").parent


def test_a_table_is_printed_with_every_queue(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pipeline", "metrics", str(trace), "--window", "1s"]) == 0
    told = capsys.readouterr().out
    assert f"{len(ROWS)} rows by duckdb" in told
    heads = next(line for line in told.splitlines() if line.startswith("FIGURE"))
    assert heads.split() == ["FIGURE", "account/q0", "account/q1", "overall"]
    assert "out_of_order_rate" in told


def test_the_document_has_all_levels(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "metrics", str(trace), "--window", "1s", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == len(ROWS)
    assert [row["queue"] for row in found["queues"]] == ["account/q0", "account/q1"]
    assert sum(row["sent"] for row in found["windows"]) == found["overall"][0]["sent"]


def test_tables_and_pictures_are_written(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    asked = ["pipeline", "metrics", str(trace), "--window", "1s", "--out", str(out), "--plot"]
    assert main([*asked, "--json"]) == 0
    names = {path.name for path in out.iterdir()}
    assert {"metrics_by_queue", "metrics_by_window", "overall", "quarantine"} <= names
    assert {"1-account_q0.png", "2-account_q1.png"} <= names
    assert pq.read_table(out / "metrics_by_queue").num_rows == 2


def test_invalid_rows_are_reported_and_fail_a_strict_run(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = traces.bad(ROWS)
    traces.write(list(bad.values()), trace / "bad.parquet")
    (trace / "noise.parquet").write_bytes(b"no table")
    assert main(["pipeline", "metrics", str(trace)]) == 0
    told = capsys.readouterr().out
    assert f"{len(bad)} invalid rows and 1 files were left out" in told
    assert all(reason in told for reason in bad)
    assert str(trace / "noise.parquet") in told
    assert main(["pipeline", "metrics", str(trace), "--strict"]) == 1


def test_a_plot_without_a_place_is_wrong_use(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pipeline", "metrics", str(trace), "--plot"]) == 2
    assert "--out" in capsys.readouterr().err


def test_a_place_without_a_trace_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "metrics", str(tmp_path)]) == 1
    assert "no trace" in capsys.readouterr().err


def test_files_without_a_valid_row_fail_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "noise.parquet").write_bytes(b"no table")
    assert main(["pipeline", "metrics", str(tmp_path)]) == 1
    assert "no valid row of a trace" in capsys.readouterr().err


def test_tables_below_a_file_are_refused_before_the_work(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit):
        main(["pipeline", "metrics", str(trace), "--out", str(tmp_path / "file" / "tables")])
    assert "is not a directory" in capsys.readouterr().err


def test_spark_is_taken_for_long_traces(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "check_java", lambda: None)
    monkeypatch.setattr(engines, "DUCKDB_ROWS_MAX", len(ROWS))
    assert engines.engine_for("auto", [str(trace)]) == "duckdb"
    monkeypatch.setattr(engines, "DUCKDB_ROWS_MAX", len(ROWS) - 1)
    assert engines.engine_for("auto", [str(trace)]) == "spark"


def test_duckdb_is_taken_where_java_is_missing(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setattr(engines, "DUCKDB_ROWS_MAX", 1)
    assert engines.engine_for("auto", [str(trace)]) == "duckdb"


def test_spark_is_taken_for_other_storages(trace: Path) -> None:
    assert engines.engine_for("auto", ["hdfs://host/trace"]) == "spark"
    assert engines.engine_for("auto", [str(trace)], "s3a://bucket/out") == "spark"
    assert engines.engine_for("auto", [trace.as_uri()], str(trace)) == "duckdb"


@pytest.mark.parametrize("job", ["metrics", "calibrate"])
def test_a_file_with_a_damaged_page_is_named(
    job: str, trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = traces.write(ROWS, trace / "b.parquet")
    traces.damage(damaged)
    assert main(["pipeline", job, str(trace)]) == 1
    told = capsys.readouterr().err
    assert f"{damaged.as_uri()} is damaged: " in told
    assert "Traceback" not in told
