"""Runs a sweep from its first replication to its results, or continues one.

The results are a table with one row per configuration, each figure with its interval.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import Any, Final, TypeAlias

import pyarrow as pa

from dovemq.models.sweeping import Sweep, SweepFindings
from dovemq.pipeline.sweep.ledger import SweepLedger
from dovemq.pipeline.sweep.replicating import ASKED, Replicate

KEEP_SECONDS: Final = 10.0
ROWS_FIRST: Final = 32
ROWS_MAX: Final = 100_000
_GROWTH_MAX: Final = 4.0

Clock: TypeAlias = Callable[[], float]


@dataclass(slots=True)
class SweepProgress:
    """The progress of a sweep. `known` grows until the intervals are narrow enough."""

    done: int = 0
    known: int = 0
    under_way: int = 0


class BatchSizer:
    """Chooses how many rows to run between two saves, so that this takes about `seconds`."""

    def __init__(self, clock: Clock, seconds: float = KEEP_SECONDS) -> None:
        self._clock = clock
        self._seconds = seconds
        self._rows = float(ROWS_FIRST)
        self._begun = 0.0

    def begin(self) -> int:
        self._begun = self._clock()
        return int(self._rows)

    def end(self, rows: int) -> None:
        """Adapts in steps, because rows differ in cost."""
        taken = max(self._clock() - self._begun, 1e-9)
        wanted = rows * self._seconds / taken
        lowest, highest = self._rows / _GROWTH_MAX, self._rows * _GROWTH_MAX
        self._rows = min(max(wanted, lowest, 1.0), highest, ROWS_MAX)


def take_up(sweep: Sweep, ledger: SweepLedger) -> SweepFindings:
    """Returns the findings that are saved already."""
    findings = SweepFindings(sweep)
    _add(findings, ledger.rows())
    return findings


def run_sweep(
    findings: SweepFindings,
    replicate: Replicate,
    ledger: SweepLedger,
    pace: BatchSizer,
    standing: SweepProgress,
    stopping: Event | None = None,
) -> None:
    """Runs the sweep. Setting `stopping` makes it return soon; finished rows are kept."""
    stopping = stopping or Event()
    standing.done = findings.done
    while asked := findings.asked():
        standing.known = standing.done + len(asked)
        while asked:
            if stopping.is_set():
                return
            count = pace.begin()
            now, asked = asked[:count], asked[count:]
            standing.under_way = len(now)
            rows = replicate(_table(now))
            ledger.keep(rows)
            standing.done += len(now)
            standing.under_way = 0
            pace.end(len(now))
            _add(findings, rows)


def _table(asked: list[tuple[int, int]]) -> pa.Table:
    configurations, replications = zip(*asked, strict=True)
    return pa.table([list(configurations), list(replications)], schema=ASKED)


def _add(findings: SweepFindings, rows: pa.Table) -> None:
    columns = (rows.column(name).to_pylist() for name in rows.column_names)
    for configuration, replication, values in zip(*columns, strict=True):
        findings.add(configuration, replication, [math.nan if v is None else v for v in values])


def results(sweep: Sweep, findings: SweepFindings) -> pa.Table:
    """Unknown values, of unstable configurations or without observations, are null."""
    rows = [_row(sweep, findings, number) for number in range(len(sweep.points))]
    names = list(rows[0])
    return pa.table({name: _column(name, [row[name] for row in rows]) for name in names})


def _row(sweep: Sweep, findings: SweepFindings, number: int) -> dict[str, Any]:
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
