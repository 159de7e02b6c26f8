"""`dovemq pipeline metrics`: consistency and performance of queues from lifecycle traces."""

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from dovemq.cli.command import FAILED, OK, Commands, WrongUse, add_command
from dovemq.cli.modelling import shown
from dovemq.cli.output import fields, print_pairs, print_result, print_table, time_text, working
from dovemq.cli.pipeline_options import (
    add_engine,
    add_spark,
    output_place,
    pipeline_job,
    spark_plan,
)
from dovemq.cli.values import duration_ms
from dovemq.pipeline.engines import engine_for
from dovemq.pipeline.places import local_path

if TYPE_CHECKING:
    from dovemq.pipeline.metrics.report import MetricsReport

_PARQUET: Final = "parquet"
_QUEUES_SHOWN_MAX: Final = 12
_WINDOWS_SHOWN_MAX: Final = 20
_WINDOW_COLUMNS: Final = (
    *("sent", "receives", "settled", "duplicates", "absent", "window_out_of_order_rate"),
    *("receive_p99_us", "waiting_p50_us", "number_mean"),
)


def add(commands: Commands) -> None:
    summary = (
        "measure loss, duplicates, order, times and throughput of queues from lifecycle traces"
    )
    example = "dovemq pipeline metrics ./trace --window 60s --out ./figures"
    parser = add_command(commands, "metrics", _run, summary, example)
    text = "directory or file of a trace, or a URI that Spark can read, such as s3a://bucket/trace"
    parser.add_argument("traces", nargs="+", metavar="TRACE", help=text)
    parser.option("--window", "TIME", "length of the windows", duration_ms, "60s")
    add_engine(parser)
    parser.option("--out", "PLACE", "directory or URI of the tables", output_place)
    text = (
        "format of the tables: parquet, or another format of the Spark session, such as delta "
        "or iceberg"
    )
    parser.option("--format", "NAME", text, default=_PARQUET)
    parser.switch("--plot", "draw the windows of each queue as PNG files; needs a local --out")
    parser.switch("--strict", "end with exit code 1 if a row or a file is invalid")
    add_spark(parser)


def _run(args: argparse.Namespace) -> int:
    if args.plot and (args.out is None or local_path(args.out) is None):
        raise WrongUse("--plot writes beside the tables; name a local directory by --out")
    if not args.window:
        raise WrongUse("--window must be at least 1s")
    with pipeline_job():
        found, files = working(lambda: "measuring", lambda: _work(args))
    print_result(args, _document(found, files), lambda: _print(found, files))
    if not found.rows:
        places = ", ".join(args.traces)
        print(f"dovemq: no valid row of a trace in {places}; nothing was measured", file=sys.stderr)
        return FAILED
    return FAILED if args.strict and not found.sound else OK


def _work(args: argparse.Namespace) -> "tuple[MetricsReport, list[str]]":
    found = _measured(args)
    files = list(found.written)
    if args.plot:
        from dovemq.pipeline.metrics.plots import plot

        directory = local_path(args.out)
        assert directory is not None
        files += map(str, plot(found, directory))
    return found, files


def _measured(args: argparse.Namespace) -> "MetricsReport":
    window_us = 1_000 * args.window
    engine = engine_for(args.engine, args.traces, args.out)
    if engine == "duckdb" and args.format == _PARQUET:
        from dovemq.pipeline.metrics.duck import metrics_duckdb

        return metrics_duckdb(args.traces, window_us, args.out)
    from dovemq.pipeline.metrics.spark import Output, metrics_spark
    from dovemq.pipeline.session import spark_session

    asked = time.monotonic()
    with spark_session(spark_plan(args)) as session:
        seconds = time.monotonic() - asked
        print(f"Spark session started in {seconds:.1f} s", file=sys.stderr)
        output = Output(args.out, args.format) if args.out else None
        return metrics_spark(session, args.traces, window_us, output)


def _document(found: "MetricsReport", files: list[str]) -> dict[str, Any]:
    return {
        **fields(found, "engine", "rows", "truncated"),
        "quarantined": found.reasons,
        "refused": [fields(each, "file", "reason") for each in found.refused],
        "overall": found.overall.to_pylist(),
        "queues": found.by_queue.to_pylist(),
        "windows": found.by_window.to_pylist(),
        "files": files,
    }


def _print(found: "MetricsReport", files: list[str]) -> None:
    print(f"{found.rows} rows by {found.engine}")
    queues = found.by_queue.to_pylist()
    shown_queues = queues[:_QUEUES_SHOWN_MAX]
    heads = ["FIGURE", *(row["queue"] for row in shown_queues)]
    columns = shown_queues
    if len(queues) != 1:
        heads, columns = [*heads, "overall"], [*shown_queues, *found.overall.to_pylist()]
    names = [name for name in found.overall.column_names if any(row[name] for row in columns)]
    print_table(heads, [[name, *(shown(row[name]) for row in columns)] for name in names])
    if len(queues) > len(shown_queues):
        print(f"… and {len(queues) - len(shown_queues)} more queues: --out writes all of them")
    _print_windows(found.by_window.to_pylist())
    _print_quarantine(found)
    for path in files:
        print(f"wrote {path}")


def _print_windows(rows: list[dict[str, Any]]) -> None:
    if len(rows) < 2:
        return
    print()
    cells = [
        (
            row["queue"],
            time_text(row["window_start_us"] // 1_000),
            *(shown(row[name]) for name in _WINDOW_COLUMNS),
        )
        for row in rows[:_WINDOWS_SHOWN_MAX]
    ]
    print_table(("QUEUE", "WINDOW", *_WINDOW_COLUMNS), cells)
    if len(rows) > _WINDOWS_SHOWN_MAX:
        print(f"… and {len(rows) - _WINDOWS_SHOWN_MAX} more windows: --out writes all of them")


def _print_quarantine(found: "MetricsReport") -> None:
    if found.sound:
        return
    print(f"\n{found.quarantined} invalid rows and {len(found.refused)} files were left out")
    refused = [(each.file, each.reason) for each in found.refused]
    print_pairs((f"  {name}", text) for name, text in [*sorted(found.reasons.items()), *refused])
