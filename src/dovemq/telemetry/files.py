"""The files of the trace: rotated Parquet, each under its final name only when it is whole.

A file grows under a name that ends in `.partial`, is synced and then renamed. What a killed
process leaves behind is such a partial file; the next start in that directory removes it. Beyond
`bytes_max` the oldest whole files go.
"""

import contextlib
import datetime
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from dovemq.telemetry.columns import SCHEMA, Origin, load_libraries, table_of
from dovemq.telemetry.lanes import Chunk
from dovemq.telemetry.schema import COLUMNS, Event

PREFIX: Final = "trace-"
SUFFIX: Final = ".parquet"
PARTIAL: Final = ".partial"
ROW_GROUP_ROWS: Final = 131_072
COMPRESSION_LEVEL: Final = 1
_COUNTED: Final = ("bytes", "partition", "receive_count")
"""Numbers of which there are few different ones."""
_ENCODED: Final = tuple(c.name for c in COLUMNS if c.form == "label") + _COUNTED
_LOOKED_UP: Final = ("ts_us", "event", "queue")
"""Columns whose least and most are kept, so that readers can pass over parts of a file."""


class Rotation(Struct, frozen=True):
    rows_max: int
    seconds_max: float
    bytes_max: int


class TraceFiles:
    """Used by one thread. `now_ns` is the clock of the rows."""

    def __init__(
        self,
        directory: Path,
        origin: Origin,
        rotation: Rotation,
        now_ns: Callable[[], int],
    ) -> None:
        load_libraries()
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._origin = origin
        self._rotation = rotation
        self._now_ns = now_ns
        self._number = 0
        self._file: _GrowingFile | None = None
        self._begun_ns = 0
        self._remove_leftovers()

    @property
    def rows(self) -> int:
        """Of the file that grows."""
        return self._file.rows if self._file is not None else 0

    @property
    def seconds_left(self) -> float | None:
        """Until the growing file is due; None without one."""
        if self._file is None:
            return None
        seconds = (self._now_ns() - self._begun_ns) / 1e9
        return max(0.0, self._rotation.seconds_max - seconds)

    @property
    def due(self) -> bool:
        return self._file is not None and (
            self._file.rows >= self._rotation.rows_max or self.seconds_left == 0
        )

    def add(self, chunk: Chunk) -> None:
        if self._file is None:
            self._begun_ns = self._now_ns()
            self._number += 1
            self._file = _GrowingFile(self._directory / self._name())
        for event, lane in chunk.lanes.items():
            if lane.rows:
                self._file.add(event, table_of(event, lane, self._origin))

    def finish(self) -> int:
        """Give the growing file its name; answers how many rows it has."""
        if self._file is None:
            return 0
        rows = self._file.rows
        self._file.finish()
        self._file = None
        self._remove_oldest()
        return rows

    def discard(self) -> None:
        """Let go of the growing file, whatever state it is in."""
        if self._file is not None:
            self._file.discard()
            self._file = None

    def _name(self) -> str:
        epoch_seconds = (self._begun_ns + self._origin.epoch_ns) / 1e9
        began = datetime.datetime.fromtimestamp(epoch_seconds, datetime.UTC)
        stamp = began.strftime("%Y%m%dT%H%M%S")
        return f"{PREFIX}{stamp}-{self._origin.front_end}-{self._number:06d}{SUFFIX}"

    def _remove_leftovers(self) -> None:
        """Partial files that no process holds."""
        for left in self._directory.glob(f"{PREFIX}*{SUFFIX}{PARTIAL}"):
            with contextlib.suppress(OSError), left.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                left.unlink()

    def _remove_oldest(self) -> None:
        whole = list(self._whole_files())
        total = sum(size for _, size in whole)
        # The newest stays, however small the bound is.
        for path, size in whole[:-1]:
            if total <= self._rotation.bytes_max:
                return
            path.unlink(missing_ok=True)
            total -= size

    def _whole_files(self) -> Iterator[tuple[Path, int]]:
        """Oldest first: names begin with the time."""
        for path in sorted(self._directory.glob(f"{PREFIX}*{SUFFIX}")):
            with contextlib.suppress(FileNotFoundError):
                # Another front end may keep the same directory in bounds.
                yield path, path.stat().st_size


class _GrowingFile:
    """Rows gather until they make a row group of their event, so that groups are large."""

    def __init__(self, path: Path) -> None:
        self.rows = 0
        self._path = path
        self._partial = path.with_name(path.name + PARTIAL)
        self._descriptor = os.open(self._partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        # Held to the end, to tell a file that grows from one that a dead process left.
        fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._waiting: dict[Event, list[Any]] = {}
        self._writer = _new_writer(self._partial)

    def add(self, event: Event, table: Any) -> None:
        self.rows += table.num_rows
        waiting = self._waiting.setdefault(event, [])
        waiting.append(table)
        if sum(each.num_rows for each in waiting) >= ROW_GROUP_ROWS:
            self._write(event)

    def finish(self) -> None:
        for event in list(self._waiting):
            self._write(event)
        self._writer.close()
        os.fsync(self._descriptor)
        self._partial.rename(self._path)
        directory = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
        os.close(self._descriptor)

    def discard(self) -> None:
        with contextlib.suppress(OSError, pa.ArrowException):
            self._writer.close()
        with contextlib.suppress(OSError):
            os.close(self._descriptor)
        self._partial.unlink(missing_ok=True)

    def _write(self, event: Event) -> None:
        table = pa.concat_tables(self._waiting.pop(event)).unify_dictionaries()
        self._writer.write_table(table, row_group_size=table.num_rows)


def _new_writer(path: Path) -> Any:
    deltas = {c.name: "DELTA_BINARY_PACKED" for c in COLUMNS if c.form == "int64"}
    encodings = {name: form for name, form in deltas.items() if name not in _ENCODED}
    return pq.ParquetWriter(
        str(path),
        SCHEMA,
        compression="zstd",
        compression_level=COMPRESSION_LEVEL,
        use_dictionary=list(_ENCODED),
        column_encoding={**encodings, "message_id": "DELTA_LENGTH_BYTE_ARRAY"},
        write_statistics=list(_LOOKED_UP),
    )
