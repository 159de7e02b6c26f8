"""Compares tables with the definitions: counts are equal, floats agree to 1e-9."""

import math
from collections.abc import Mapping
from typing import Any

from dovemq.pipeline.metrics.report import MetricsReport
from tests.pipeline import plain_metrics
from tests.pipeline.traces import Row

TOLERANCE = 1e-9


def differences(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    assert set(found) == set(wanted), set(found) ^ set(wanted)
    return {
        name: (found[name], wanted[name])
        for name in wanted
        if not _agree(found[name], wanted[name])
    }


def _agree(found: Any, wanted: Any) -> bool:
    if isinstance(found, float) and isinstance(wanted, float | int):
        return math.isclose(found, wanted, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(found == wanted)


def assert_by_definition(found: MetricsReport, rows: list[Row], window_us: int) -> None:
    """Compares all tables, for a trace with valid rows only."""
    queues = plain_metrics.by_queue(rows, window_us)
    windows = plain_metrics.by_window(rows, window_us)
    assert found.by_queue["queue"].to_pylist() == list(queues)
    for row in found.by_queue.to_pylist():
        assert not differences(row, {"queue": row["queue"], **queues[row["queue"]]})
    assert found.by_window.num_rows == len(windows)
    for row in found.by_window.to_pylist():
        key = row["queue"], row["window_start_us"]
        names = {"queue": key[0], "window_start_us": key[1]}
        assert not differences(row, {**names, **windows[key]})
    (row,) = found.overall.to_pylist()
    assert not differences(row, plain_metrics.overall(rows, window_us))


def assert_same(found: MetricsReport, other: MetricsReport) -> None:
    for table in ("by_queue", "by_window", "overall"):
        pairs = zip(
            getattr(found, table).to_pylist(), getattr(other, table).to_pylist(), strict=True
        )
        for mine, theirs in pairs:
            assert not differences(mine, theirs)
    assert found.rows == other.rows
    assert found.reasons == other.reasons
    assert set(found.refused) == set(other.refused)
