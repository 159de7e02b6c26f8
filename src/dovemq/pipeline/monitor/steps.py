"""One micro-batch on Spark: computes new states from valid rows and the states before."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from dovemq.pipeline.monitor.columns import LEASED, SENT, UNKNOWN, MonitoredRows
from dovemq.pipeline.monitor.figures import KEPT, QUEUE, STATE
from dovemq.pipeline.monitor.watch import Bounds, QueueWatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SETTLED: Final = 2
_KINDS: Final = {"sent": SENT, "leased": LEASED, "settled": _SETTLED}


def heard(events: "DataFrame") -> "DataFrame":
    """Replaces ids and senders by hashes; front ends stay text, because they order ties."""
    kind = F.create_map(*(F.lit(part) for pair in _KINDS.items() for part in pair))
    none = F.lit(UNKNOWN).cast("long")
    return events.where(F.col("event").isin(*_KINDS)).select(
        QUEUE,
        "moment_us",
        kind[F.col("event")].cast("long").alias("kind"),
        F.xxhash64("message_id").alias("message"),
        F.xxhash64("sender").alias("stream"),
        F.coalesce("send_seq", none).alias("seq"),
        F.coalesce("body_crc32", none).alias("crc"),
        "front_end",
        F.coalesce("receive_seq", none).alias("receive_seq"),
    )


def advanced(
    rows: "DataFrame", states: "DataFrame", bounds: Bounds, watermark_us: int
) -> "DataFrame":
    """Updates each queue, also those without new rows.

    This runs in Python, because no Spark expression can update the state. The rows of a queue come
    as one table.
    """
    grouped = rows.groupBy(QUEUE).cogroup(states.groupBy(QUEUE))
    schema = from_arrow_schema(STATE)
    return grouped.applyInArrow(_advance(bounds, watermark_us), schema).select(*STATE.names)


def _advance(bounds: Bounds, watermark_us: int) -> Callable[[Any, Any], Any]:
    def advance(rows: Any, states: Any) -> Any:
        known = states.num_rows > 0
        queue = (states if known else rows)[QUEUE][0].as_py()
        watch = QueueWatch.resumed(states[KEPT][0].as_py(), bounds) if known else QueueWatch(bounds)
        told, settled = _columns(rows)
        watch.add(told, settled, watermark_us)
        state = {QUEUE: queue, **watch.figures(), KEPT: watch.kept()}
        return pa.Table.from_pylist([state], STATE)

    return advance


def _columns(rows: Any) -> tuple[MonitoredRows, int]:
    """Returns the sends and leases, and the number of settles."""
    arrays = {name: rows[name].to_numpy() for name in rows.column_names if name != QUEUE}
    arrays["front_end"] = arrays["front_end"].astype(np.str_)
    told = arrays["kind"] != _SETTLED
    kept = {name: array[told] for name, array in arrays.items()}
    return MonitoredRows.of(kept), int(np.count_nonzero(~told))
