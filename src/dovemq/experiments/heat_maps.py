"""A figure over two numbers as colours, with the region where it is good enough."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure as Canvas
from numpy.typing import NDArray

from dovemq.experiments.drawing import save

_MAP_INCHES: Final = (6.4, 4.4)
_COLUMNS_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class HeatMap:
    """`values` and `good` have a row for each y; NaN is left blank. `best` is a place (x, y)."""

    title: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    values: NDArray[np.float64]
    good: NDArray[np.bool_]
    best: tuple[int, int] | None = None


def draw_maps(
    title: str,
    labels: tuple[str, str, str],
    maps: Sequence[HeatMap],
    paths: Sequence[Path],
) -> None:
    """All with one scale of colours; `labels` are of x, y and the figure."""
    columns = min(len(maps), _COLUMNS_MAX)
    rows = math.ceil(len(maps) / columns)
    width, height = _MAP_INCHES
    canvas = Canvas(figsize=(width * columns, height * rows), layout="constrained")
    known = np.concatenate([each.values[np.isfinite(each.values)] for each in maps])
    scale = LogNorm(known.min(), max(known.max(), known.min() * 1.01)) if known.size else None
    for number, each in enumerate(maps, 1):
        axes = canvas.add_subplot(rows, columns, number)
        _draw_map(canvas, axes, each, labels, scale)
    canvas.suptitle(title)
    save(canvas, paths)


def _draw_map(
    canvas: Canvas, axes: Axes, each: HeatMap, labels: tuple[str, str, str], scale: LogNorm | None
) -> None:
    shown = np.ma.masked_invalid(each.values)
    image = axes.imshow(shown, origin="lower", aspect="auto", norm=scale, cmap="viridis_r")
    if scale is not None:
        canvas.colorbar(image, ax=axes, label=labels[2])
    for (row, column), good in np.ndenumerate(each.good):
        if good:
            axes.plot(column, row, "o", color="white", markersize=4)
    if each.best is not None:
        x, y = each.best
        axes.plot(x, y, "*", color="red", markersize=16)
    axes.set_xticks(range(len(each.x)), [f"{value:g}" for value in each.x])
    axes.set_yticks(range(len(each.y)), [f"{value:g}" for value in each.y])
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.set_title(each.title, fontsize="medium")
