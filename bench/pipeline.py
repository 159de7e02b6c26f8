"""The cost of `dovemq pipeline metrics` on Spark: by length, by executors, beside DuckDB.

    python -m bench.pipeline [--events 10000000] [--large 100000000] [--rounds 3] [--json]

Spark generates the events (`bench.generated`, one stream has nine tenths of them) once and keeps
them in `.cache/pipeline`. Every measurement is a process of its own.

- length: both traces on a cluster of two executors of one core and 2 GiB: processor time per
  event of all processes, memory of the driver, and of the stages whose median task takes a second
  or more, the one with the largest ratio of the longest task to the median. `--large 0` leaves the
  long one out.
- executors: the short trace on one executor and on two, in turns, `--rounds` times each.
- engines: the short trace by DuckDB and by Spark on `local[2]`, with equal tables.
"""

import hashlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bench import event_logs
from bench.generated import generated
from bench.tables import Row, parser_of, show
from dovemq.load.costs import tree_cpu_seconds
from dovemq.pipeline.metrics.duck import metrics_duckdb
from dovemq.pipeline.metrics.report import MetricsReport
from dovemq.pipeline.metrics.spark import metrics_spark
from dovemq.pipeline.session import SparkPlan, spark_session
from dovemq.testing.spark_cluster import SparkCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER: Final = Path(".cache/pipeline").absolute()
WINDOW_US: Final = 60_000_000
LOCAL: Final = "local[2]"
EXECUTOR_MEMORY: Final = "2g"
MEDIAN_MS_MIN: Final = 1_000
RUN_SECONDS_MAX: Final = 7_200
_MIB: Final = 1 << 20


def trace_of(events: int) -> Path:
    """A trace of about this number of events, generated if there is none."""
    folder = FOLDER / f"generated-{events}"
    if not folder.exists():
        growing = folder.with_suffix(".growing")
        with spark_session(SparkPlan(LOCAL, EXECUTOR_MEMORY)) as session:
            rows = generated(session, events).write.mode("overwrite")
            rows.option("compression", "zstd").parquet(growing.as_uri())
        growing.rename(folder)
    return folder


def digest(found: MetricsReport) -> str:
    """A hash of all tables, with floats to ten digits."""
    tables = [table.to_pylist() for table in (found.by_queue, found.by_window, found.overall)]
    rounded = [
        {
            name: f"{value:.10g}" if isinstance(value, float) else value
            for name, value in row.items()
        }
        for table in tables
        for row in table
    ]
    return hashlib.sha256(msgspec.json.encode(rounded)).hexdigest()[:12]


@contextmanager
def _session(where: str, scratch: Path) -> "Iterator[SparkSession]":
    """`where` is `local[2]`, or a number of executors."""
    logs = scratch / "events"
    logs.mkdir(parents=True)
    more = event_logs.settings(logs)
    if where == LOCAL:
        with spark_session(SparkPlan(LOCAL, EXECUTOR_MEMORY, more=more)) as session:
            yield session
        return
    more["spark.cores.max"] = where
    with SparkCluster(scratch / "cluster", workers=int(where), memory="3g") as cluster:
        plan = SparkPlan(cluster.master_url, EXECUTOR_MEMORY, more=more)
        with spark_session(plan) as session:
            # The executors are ready before the clock starts.
            session.range(100).repartition(int(where)).count()
            yield session


def measure(where: str, folder: Path) -> dict[str, Any]:
    """Measures in this process, which must be a fresh one."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="run-", dir=FOLDER))
    try:
        if where == "duckdb":
            return _measured(lambda: metrics_duckdb([str(folder)], WINDOW_US))
        with _session(where, scratch) as session:
            found = _measured(lambda: metrics_spark(session, [str(folder)], WINDOW_US))
            found |= _driver_memory(session)
        return {**found, **_worst_stage(scratch / "events")}
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _measured(work: Any) -> dict[str, Any]:
    me = os.getpid()
    cpu, wall = tree_cpu_seconds(me), time.monotonic()
    found: MetricsReport = work()
    cpu = tree_cpu_seconds(me) - cpu
    return {
        "events": found.rows,
        "cpu_s": round(cpu, 1),
        "us_per_event": round(1e6 * cpu / found.rows, 2),
        "wall_s": round(time.monotonic() - wall, 1),
        "digest": digest(found),
    }


def _driver_memory(session: "SparkSession") -> dict[str, Any]:
    """Memory of the driver's Java machine after a collection, and its peak."""
    context: Any = session.sparkContext
    runtime = context._jvm.java.lang.Runtime.getRuntime()
    context._jvm.System.gc()
    status = Path(f"/proc/{context._gateway.proc.pid}/status").read_text().splitlines()
    peak = next(line for line in status if line.startswith("VmHWM"))
    return {
        "driver_heap_mib": (runtime.totalMemory() - runtime.freeMemory()) // _MIB,
        "driver_peak_mib": int(peak.split()[1]) // 1024,
    }


def _worst_stage(logs: Path) -> dict[str, Any]:
    stages = event_logs.stages_of(logs)
    long = [stage for stage in stages if stage.tasks > 1 and stage.median_ms >= MEDIAN_MS_MIN]
    found: dict[str, Any] = {
        "stages": len(stages),
        "input_mib": sum(s.input_bytes for s in stages) // _MIB,
    }
    if long:
        worst = max(long, key=lambda stage: stage.longest_ms / stage.median_ms)
        found["longest_to_median"] = round(worst.longest_ms / worst.median_ms, 2)
        found["of_tasks"] = worst.tasks
    return found


def _in_a_process(where: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.pipeline", "--measure", where, str(folder)]
    ran = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, timeout=RUN_SECONDS_MAX
    )
    found: dict[str, Any] = msgspec.json.decode(ran.stdout.splitlines()[-1])
    return found


def lengths(events: int, large: int) -> Iterator[Row]:
    short = None
    for length in (events, large):
        if length:
            row = _in_a_process("2", trace_of(length))
            short = short or row["us_per_event"]
            yield {**row, "to_short": round(row["us_per_event"] / short, 2)}


def executors(events: int, rounds: int) -> Iterator[Row]:
    folder = trace_of(events)
    runs = [[_in_a_process(number, folder)["wall_s"] for number in "12"] for _ in range(rounds)]
    one, two = (statistics.median(run[place] for run in runs) for place in (0, 1))
    yield {"one_s": one, "two_s": two, "two_to_one": round(two / one, 2), "rounds": str(runs)}


def engines(events: int) -> Iterator[Row]:
    folder = trace_of(events)
    runs = {where: _in_a_process(where, folder) for where in ("duckdb", LOCAL)}
    for where, run in runs.items():
        ratio = round(run["cpu_s"] / runs["duckdb"]["cpu_s"], 2)
        names = ("events", "cpu_s", "us_per_event", "wall_s", "digest")
        yield {"engine": where, **{name: run[name] for name in names}, "ratio": ratio}


def main(arguments: list[str]) -> None:
    parser = parser_of("pipeline", __doc__)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--large", type=int, default=100_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--only", choices=("length", "executors", "engines"), help="one of the three parts"
    )
    parser.add_argument(
        "--measure", nargs=2, metavar=("WHERE", "DIR"), help="one run, in this process"
    )
    options = parser.parse_args(arguments)
    if options.measure:
        where, folder = options.measure
        print(msgspec.json.encode(measure(where, Path(folder))).decode())
        return
    parts: dict[str, Callable[[], Iterator[Row]]] = {
        "engines": lambda: engines(options.events),
        "executors": lambda: executors(options.events, options.rounds),
        "length": lambda: lengths(options.events, options.large),
    }
    for name, part in parts.items():
        if options.only in (None, name):
            show(list(part()), as_json=options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
