"""Files of a figure: data as Parquet and CSV, panels as PNG and SVG, the result as JSON."""

import math
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyarrow import csv, parquet

from dovemq.experiments.drawing import draw
from dovemq.experiments.figure import Cell, Figure
from dovemq.experiments.provenance import QUICK, Provenance
from dovemq.experiments.results import result_of, write_result

QUICK_TITLE: Final = "Quick form: few and short runs. "


def publish(name: str, figure: Figure, folder: Path, run: Provenance | None = None) -> list[Path]:
    """Writes all files of a figure; those of an earlier run are replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.table({name: list(map(_finite, values)) for name, values in figure.data.items()})
    written = [folder / f"{name}.parquet", folder / f"{name}.csv"]
    parquet.write_table(table, written[0])
    csv.write_csv(table, written[1])
    if figure.panels:
        pictures = [folder / f"{name}.png", folder / f"{name}.svg"]
        quick = run is not None and run.form == QUICK
        draw(f"{QUICK_TITLE if quick else ''}{figure.title}", figure.panels, pictures)
        written += pictures
    for drawing, svg in figure.drawings.items():
        path = folder / f"{name}-{drawing}.svg"
        path.write_text(svg)
        written.append(path)
    result = result_of(name, figure, run, [path.name for path in written])
    return [*written, write_result(result, folder)]


def _finite(value: Cell) -> Cell:
    return None if isinstance(value, float) and not math.isfinite(value) else value
