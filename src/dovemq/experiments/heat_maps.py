"""Heat maps of a measure over two numbers, with the spots that are good enough."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure as Canvas

from dovemq.experiments.drawing import save

_MAP_INCHES: Final = (6.4, 4.4)
_COLUMNS_MAX: Final = 3

Spot: TypeAlias = tuple[float, float]
"""A value of x and one of y."""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A spot without a value stays blank; `good` spots have a dot, the `best` has a star."""

    title: str
    values: Mapping[Spot, float]
    good: frozenset[Spot]
    best: Spot | None = None


def draw_maps(
    title: str,
    labels: tuple[str, str, str],
    axes: tuple[Sequence[float], Sequence[float]],
    maps: Sequence[HeatMap],
    paths: Sequence[Path],
) -> None:
    """All maps share axes and a scale of colours; `labels` are of x, y and the measure."""
    columns = min(len(maps), _COLUMNS_MAX)
    rows = math.ceil(len(maps) / columns)
    width, height = _MAP_INCHES
    canvas = Canvas(figsize=(width * columns, height * rows), layout="constrained")
    known = [value for each in maps for value in each.values.values()]
    scale = LogNorm(min(known), max(known)) if len(set(known)) > 1 else None
    for number, each in enumerate(maps, 1):
        place = canvas.add_subplot(rows, columns, number)
        _draw_map(place, each, axes, scale)
        place.set_xlabel(labels[0])
        place.set_ylabel(labels[1])
        if place.images and known:
            canvas.colorbar(place.images[0], ax=place, label=labels[2])
    canvas.suptitle(title)
    save(canvas, paths)


def _draw_map(
    place: Axes,
    each: HeatMap,
    axes: tuple[Sequence[float], Sequence[float]],
    scale: LogNorm | None,
) -> None:
    xs, ys = axes
    values = np.array([[each.values.get((x, y), math.nan) for x in xs] for y in ys])
    place.imshow(
        np.ma.masked_invalid(values), origin="lower", aspect="auto", norm=scale, cmap="viridis_r"
    )
    for x, y in sorted(each.good):
        place.plot(xs.index(x), ys.index(y), "o", color="white", markersize=4)
    if each.best is not None:
        x, y = each.best
        place.plot(xs.index(x), ys.index(y), "*", color="red", markersize=16)
    place.set_xticks(range(len(xs)), [f"{x:g}" for x in xs])
    place.set_yticks(range(len(ys)), [f"{y:g}" for y in ys])
    place.set_title(each.title, fontsize="medium")
