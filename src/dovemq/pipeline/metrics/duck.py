"""Computes the figures with DuckDB, in this process, for traces that fit one machine.

SQL finds messages and requests, sorts first receives by stream, and computes the figures; the order
of a stream is measured in Python. DuckDB spills to disk; a stream is held in memory while it is
measured.
"""

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dovemq.models.consistency import order_of, ranks
from dovemq.pipeline.metrics.columns import (
    COUNTERS,
    FIGURES,
    KINDS,
    RATES,
    WINDOW_FIGURES,
    shortened_sql,
)
from dovemq.pipeline.metrics.order_kernel import runs
from dovemq.pipeline.metrics.report import DAY, QUEUES_MAX, TABLES, WINDOWS_MAX, MetricsReport
from dovemq.pipeline.places import path_here
from dovemq.pipeline.rules import MOMENT, REASON, VALID
from dovemq.pipeline.traces import EVENT_SCHEMA, Traces, damage_named, find_traces, statement

MEMORY: Final = "2GB"
_BATCH_ROWS: Final = 131_072
_ORDERS: Final = pa.schema(
    [
        *(("queue", pa.string()), ("window", pa.int64()), ("renumbered", pa.bool_())),
        *((name, pa.int64()) for name in ("ordered", "out_of_order", "displacement")),
    ]
)
"""The order of each stream, with `window` null, and of each window of it."""
_LEVELS: Final = (
    ("queue", ("queue",), FIGURES, QUEUES_MAX),
    ("window", ("queue", "window_start_us"), WINDOW_FIGURES, WINDOWS_MAX),
    ("overall", (), FIGURES, 1),
)


def metrics_duckdb(
    places: Sequence[str], window_us: int, out: str | None = None, memory: str = MEMORY
) -> MetricsReport:
    """Measures the traces; `memory` limits DuckDB. The tables are written below `out`, if given."""
    traces = find_traces(places)
    folder = None if out is None else path_here(out)
    with damage_named(traces), _opened(traces, memory) as connection:
        connection.execute(statement(__package__, "messages"))
        latency = shortened_sql("latency_us")
        connection.execute(statement(__package__, "requests", window_us=window_us, latency=latency))
        orders = pa.Table.from_pylist(list(_orders(connection, window_us)), _ORDERS)
        connection.register("orders", orders)
        connection.execute(_figures_statement(window_us))
        levels = [_level(connection, *level) for level in _LEVELS]
        written = () if folder is None else _write(connection, levels, traces, folder)
        by_queue, by_window, overall = (
            relation.limit(rows).to_arrow_table()
            for relation, (_, _, _, rows) in zip(levels, _LEVELS, strict=True)
        )
        ((rows,),) = connection.sql("SELECT coalesce(sum(rows), 0)::BIGINT FROM answers").fetchall()
        reasons = _reasons(connection) if rows < traces.rows else {}
    return MetricsReport(
        "duckdb", rows, reasons, traces.refused, by_queue, by_window, overall, written
    )


@contextlib.contextmanager
def _opened(traces: Traces, memory: str) -> Iterator[Any]:
    """Opens the trace: valid rows are the view `events`, the others `quarantine`."""
    settings = {"memory_limit": memory, "preserve_insertion_order": "false"}
    with (
        tempfile.TemporaryDirectory(prefix="dovemq-duckdb-") as folder,
        duckdb.connect(config={**settings, "temp_directory": folder}) as one,
    ):
        one.register("kinds", pa.Table.from_pylist([kind._asdict() for kind in KINDS]))
        # Adds the columns that the files lack.
        named = EVENT_SCHEMA.append(pa.field("filename", pa.string()))
        one.register("no_rows", named.empty_table())
        source = "FROM no_rows"
        if traces.files:
            one.read_parquet(traces.paths, union_by_name=True, filename=True).create_view("read")
            source += " UNION ALL BY NAME FROM read"
        one.execute(f"CREATE VIEW trace AS SELECT * FROM ({source})")
        files = {"filename": traces.paths, "uri": [path.as_uri() for path in traces.files]}
        one.register(
            "files", pa.table(files, pa.schema([("filename", pa.string()), ("uri", pa.string())]))
        )
        one.execute(statement(__package__, "events", moment=MOMENT, reason=REASON, valid=VALID))
        yield one


def _orders(connection: Any, window_us: int) -> Iterator[dict[str, Any]]:
    reader = connection.sql(statement(__package__, "received", window_us=window_us))
    for stream in runs(reader.to_arrow_reader(_BATCH_ROWS), ("queue", "sender")):
        key = {"queue": stream["queue"][0].as_py()}
        numbers = stream["send_seq"].to_numpy()
        renumbered = len(np.unique(numbers)) < len(numbers)
        if renumbered:
            # One number belongs to several messages, so the order of the commits is used.
            stream = stream.filter(pc.is_valid(stream["sent_us"]))
            numbers = ranks(stream["sent_us"])
        yield {**key, "renumbered": renumbered, **_order(numbers)}
        at = 0
        for window in runs(stream.to_batches(), ("window",)):
            part = numbers[at : at + len(window)]
            at += len(window)
            yield {**key, "window": window["window"][0].as_py(), **_order(part)}


def _order(numbers: Any) -> dict[str, int]:
    found = order_of(numbers)
    return {name: getattr(found, name) for name in ("ordered", "out_of_order", "displacement")}


def _figures_statement(window_us: int) -> str:
    return statement(
        __package__,
        "figures",
        window_us=window_us,
        waiting=shortened_sql("leased_us - sent_us"),
        sojourn=shortened_sql("left_us - sent_us"),
        counters=", ".join(f"'{name}'" for name in COUNTERS),
        rates=", ".join(f"{text} AS {name}" for name, text in RATES.items()),
    )


def _level(
    connection: Any, level: str, keys: tuple[str, ...], figures: tuple[str, ...], _: int
) -> Any:
    relation = connection.table("figures").filter(f"level = '{level}'")
    relation = relation.project(", ".join(f'"{name}"' for name in (*keys, *figures)))
    return relation.order(", ".join(keys)) if keys else relation


def _reasons(connection: Any) -> dict[str, int]:
    counted = connection.table("quarantine").aggregate("reason, count(*)").order("reason")
    return dict(counted.fetchall())


def _write(connection: Any, levels: Sequence[Any], traces: Traces, out: Path) -> tuple[str, ...]:
    """Writes a folder for each table, as Spark does."""
    folders = [out / name for name in TABLES]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    by_queue, by_window, overall = levels
    day = f"strftime(make_timestamp(window_start_us), '%Y-%m-%d') AS {DAY}"
    by_window.project(f"*, {day}").write_parquet(
        str(folders[1]), partition_by=[DAY], overwrite=True
    )
    schema = pa.schema([("file", pa.string()), ("reason", pa.string())])
    refused = [msgspec.structs.asdict(each) for each in traces.refused]
    connection.register("refused", pa.Table.from_pylist(refused, schema))
    quarantine = connection.sql("FROM refused UNION ALL BY NAME FROM quarantine")
    for folder, table in zip(folders, (by_queue, None, overall, quarantine), strict=True):
        if table is not None:
            table.write_parquet(str(folder / "part-0.parquet"))
    return tuple(map(str, folders))
