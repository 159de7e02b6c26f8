"""From lanes to Arrow tables: the only form in which rows leave the process.

What a group of rows shares is spread over them by Arrow, outside the interpreter's lock.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from dovemq.telemetry.lanes import Lane
from dovemq.telemetry.schema import COLUMNS, VERSION, Event, Form

_LABEL: Final = pa.dictionary(pa.int32(), pa.string())
_FORMS: Final[dict[Form, Any]] = {
    "int32": pa.int32(),
    "int64": pa.int64(),
    "uint32": pa.uint32(),
    "text": pa.string(),
    "label": _LABEL,
}
SCHEMA: Final = pa.schema(
    [(column.name, _FORMS[column.form]) for column in COLUMNS],
    metadata={"dovemq.trace.version": VERSION},
)
_JOB_COLUMNS: Final = ("job_type", "job_id", "task")

Spread = Callable[[Any], Any]


def table_of(event: Event, lane: Lane, front_end: str) -> Any:
    """The lane's rows under the whole schema."""
    rows = lane.rows
    spread = _spread(lane)
    times = spread(pa.array(lane.times_us, pa.int64()))
    written = pa.array(lane.written_us, pa.int64())
    latencies = pc.subtract(written, pa.array(lane.reads_us, pa.int64()))
    columns = {
        "ts_us": times,
        "event": _constant(event.value, rows),
        "queue": _labels(lane.queues, spread),
        "partition": spread(pa.array(lane.partitions, pa.int32())),
        "client": _labels(lane.clients, spread),
        "front_end": _constant(front_end, rows),
        "latency_us": spread(latencies),
        "ot_us": spread(written),
    }
    if event is Event.SENT:
        columns["at_us"] = times
    if event is Event.LEASED:
        columns["it_us"] = times
        columns["receive_seq"] = _receive_numbers(lane, spread)
    if lane.senders:
        columns["sender"] = _labels(lane.senders, spread)
    columns.update(_own_columns(lane))
    for name in _JOB_COLUMNS if lane.jobs else ():
        columns[name] = _jobs(lane, _JOB_COLUMNS.index(name))
    arrays = [columns.get(field.name) for field in SCHEMA]
    return pa.Table.from_arrays(
        [
            pa.nulls(rows, field.type) if array is None else array
            for field, array in zip(SCHEMA, arrays, strict=True)
        ],
        schema=SCHEMA,
    )


def _own_columns(lane: Lane) -> dict[str, Any]:
    """What each row has for itself."""
    held = (
        ("message_id", lane.ids, pa.string()),
        ("send_seq", lane.numbers, pa.int64()),
        ("receive_count", lane.counts, pa.int32()),
        ("bytes", lane.bodies_bytes, pa.int64()),
        ("body_crc32", lane.bodies_crc, pa.uint32()),
    )
    return {name: pa.array(values, form) for name, values, form in held if values}


def _spread(lane: Lane) -> Spread:
    if len(lane.ends) == lane.rows:
        return lambda values: values
    runs = pa.RunEndEncodedArray.from_arrays(
        pa.array(lane.ends, pa.int32()), pa.array(range(len(lane.ends)), pa.int32())
    )
    # The values themselves are not decoded as runs: that leaves garbage where they are null, and
    # the garbage of a label is an index far outside of its dictionary.
    groups = pc.run_end_decode(runs)
    return lambda values: values.take(groups)


def _constant(text: str, rows: int) -> Any:
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows), [text])


def _labels(values: Sequence[str | None], spread: Spread) -> Any:
    encoded = pa.array(values, pa.string()).dictionary_encode()
    return pa.DictionaryArray.from_arrays(spread(encoded.indices), encoded.dictionary)


def _receive_numbers(lane: Lane, spread: Spread) -> Any:
    ones = pa.repeat(pa.scalar(1, pa.int64()), lane.rows)
    positions = pc.cumulative_sum(ones, start=pa.scalar(-1, pa.int64()))
    return pc.add(positions, spread(pa.array(lane.receives, pa.int64())))


def _jobs(lane: Lane, part: int) -> Any:
    values: list[str | None] = [None] * lane.rows
    for row, job in lane.jobs.items():
        values[row] = job[part]
    return pa.array(values, pa.string())
