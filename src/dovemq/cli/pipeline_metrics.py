"""`dovemq pipeline metrics`: consistency and performance of queues from lifecycle traces."""

import argparse
import asyncio
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dovemq.cli.command import FAILED, OK, Commands, WrongUse, add_command, duration_ms
from dovemq.cli.modelling import plain, shown
from dovemq.cli.output import Progress, print_json, print_pairs, print_table, time_text
from dovemq.cli.pipelining import add_spark, piping, spark_plan

if TYPE_CHECKING:
    from dovemq.pipeline.metrics.result import Metrics

_ENGINES: Final = ("auto", "spark", "duckdb")
_FILES_SHOWN_MAX: Final = 20
_WINDOWS_SHOWN_MAX: Final = 20
_WINDOW_COLUMNS: Final = (
    *("sent", "receives", "settled", "duplicates", "absent", "window_out_of_order_rate"),
    *("receive_p99_us", "waiting_p50_us", "number_mean"),
)


def add(commands: Commands) -> None:
    parser = add_command(
        commands,
        "metrics",
        _run,
        "loss, duplicates, order, times and throughput of queues, from lifecycle traces",
        "dovemq pipeline metrics ./trace --window 60s --out ./figures",
    )
    parser.add_argument(
        "traces",
        nargs="+",
        type=Path,
        metavar="TRACE",
        help="directory of dovemq serve --trace or dovemq load run --trace, or a Parquet file",
    )
    parser.add_argument(
        "--window", type=duration_ms, default="60s", metavar="TIME", help="default: %(default)s"
    )
    parser.add_argument(
        "--engine",
        choices=_ENGINES,
        default="auto",
        help="auto takes DuckDB for traces of up to 20,000,000 rows, or without Spark",
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="write the tables there, as Parquet files"
    )
    parser.add_argument(
        "--plot", action="store_true", help="draw the windows of each queue too; needs --out"
    )
    parser.add_argument(
        "--strict", action="store_true", help="end with 1 if a row or a file was not believed"
    )
    add_spark(parser)


def _run(args: argparse.Namespace) -> int:
    if args.plot and args.out is None:
        raise WrongUse("--plot writes beside the tables: name a directory by --out")
    if not args.window:
        raise WrongUse("--window must be at least 1s")
    with piping():
        found, files = asyncio.run(_found(args))
    if args.json:
        print_json(_document(found, files))
    else:
        _print(found, files)
    return FAILED if args.strict and not found.sound else OK


async def _found(args: argparse.Namespace) -> "tuple[Metrics, list[Path]]":
    async with Progress(lambda: "metrics are under way"):
        return await asyncio.to_thread(_work, args)


def _work(args: argparse.Namespace) -> "tuple[Metrics, list[Path]]":
    found = _measured(args)
    files = [] if args.out is None else found.write(args.out)
    if args.plot:
        from dovemq.pipeline.metrics.plots import plot

        files += plot(found, args.out)
    return found, files


def _measured(args: argparse.Namespace) -> "Metrics":
    from dovemq.pipeline.metrics.choice import engine_for
    from dovemq.pipeline.metrics.sources import find_traces

    window_us = 1_000 * args.window
    engine = args.engine if args.engine != "auto" else engine_for(find_traces(args.traces).rows)
    if engine == "duckdb":
        from dovemq.pipeline.metrics.duck import metrics_duckdb

        return metrics_duckdb(args.traces, window_us)
    from dovemq.pipeline.metrics.spark import metrics_spark, suited
    from dovemq.pipeline.session import spark_session

    asked = time.monotonic()
    with spark_session(suited(spark_plan(args))) as session:
        seconds = time.monotonic() - asked
        print(f"Spark session started in {seconds:.1f} s", file=sys.stderr)
        return metrics_spark(session, args.traces, window_us)


def _document(found: "Metrics", files: list[Path]) -> dict[str, Any]:
    return {
        "engine": found.engine,
        "rows": found.rows,
        "quarantined": found.reasons,
        "overall": [plain(row) for row in found.overall.to_pylist()],
        "queues": [plain(row) for row in found.by_queue.to_pylist()],
        "windows": [plain(row) for row in found.by_window.to_pylist()],
        "files": [str(path) for path in files],
    }


def _print(found: "Metrics", files: list[Path]) -> None:
    print(f"{found.rows} rows by {found.engine}")
    queues = found.by_queue.to_pylist()
    heads = ["FIGURE", *(row["queue"] for row in queues)]
    columns = queues
    if len(queues) != 1:
        heads, columns = [*heads, "overall"], [*queues, *found.overall.to_pylist()]
    names = [name for name in found.overall.column_names if any(row[name] for row in columns)]
    print_table(heads, [[name, *(shown(row[name]) for row in columns)] for name in names])
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
        print(f"… and {len(rows) - _WINDOWS_SHOWN_MAX} more: --out or --json has all")


def _print_quarantine(found: "Metrics") -> None:
    if found.sound:
        return
    print(f"\n{found.quarantined} rows were not believed")
    print_pairs(_reasons(found))


def _reasons(found: "Metrics") -> Iterator[tuple[str, object]]:
    for reason, rows in sorted(found.reasons.items()):
        yield f"  {reason}", rows
    for file in found.refused[:_FILES_SHOWN_MAX]:
        yield f"  {file.path}", file.reason
