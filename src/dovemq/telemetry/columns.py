"""Turns lanes into Arrow tables, the only form in which rows leave the process.

numpy repeats the values that a group of rows shares for each of its rows.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
from msgspec import Struct
from numpy.typing import NDArray

from dovemq.telemetry.lanes import ID_BYTES, NEVER, NOBODY, Lane
from dovemq.telemetry.schema import COLUMNS, VERSION, Form, TraceEvent

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
_ENTRY: Final = np.dtype(
    [("message_id", f"S{ID_BYTES}"), ("send_seq", "<i8"), ("bytes", "<i8"), ("body_crc32", "<u4")]
)
_GROUP: Final = np.dtype(
    [
        ("rows", "<i4"),
        ("queue", "<i4"),
        ("partition", "<i4"),
        ("time_ns", "<i8"),
        ("client", "<i4"),
        ("read_ns", "<i8"),
        ("written_ns", "<i8"),
        ("sender", "<i4"),
        ("receives", "<i8"),
    ]
)
"""The layout in which `lanes.py` packs groups."""
_US_NS: Final = 1_000

Spread = Callable[[NDArray[Any]], NDArray[Any]]


def load_libraries() -> None:
    """Make Arrow's first array, because it looks for pandas then, which takes half a second."""
    pa.array(np.zeros(1))


class TraceOrigin(Struct, frozen=True):
    """The values that all rows of a process share: its name, and the time at its clock's zero."""

    front_end: str
    epoch_ns: int


def table_of(event: TraceEvent, lane: Lane, origin: TraceOrigin) -> Any:
    """The rows of the lane as a table of the whole schema."""
    rows = lane.rows
    groups = np.frombuffer(lane.groups, _GROUP)
    spread = _spread(groups["rows"])
    times = spread(_moments(groups["time_ns"], origin))
    unanswered = groups["written_ns"] == NEVER
    untimed = unanswered | (groups["read_ns"] == NEVER)
    latency = (groups["written_ns"] - groups["read_ns"]) // _US_NS
    columns = {
        "ts_us": pa.array(times),
        "event": _constant(event.value, rows),
        "queue": _labels(spread(groups["queue"]), lane.queues),
        "partition": pa.array(
            spread(groups["partition"]), mask=spread(groups["partition"] == NOBODY)
        ),
        "sender": _labels(spread(groups["sender"]), lane.senders),
        "client": _labels(spread(groups["client"]), lane.clients),
        "front_end": _constant(origin.front_end, rows),
        "latency_us": pa.array(spread(latency), mask=spread(untimed)),
        "ot_us": pa.array(spread(_moments(groups["written_ns"], origin)), mask=spread(unanswered)),
    }
    if event is TraceEvent.SENT:
        columns["at_us"] = columns["ts_us"]
    if event is TraceEvent.LEASED:
        columns["it_us"] = columns["ts_us"]
        before = np.cumsum(groups["rows"]) - groups["rows"]
        columns["receive_seq"] = pa.array(spread(groups["receives"] - before) + np.arange(rows))
    columns.update(_own_columns(event, lane))
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


def _moments(times_ns: NDArray[Any], origin: TraceOrigin) -> NDArray[Any]:
    return (times_ns + origin.epoch_ns) // _US_NS


def _own_columns(event: TraceEvent, lane: Lane) -> dict[str, Any]:
    """The columns whose values differ from row to row."""
    columns = {}
    if lane.entries:
        entries = np.frombuffer(lane.entries, _ENTRY)
        ids = np.ascontiguousarray(entries["message_id"])
        columns["message_id"] = pa.array(ids, pa.binary(), mask=ids == b"").cast(pa.string())
        sized = ("bytes", "body_crc32") if event in (TraceEvent.SENT, TraceEvent.LEASED) else ()
        for name in ("send_seq", *sized):
            columns[name] = pa.array(entries[name])
    if lane.counts:
        columns["receive_count"] = pa.array(np.frombuffer(lane.counts, np.int32))
    return columns


def _spread(rows: NDArray[Any]) -> Spread:
    """A function from a value for each group to a value for each row."""
    if (rows == 1).all():
        return lambda values: values
    return lambda values: np.repeat(values, rows)


def _constant(text: str, rows: int) -> Any:
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows), [text])


def _labels(codes: NDArray[Any], labels: Mapping[str, int]) -> Any:
    """Labels of rows; codes below 0 are null.

    A null has the index of the first label, since Arrow follows it too when it unites dictionaries.
    """
    nobody = codes < 0
    indices = pa.array(np.where(nobody, 0, codes), pa.int32(), mask=nobody)
    return pa.DictionaryArray.from_arrays(indices, pa.array(labels or [""], pa.string()))


def _jobs(lane: Lane, part: int) -> Any:
    values: list[str | None] = [None] * lane.rows
    for row, job in lane.jobs.items():
        values[row] = job[part]
    return pa.array(values, pa.string())
