"""The files of the trace: rotated Parquet files in a folder of bounded size."""

import contextlib
import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from dovemq.telemetry.columns import SCHEMA, TraceOrigin, load_libraries, table_of
from dovemq.telemetry.folders import PREFIX, SUFFIX, Folder, PendingFile
from dovemq.telemetry.lanes import Chunk
from dovemq.telemetry.schema import COLUMNS, TraceEvent

ROW_GROUP_ROWS: Final = 131_072
COMPRESSION_LEVEL: Final = 1
_COUNTED: Final = ("bytes", "partition", "receive_count")
"""Columns of numbers with few different values."""
_ENCODED: Final = tuple(c.name for c in COLUMNS if c.form == "label") + _COUNTED
_LOOKED_UP: Final = ("ts_us", "event", "queue")
"""Columns with minimum and maximum in the file, so that readers can skip parts of it."""


class RotationLimits(Struct, frozen=True):
    rows_max: int
    seconds_max: float
    bytes_max: int


@dataclass(slots=True)
class TraceFiles:
    """Writes rows to files. Only one thread uses it. `now_ns` is the clock of the rows."""

    _folder: Folder
    _origin: TraceOrigin
    _rotation: RotationLimits
    _now_ns: Callable[[], int]
    _number: int = 0
    _file: "_GrowingFile | None" = None
    _begun_ns: int = 0

    def __post_init__(self) -> None:
        load_libraries()

    @property
    def rows(self) -> int:
        """The rows of the unfinished file."""
        return self._file.rows if self._file is not None else 0

    @property
    def seconds_left(self) -> float | None:
        """The time until the unfinished file is due; None if there is none."""
        if self._file is None:
            return None
        seconds = (self._now_ns() - self._begun_ns) / 1e9
        return max(0.0, self._rotation.seconds_max - seconds)

    @property
    def due(self) -> bool:
        file = self._file
        return file is not None and (
            file.rows >= self._rotation.rows_max or file.full or self.seconds_left == 0
        )

    def add(self, chunk: Chunk) -> None:
        if self._file is None:
            self._begun_ns = self._now_ns()
            self._number += 1
            self._file = _GrowingFile(self._folder.begin(self._name()))
        for event, lane in chunk.lanes.items():
            if lane.rows:
                self._file.add(event, table_of(event, lane, self._origin))

    def finish(self) -> int:
        """Publish the unfinished file; returns the number of its rows."""
        if self._file is None:
            return 0
        rows = self._file.rows
        self._file.finish()
        self._file = None
        return rows

    def discard(self) -> None:
        """Discard the unfinished file, whatever its state."""
        if self._file is not None:
            self._file.discard()
            self._file = None

    def remove_oldest(self) -> tuple[int, int]:
        """Remove the oldest files beyond the folder's size; the newest file always stays.

        Returns the number and the bytes of those that are left.
        """
        whole = self._folder.whole_files()
        count, total = len(whole), sum(size for _, size in whole)
        for name, size in whole[:-1][: self._folder.removals_max]:
            if total <= self._rotation.bytes_max:
                break
            self._folder.remove(name)
            count, total = count - 1, total - size
        return count, total

    def _name(self) -> str:
        epoch_seconds = (self._begun_ns + self._origin.epoch_ns) / 1e9
        began = datetime.datetime.fromtimestamp(epoch_seconds, datetime.UTC)
        stamp = began.strftime("%Y%m%dT%H%M%S")
        return f"{PREFIX}{stamp}-{self._origin.front_end}-{self._number:06d}{SUFFIX}"


class _GrowingFile:
    """An unfinished file. It collects the rows of each event until they make a large row group."""

    def __init__(self, draft: PendingFile) -> None:
        self.rows = 0
        self._draft = draft
        self._waiting: dict[TraceEvent, list[Any]] = {}
        self._writer = _new_writer(draft.sink)

    @property
    def full(self) -> bool:
        return self._draft.full

    def add(self, event: TraceEvent, table: Any) -> None:
        self.rows += table.num_rows
        waiting = self._waiting.setdefault(event, [])
        waiting.append(table)
        if sum(each.num_rows for each in waiting) >= ROW_GROUP_ROWS:
            self._write(event)

    def finish(self) -> None:
        for event in list(self._waiting):
            self._write(event)
        self._writer.close()
        self._draft.publish()

    def discard(self) -> None:
        with contextlib.suppress(OSError, pa.ArrowException):
            self._writer.close()
        self._draft.discard()

    def _write(self, event: TraceEvent) -> None:
        table = pa.concat_tables(self._waiting.pop(event)).unify_dictionaries()
        self._writer.write_table(table, row_group_size=table.num_rows)


def _new_writer(sink: Any) -> Any:
    deltas = {c.name: "DELTA_BINARY_PACKED" for c in COLUMNS if c.form == "int64"}
    encodings = {name: form for name, form in deltas.items() if name not in _ENCODED}
    return pq.ParquetWriter(
        sink,
        SCHEMA,
        compression="zstd",
        compression_level=COMPRESSION_LEVEL,
        use_dictionary=list(_ENCODED),
        column_encoding={**encodings, "message_id": "DELTA_LENGTH_BYTE_ARRAY"},
        write_statistics=list(_LOOKED_UP),
    )
