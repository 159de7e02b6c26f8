"""Files of a figure: data as Parquet and CSV, panels as PNG and SVG, verdicts as JSON."""

import math
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
from pyarrow import csv, parquet

from dovemq.experiments.drawing import draw
from dovemq.experiments.figure import Cell, Figure

VERDICT_WORDS: Final = {True: "holds", False: "does not hold", None: "too short to tell"}


def publish(name: str, figure: Figure, folder: Path) -> list[Path]:
    """Writes all files of a figure; those of an earlier run are replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.table({name: list(map(_finite, values)) for name, values in figure.data.items()})
    written = [folder / f"{name}.parquet", folder / f"{name}.csv", folder / f"{name}.json"]
    parquet.write_table(table, written[0])
    csv.write_csv(table, written[1])
    written[2].write_bytes(msgspec.json.format(msgspec.json.encode(summary(name, figure))))
    if figure.panels:
        pictures = [folder / f"{name}.png", folder / f"{name}.svg"]
        draw(figure.title, figure.panels, pictures)
        written += pictures
    for drawing, svg in figure.drawings.items():
        path = folder / f"{name}-{drawing}.svg"
        path.write_text(svg)
        written.append(path)
    return written


def _finite(value: Cell) -> Cell:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def summary(name: str, figure: Figure) -> dict[str, object]:
    holds = [verdict.holds for verdict in figure.verdicts]
    return {
        "id": name,
        "title": figure.title,
        "rows": len(next(iter(figure.data.values()), ())),
        "claims": {
            "hold": holds.count(True),
            "do_not_hold": holds.count(False),
            "too_short_to_tell": holds.count(None),
        },
        "verdicts": [
            {
                "claim": each.claim,
                "threshold": each.threshold,
                "holds": each.holds,
                "verdict": VERDICT_WORDS[each.holds],
                "found": each.found,
            }
            for each in figure.verdicts
        ],
        "readings": list(figure.readings),
    }
