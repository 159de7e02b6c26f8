"""The table of all runs: one row for each store and fault."""

import statistics
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from bench.shared_faults.runs import RunAccount
from bench.tables import Row

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "faults.md"
BEGIN: Final = "<!-- from here on written by python -m bench.shared_faults --publish -->"
END: Final = "<!-- up to here: several front ends -->"
LEFT: Final = ("store", "fault")


def rows_of(accounts: Sequence[RunAccount]) -> list[Row]:
    cells: dict[tuple[str, str], list[RunAccount]] = {}
    for account in accounts:
        cells.setdefault((account.store, account.fault), []).append(account)
    return [_row(*key, runs) for key, runs in cells.items()]


def _row(store: str, fault: str, runs: Sequence[RunAccount]) -> Row:
    gaps = [each.gap_ms / 1_000 for each in runs]
    return {
        "store": store,
        "fault": fault,
        "runs": len(runs),
        "messages": sum(each.messages for each in runs),
        "lost": _sum(runs, "lost"),
        "returned": _sum(runs, "returned"),
        "other wrong": sum(sum(each.wrong.values()) for each in runs)
        - _sum(runs, "lost")
        - _sum(runs, "returned"),
        "duplicates": sum(sum(each.duplicates.values()) for each in runs),
        "out of order %": round(100 * _mean(each.out_of_order_rate for each in runs), 2),
        "displacement": round(_mean(each.average_displacement for each in runs), 2),
        "fail-over s, median": round(statistics.median(gaps), 1),
        "most": round(max(gaps), 1),
        "errors answered": sum(each.answered for each in runs),
        "without answer": sum(each.unanswered for each in runs),
    }


def _sum(runs: Iterable[RunAccount], violation: str) -> int:
    return sum(each.violations.get(violation, 0) for each in runs)


def _mean(values: Iterable[float]) -> float:
    return statistics.fmean(values)


def markdown(rows: Sequence[Row]) -> Iterator[str]:
    heads = list(rows[0])
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "|".join("---" if head in LEFT else "--:" for head in heads) + "|"
    for row in rows:
        yield "| " + " | ".join(_cell(row[head]) for head in heads) + " |"


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def publish(accounts: Sequence[RunAccount]) -> None:
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, behind = rest.partition(END)
    table = "\n".join(markdown(rows_of(accounts)))
    PAGE.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{behind}")
