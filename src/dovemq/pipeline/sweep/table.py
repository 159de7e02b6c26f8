"""The results of a sweep as a table: one row per configuration, each figure with its interval."""

import math
from typing import Any

import pyarrow as pa

from dovemq.models.sweeping import Findings, Sweep


def results(sweep: Sweep, findings: Findings) -> pa.Table:
    """Unknown values, of unstable configurations or without observations, are null."""
    rows = [_row(sweep, findings, number) for number in range(len(sweep.points))]
    names = list(rows[0])
    return pa.table({name: _column(name, [row[name] for row in rows]) for name in names})


def _row(sweep: Sweep, findings: Findings, number: int) -> dict[str, Any]:
    row: dict[str, Any] = {"configuration": number}
    row |= dict(zip(sweep.axes, sweep.points[number], strict=True))
    row["seed"] = sweep.seed_of(number)
    row["stable"] = findings.stable[number]
    row["replications"] = findings.replications(number)
    row["content"] = findings.content(number)
    for measure, estimate in zip(sweep.question.measures, findings.estimates(number), strict=True):
        row[measure] = _known(estimate.mean)
        row[f"{measure}_low"] = _known(estimate.low)
        row[f"{measure}_high"] = _known(estimate.high)
    return row


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _column(name: str, values: list[Any]) -> pa.Array:
    """An axis may mix numbers and text; a column of unknown figures is still numeric."""
    kinds = {type(value) for value in values if value is not None}
    if name == "stable":
        return pa.array(values, pa.bool_())
    if not kinds or kinds == {int, float}:
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    if len(kinds) > 1:
        return pa.array([str(value) for value in values])
    return pa.array(values)
