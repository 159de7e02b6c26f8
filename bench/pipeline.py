"""What metrics cost on Spark and on DuckDB: processor time on the same real events, in one run.

    python -m bench.pipeline [--events 10000000] [--cut 3000000] [--rounds 1] [--json]

The events are those of `dovemq load run --trace` against a real server, one queue and eight
senders, made once (a quarter of an hour) and kept in `.cache/pipeline`; the cut is the first
messages of each sender. Every measurement is a process of its own; the engines take turns. The
time of Spark is that of the Java machine and all Python workers, from the open session to the
tables; the session's start is told apart.
"""

import hashlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
import msgspec

from bench.measured import dovemq_server
from bench.tables import Row, parser_of, show
from dovemq.load.costs import tree_cpu_seconds
from dovemq.pipeline.metrics.duck import metrics_duckdb
from dovemq.pipeline.metrics.result import Metrics
from dovemq.pipeline.metrics.sources import find_traces
from dovemq.pipeline.metrics.spark import metrics_spark, suited
from dovemq.pipeline.session import SparkPlan, spark_session

FOLDER: Final = Path(".cache/pipeline")
SENDERS: Final = 8
ROWS_PER_MESSAGE: Final = 3
WINDOW_US: Final = 60_000_000
MASTER: Final = "local[2]"
MEMORY: Final = "2g"
RATIO_BOUND: Final = 3.5
GROWTH_BOUND: Final = 1.2
RUN_SECONDS_MAX: Final = 7_200


def generated(events: int) -> Path:
    """A trace of at least so many events, made if there is none."""
    folder = FOLDER / f"load-{events}"
    if folder.exists():
        return folder
    messages = -(-events // (SENDERS * ROWS_PER_MESSAGE))
    growing = folder.with_suffix(".growing")
    with dovemq_server() as server:
        command = [
            *(sys.executable, "-m", "dovemq", "load", "run", "--senders", str(SENDERS)),
            *("--receivers", str(SENDERS), "--messages", str(messages), "--bytes", "64"),
            *("--send-batch", "10", "--attribute", "OrderHint=20", "--seed", "1"),
            *("--trace", str(growing), "--json"),
        ]
        environment = {**os.environ, **server.env}
        subprocess.run(
            command, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=RUN_SECONDS_MAX
        )
    return growing.rename(folder)


def cut(whole: Path, events: int) -> Path:
    """The first messages of each sender, with all that happened to them."""
    folder = FOLDER / f"cut-{events}"
    if not folder.exists():
        growing = folder.with_suffix(".growing")
        growing.mkdir(parents=True, exist_ok=True)
        seq_max = events // (SENDERS * ROWS_PER_MESSAGE)
        for place, path in enumerate(find_traces([whole]).paths):
            rows = duckdb.read_parquet(path).filter(f"send_seq <= {seq_max}")
            rows.write_parquet(str(growing / f"{place}.parquet"), compression="zstd")
        growing.rename(folder)
    return folder


def digest(found: Metrics) -> str:
    """Of all tables, the floats to ten digits."""
    tables = [table.to_pylist() for table in (found.by_queue, found.by_window, found.overall)]
    rounded = [
        {
            name: f"{value:.10g}" if isinstance(value, float) else value
            for name, value in row.items()
        }
        for table in tables
        for row in table
    ]
    return hashlib.sha256(msgspec.json.encode(rounded)).hexdigest()


def measure(engine: str, folder: Path) -> dict[str, Any]:
    """In this process, which must be a fresh one."""
    me = os.getpid()
    begun = tree_cpu_seconds(me)
    if engine == "duckdb":
        return {"session_cpu_s": 0.0, **_measured(lambda: metrics_duckdb([folder], WINDOW_US))}
    with spark_session(suited(SparkPlan(MASTER, MEMORY))) as session:
        started = tree_cpu_seconds(me) - begun
        found = _measured(lambda: metrics_spark(session, [folder], WINDOW_US))
    return {"session_cpu_s": round(started, 1), **found}


def _measured(work: Any) -> dict[str, Any]:
    me = os.getpid()
    cpu, wall = tree_cpu_seconds(me), time.monotonic()
    found: Metrics = work()
    return {
        "events": found.rows,
        "cpu_s": round(tree_cpu_seconds(me) - cpu, 2),
        "wall_s": round(time.monotonic() - wall, 1),
        "digest": digest(found),
    }


def _in_a_process(engine: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.pipeline", "--measure", engine, str(folder)]
    told = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, timeout=RUN_SECONDS_MAX
    )
    found: dict[str, Any] = msgspec.json.decode(told.stdout.splitlines()[-1])
    return found


def compare(folders: Sequence[Path], rounds: int) -> list[Row]:
    rows: list[Row] = []
    for folder in folders:
        runs = [
            {engine: _in_a_process(engine, folder) for engine in ("duckdb", "spark")}
            for _ in range(rounds)
        ]
        same = len({each["digest"] for run in runs for each in run.values()}) == 1
        ratio = statistics.median(run["spark"]["cpu_s"] / run["duckdb"]["cpu_s"] for run in runs)
        for engine in ("duckdb", "spark"):
            cpu = statistics.median(run[engine]["cpu_s"] for run in runs)
            first = runs[0][engine]
            rows.append(
                {
                    "engine": engine,
                    "events": first["events"],
                    "cpu_s": cpu,
                    "us_per_event": round(1e6 * cpu / first["events"], 3),
                    "wall_s": statistics.median(run[engine]["wall_s"] for run in runs),
                    "session_cpu_s": first["session_cpu_s"],
                    "ratio": round(ratio, 2) if engine == "spark" else 1.0,
                    "bound": RATIO_BOUND,
                    "same": same,
                }
            )
    return rows


def growth(rows: Sequence[Row]) -> list[Row]:
    """Processor time per event at the full length over that at the cut, for each engine."""
    found: list[Row] = []
    for engine in ("duckdb", "spark"):
        short, whole = (row["us_per_event"] for row in rows if row["engine"] == engine)
        assert isinstance(short, float)
        assert isinstance(whole, float)
        found.append({"engine": engine, "growth": round(whole / short, 3), "bound": GROWTH_BOUND})
    return found


def main(arguments: list[str]) -> None:
    parser = parser_of("pipeline", __doc__)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--cut", type=int, default=3_000_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument(
        "--measure", nargs=2, metavar=("ENGINE", "DIR"), help="one, in this process"
    )
    options = parser.parse_args(arguments)
    if options.measure:
        engine, folder = options.measure
        print(msgspec.json.encode(measure(engine, Path(folder))).decode())
        return
    whole = generated(options.events)
    rows = compare([cut(whole, options.cut), whole], options.rounds)
    show(rows, as_json=options.json)
    show(growth(rows), as_json=options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
