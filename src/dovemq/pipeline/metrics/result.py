"""What a run of metrics gives back: tables, and what was left out of them and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dovemq.pipeline.metrics.sources import Refusal, Traces

QUARANTINE: Final = pa.schema(
    [
        ("file", pa.string()),
        ("reason", pa.string()),
        ("rows", pa.int64()),
        ("ts_us", pa.int64()),
        ("event", pa.string()),
        ("queue", pa.string()),
        ("message_id", pa.string()),
    ]
)
"""One row for each bad row, and one for each file that was refused as a whole."""
QUARANTINE_ROWS_MAX: Final = 1_000_000
"""Rows that are kept; all are counted by their reason."""

Bad: TypeAlias = tuple[Any, Mapping[str, int]]
"""Rows of quarantine, and how many there are by reason."""
NONE_BAD: Final[Bad] = (QUARANTINE.empty_table(), {})


@dataclass(frozen=True, slots=True)
class Metrics:
    """`rows` were believed; `reasons` counts the rows that were not, by reason; `refused` are the
    files that were not read at all."""

    by_queue: Any
    by_window: Any
    overall: Any
    quarantine: Any
    rows: int
    reasons: Mapping[str, int]
    refused: tuple[Refusal, ...]
    engine: str

    @classmethod
    def of(
        cls, traces: Traces, bad: Bad, requests: Any, levels: tuple[Any, Any, Any], engine: str
    ) -> "Metrics":
        """`levels` are the tables by queue, by window and overall."""
        kept, counted = bad
        reasons = dict(counted)
        for each in traces.refused:
            reasons[each.reason] = reasons.get(each.reason, 0) + each.rows
        quarantine = pa.concat_tables([_refused(traces), kept])
        rows = _believed(requests)
        return cls(*levels, quarantine, rows, reasons, traces.refused, engine)

    @property
    def quarantined(self) -> int:
        return sum(self.reasons.values())

    @property
    def sound(self) -> bool:
        """No row and no file was left out; a refused file may have no row that can be counted."""
        return not self.quarantine.num_rows

    def write(self, directory: Path) -> list[Path]:
        directory.mkdir(parents=True, exist_ok=True)
        tables = {
            "metrics_by_queue": self.by_queue,
            "metrics_by_window": self.by_window,
            "overall": self.overall,
            "quarantine": self.quarantine,
        }
        paths = [directory / f"{name}.parquet" for name in tables]
        for path, table in zip(paths, tables.values(), strict=True):
            pq.write_table(table, path)
        return paths


def bad_rows(traces: Traces, requests: Any) -> int:
    """What the footers count beyond what became part of a request."""
    return traces.rows - _believed(requests)


def _believed(requests: Any) -> int:
    return pc.sum(requests["rows"]).as_py() or 0


def _refused(traces: Traces) -> Any:
    rows = [
        {"file": str(each.path), "reason": each.reason, "rows": each.rows}
        for each in traces.refused
    ]
    return pa.Table.from_pylist(rows, QUARANTINE)


def front_end_keys(requests: Any) -> list[int]:
    """In the order of the front ends' names, by which ties of time are broken."""
    names = requests.group_by(["front_end", "front_end_key"]).aggregate([]).sort_by("front_end")
    keys: list[int] = names["front_end_key"].to_pylist()
    return keys
