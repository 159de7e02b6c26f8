"""Results as a table for people or as JSON for programs."""

import argparse
import json
from collections.abc import Mapping, Sequence

Row = Mapping[str, str | int | float | bool | None]


def parser_of(name: str, summary: str | None) -> argparse.ArgumentParser:
    """A parser with `--json`, which every benchmark has."""
    parser = argparse.ArgumentParser(
        prog=f"python -m bench.{name}",
        description=summary,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


def show(rows: Sequence[Row], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(list(rows), indent=2))
        return
    columns = list(dict.fromkeys(column for row in rows for column in row))
    cells = [columns, *([_text(row.get(column)) for column in columns] for row in rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(columns))]
    for line in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1_000 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "-" if value is None else str(value)
