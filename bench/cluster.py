"""`dovemq pipeline metrics` on a real cluster of two workers, one of which is killed half-way.

    python -m bench.cluster [--messages 300000] [--files 24] [--duckdb] [--json]

The same traces three times: on this machine alone, on the cluster, and on the cluster with a worker
killed together with its executor (SIGKILL) when half of the job's tasks are done. Counts must be
equal, other figures to 1e-9. Spark's event log shows what was lost and repeated. `--duckdb` uses
DuckDB instead of Spark on this machine, which saves a session.
"""

import contextlib
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench import event_logs
from bench.event_logs import Loss, loss_of, stages_of
from bench.tables import Row, parser_of, show
from dovemq.models.consistency import order_of
from dovemq.pipeline.metrics.duck import metrics_duckdb
from dovemq.pipeline.metrics.spark import metrics_spark
from dovemq.pipeline.session import SparkPlan, spark_session
from dovemq.telemetry.columns import SCHEMA
from dovemq.testing.spark_cluster import SparkCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START_US: Final = 1_700_000_000_000_000
WINDOW_US: Final = 60_000_000
QUEUES: Final = 4
SEQ_MAX: Final = 100_000_000
EQUAL: Final = 1e-9
SHARE_BEFORE: Final = 0.5
_LOOK_SECONDS: Final = 0.02
_QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class Probe(NamedTuple):
    """The package as an executor found it, in its own directory with a cache of its kernels."""

    sent: bool
    cached: bool


def write_traces(folder: Path, messages: int, files: int) -> None:
    """Each queue loses 1 % of its messages, repeats 2 % and reorders some."""
    rng = np.random.default_rng(7)
    for number in range(files):
        first = 1 + number * messages // files
        seqs = np.arange(first, 1 + (number + 1) * messages // files)
        sent = START_US + seqs * 1_000
        waits = 50_000 + rng.integers(0, 20_000, len(seqs))
        came = rng.random(len(seqs)) >= 0.01
        again = came & (rng.random(len(seqs)) < 0.02)
        tables = [_rows("sent", seqs, sent)]
        tables.append(_rows("leased", seqs[came], (sent + waits)[came]))
        tables.append(_rows("leased", seqs[again], (sent + waits)[again] + 30_000_000))
        tables.append(_rows("settled", seqs[came], (sent + waits)[came] + 5_000))
        pq.write_table(pa.concat_tables(tables), folder / f"trace-{number:04d}.parquet")


def _rows(event: str, seqs: Any, times_us: Any) -> Any:
    order = np.argsort(times_us, kind="stable")
    seqs, times_us = seqs[order], times_us[order]
    count = len(seqs)
    columns: dict[str, Any] = {
        "ts_us": times_us,
        "event": [event] * count,
        "queue": [f"000000000000/q{seq % QUEUES}" for seq in seqs],
        "partition": np.zeros(count, np.int32),
        "message_id": [f"m-{seq}" for seq in seqs],
        "send_seq": seqs,
        "client": ["bench"] * count,
        "front_end": ["bench"] * count,
        "latency_us": 100 + seqs % 900,
        "ot_us": times_us,
    }
    if event != "settled":
        columns["sender"] = [str(seq % 3) for seq in seqs]
        columns["body_crc32"] = pa.array(seqs % 1_000, pa.uint32())
        columns["at_us" if event == "sent" else "it_us"] = times_us
    if event == "leased":
        # Rises with time, and differs between leases of one moment.
        columns["receive_seq"] = (times_us - START_US) * SEQ_MAX + seqs
    arrays = [
        pa.array(columns[field.name]).cast(field.type)
        if field.name in columns
        else pa.nulls(count, field.type)
        for field in SCHEMA
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


class Killing(threading.Thread):
    """Kills a worker after a number of tasks, while it takes part in a running stage.

    Its results for that stage are still needed then.
    """

    def __init__(self, session: "SparkSession", cluster: SparkCluster, tasks: int) -> None:
        super().__init__()
        self._session = session
        self._cluster = cluster
        self._tasks = tasks + sum(done_tasks(session).values())
        self._over = threading.Event()
        self.executor = ""
        self.killed_ms = 0

    def run(self) -> None:
        while not self._over.wait(_LOOK_SECONDS):
            if sum(done_tasks(self._session).values()) < self._tasks:
                continue
            for executor in done_tasks(self._session):
                if taking_part(self._session, executor):
                    application = self._session.sparkContext.applicationId
                    worker = self._cluster.worker_of(application, executor)
                    self._cluster.kill_worker(worker)
                    self.executor, self.killed_ms = executor, _now_ms()
                    return

    def end(self) -> None:
        self._over.set()
        self.join()


def taking_part(session: "SparkSession", executor: str) -> bool:
    """Whether it has finished at least two tasks of a stage that has two left."""
    context: Any = session.sparkContext
    tracker, store = context.statusTracker(), context._jsc.sc().statusStore()
    for stage in tracker.getActiveStageIds():
        info = tracker.getStageInfo(stage)
        if info is not None and info.numTasks - info.numCompletedTasks >= 2:
            done = store.executorSummary(stage, info.currentAttemptId).get(executor)
            if done.isDefined() and done.get().succeededTasks() >= 2:
                return True
    return False


def done_tasks(session: "SparkSession") -> dict[str, int]:
    """Finished tasks of each executor, as the driver reports them."""
    context: Any = session.sparkContext
    listed = context._jsc.sc().statusStore().executorList(False)
    found = (listed.apply(place) for place in range(listed.size()))
    return {each.id(): each.completedTasks() for each in found if each.id() != "driver"}


def probe(session: "SparkSession") -> list[Probe]:
    def look(_: int) -> Probe:
        import dovemq

        place = Path(dovemq.__file__).parent
        order_of([2, 1])
        kernels = (place / "models" / "consistency" / "__pycache__").glob("patience.*.nbi")
        return Probe(place.is_relative_to(Path.cwd()), any(kernels))

    return session.sparkContext.parallelize(range(8), 8).map(look).collect()


def difference(one: Any, other: Any) -> str:
    """The columns of two results whose counts differ, or whose other numbers differ by more."""
    names = ("by_queue", "by_window", "overall")
    pairs = [(name, getattr(one, name), getattr(other, name)) for name in names]
    return " ".join(
        f"{name}.{column}"
        for name, mine, theirs in pairs
        for column in mine.column_names
        if not _columns_agree(mine[column], theirs[column])
    )


def _columns_agree(one: Any, other: Any) -> bool:
    if not pa.types.is_floating(one.type) or len(one) != len(other):
        return bool(one.equals(other))
    mine, theirs = one.to_numpy(), other.to_numpy()
    return bool(np.allclose(mine, theirs, rtol=EQUAL, atol=0, equal_nan=True))


@contextlib.contextmanager
def _session(master: str, tasks: int, logs: Path | None = None) -> "Iterator[SparkSession]":
    """A session with enough tasks in a stage that half-way some are finished and some are not."""
    more = {
        "spark.executor.extraJavaOptions": _QUICK,
        "spark.driver.extraJavaOptions": _QUICK,
        "spark.default.parallelism": str(tasks),
        "spark.shuffle.io.retryWait": "1s",
        **(event_logs.settings(logs) if logs else {}),
    }
    with spark_session(SparkPlan(master, "1g", "bench", more)) as session:
        yield session


def _timed(job: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    result = job()
    return result, time.perf_counter() - began


def run(
    folder: Path, messages: int, files: int, *, duckdb: bool
) -> tuple[list[Row], Loss, list[Probe]]:
    traces, logs = folder / "traces", folder / "logs"
    traces.mkdir()
    logs.mkdir()
    write_traces(traces, messages, files)
    if duckdb:
        local, local_seconds = _timed(lambda: metrics_duckdb([str(traces)], WINDOW_US))
    else:
        with _session("local[2]", files) as session:
            local, local_seconds = _timed(lambda: metrics_spark(session, [str(traces)], WINDOW_US))
    with SparkCluster(folder / "cluster") as cluster:
        with _session(cluster.master_url, files, logs) as session:
            probes = probe(session)
            before = sum(done_tasks(session).values())
            job = partial(metrics_spark, session, [str(traces)], WINDOW_US)
            whole, whole_seconds = _timed(job)
            tasks = sum(done_tasks(session).values()) - before
            began_ms = _now_ms()
            killing = Killing(session, cluster, max(1, round(SHARE_BEFORE * tasks)))
            killing.start()
            try:
                killed, killed_seconds = _timed(job)
            finally:
                killing.end()
        loss = loss_of(logs, killing.executor, began_ms, killing.killed_ms)
    rows: list[Row] = [
        {"where": "this machine", "seconds": local_seconds, "rows": local.rows},
        {
            "where": "cluster",
            "seconds": whole_seconds,
            "differs": difference(local, whole),
            "tasks": tasks,
            "input_bytes": sum(stage.input_bytes for stage in stages_of(logs)),
        },
        {
            "where": "killed",
            "seconds": killed_seconds,
            "differs": difference(local, killed),
            "finished": loss.finished,
            "repeated": loss.repeated,
        },
    ]
    return rows, loss, probes


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def main() -> int:
    parser = parser_of("cluster", __doc__)
    parser.add_argument("--messages", type=int, default=300_000)
    parser.add_argument("--files", type=int, default=24)
    parser.add_argument("--duckdb", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dovemq-bench-", ignore_cleanup_errors=True) as folder:
        rows, loss, probes = run(Path(folder), args.messages, args.files, duckdb=args.duckdb)
    found = {
        "sent": all(each.sent for each in probes),
        "cached": all(each.cached for each in probes),
    }
    show([*rows, {"where": "executors", **found}], as_json=args.json)
    good = not any(row.get("differs") for row in rows) and all(found.values())
    return 0 if good and loss.finished and loss.repeated else 1


if __name__ == "__main__":
    sys.exit(main())
