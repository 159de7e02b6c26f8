"""From lanes to Arrow tables: the only form in which rows leave the process.

What a group of rows shares is spread over them by Arrow, outside the interpreter's lock.
"""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

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


class Origin(Struct, frozen=True):
    """What every row of a process has: its name, and the time at which its clock was zero."""

    front_end: str
    epoch_ns: int


def table_of(event: Event, lane: Lane, origin: Origin) -> Any:
    """The lane's rows under the whole schema."""
    rows = lane.rows
    ends, queues, partitions, times_ns, clients, reads_ns, written_ns, senders, receives = _fields(
        lane.groups
    )
    spread = _spread(ends, rows)
    times = spread(_moments(times_ns, origin))
    taken_ns = pc.subtract(pa.array(written_ns, pa.int64()), pa.array(reads_ns, pa.int64()))
    columns = {
        "ts_us": times,
        "event": _constant(event.value, rows),
        "queue": _labels(queues, spread),
        "partition": spread(pa.array(partitions, pa.int32())),
        "sender": _labels(senders, spread),
        "client": _labels(clients, spread),
        "front_end": _constant(origin.front_end, rows),
        "latency_us": spread(_microseconds(taken_ns)),
        "ot_us": spread(_moments(written_ns, origin)),
    }
    if event is Event.SENT:
        columns["at_us"] = times
    if event is Event.LEASED:
        columns["it_us"] = times
        columns["receive_seq"] = _receive_numbers(receives, rows, spread)
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


def _moments(times_ns: Sequence[int | None], origin: Origin) -> Any:
    return _microseconds(pc.add(pa.array(times_ns, pa.int64()), origin.epoch_ns))


def _microseconds(times_ns: Any) -> Any:
    return pc.divide(times_ns, 1_000)


def _own_columns(event: Event, lane: Lane) -> dict[str, Any]:
    """What each row has for itself."""
    columns = {}
    if lane.entries:
        ids, numbers, sizes, sums = _fields(lane.entries)
        columns["message_id"] = pa.array(ids, pa.string())
        columns["send_seq"] = pa.array(numbers, pa.int64())
        if event in (Event.SENT, Event.LEASED):
            columns["bytes"] = pa.array(sizes, pa.int64())
            columns["body_crc32"] = pa.array(sums, pa.uint32())
    if lane.counts:
        columns["receive_count"] = pa.array(lane.counts, pa.int32())
    return columns


def _fields(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    """Column by column: `zip` of all rows makes an iterator for each, and takes five times as long
    under the interpreter's lock."""
    return [list(map(itemgetter(at), rows)) for at in range(len(rows[0]))]


def _spread(ends: Sequence[int], rows: int) -> Spread:
    if len(ends) == rows:
        return lambda values: values
    runs = pa.RunEndEncodedArray.from_arrays(
        pa.array(ends, pa.int32()), pa.array(range(len(ends)), pa.int32())
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


def _receive_numbers(receives: Sequence[int], rows: int, spread: Spread) -> Any:
    ones = pa.repeat(pa.scalar(1, pa.int64()), rows)
    positions = pc.cumulative_sum(ones, start=pa.scalar(-1, pa.int64()))
    return pc.add(positions, spread(pa.array(receives, pa.int64())))


def _jobs(lane: Lane, part: int) -> Any:
    values: list[str | None] = [None] * lane.rows
    for row, job in lane.jobs.items():
        values[row] = job[part]
    return pa.array(values, pa.string())
