"""Panels drawn by matplotlib, without a display; equal data give equal files."""

import math
import textwrap
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Final

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from dovemq.experiments.figure import Curve, Panel

_PANEL_INCHES: Final = (5.6, 4.0)
_LEGEND_ROW_INCHES: Final = 0.2
_LEGEND_CHARACTER_INCHES: Final = 0.075
_LEGEND_LINE_INCHES: Final = 0.7
_CATEGORY_CHARACTER_INCHES: Final = 0.06
_DOTS_PER_INCH: Final = 110
_COLUMNS_MAX: Final = 3
_COLOURS: Final = 10
_HEADROOM: Final = 1.05
_MARK_STYLES: Final = (":", "-.", (0, (1, 4)))
_TITLE_CHARACTERS: Final = 50
_NO_DATE: Final[dict[str, dict[str, str | None]]] = {".svg": {"Date": None}, ".png": {}}


def draw(title: str, panels: Sequence[Panel], paths: Sequence[Path]) -> None:
    """Draws all panels with one legend below them, in the format of each path's ending.

    The endings are .png, .svg and .pdf.
    """
    # Four panels make a square.
    columns = 2 if len(panels) == 4 else min(len(panels), _COLUMNS_MAX)
    rows = math.ceil(len(panels) / columns)
    width, height = columns * _PANEL_INCHES[0], rows * _PANEL_INCHES[1]
    height += _CATEGORY_CHARACTER_INCHES * max(
        (len(name) for panel in panels for name in panel.x_names), default=0
    )
    canvas = Canvas(layout="constrained")
    colours: dict[str, str] = {}
    legend: dict[str, Artist] = {}
    for number, panel in enumerate(panels, 1):
        legend |= _draw_panel(canvas.add_subplot(rows, columns, number), panel, colours)
    if legend:
        longest = _LEGEND_LINE_INCHES + _LEGEND_CHARACTER_INCHES * max(map(len, legend))
        legend_columns = max(1, int(width / longest))
        height += _LEGEND_ROW_INCHES * math.ceil(len(legend) / legend_columns)
        canvas.legend(
            legend.values(),
            legend.keys(),
            loc="outside lower center",
            ncols=legend_columns,
            fontsize="small",
        )
    canvas.set_size_inches(width, height)
    canvas.suptitle("\n".join(textwrap.wrap(title, _TITLE_CHARACTERS * columns)))
    save(canvas, paths)


def save(canvas: Canvas, paths: Sequence[Path]) -> None:
    with matplotlib.rc_context({"svg.hashsalt": "dovemq", "svg.fonttype": "none"}):
        for path in paths:
            canvas.savefig(path, dpi=_DOTS_PER_INCH, metadata=_NO_DATE.get(path.suffix, {}))


def _draw_panel(axes: Axes, panel: Panel, colours: dict[str, str]) -> dict[str, Artist]:
    """Returns what the legend shows: every curve and mark that is drawn, by its label.

    `colours` has those of the families of curves that were drawn before, and gets new ones.
    """
    drawn = {}
    for curve in panel.curves:
        kept = [place for place, value in enumerate(curve.y) if math.isfinite(value)]
        if kept:
            colour = colours.setdefault(curve.family or curve.label, f"C{len(colours) % _COLOURS}")
            drawn[curve.label] = _draw_curve(axes, curve, kept, colour)
    for mark, style in zip(panel.marks, cycle(_MARK_STYLES), strict=False):
        line = axes.axvline if mark.y is None else axes.axhline
        at = mark.x if mark.y is None else mark.y
        drawn[mark.label] = line(at or 0.0, color="black", linestyle=style, linewidth=1)
    axes.set_title(panel.title)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.set_ylim(bottom=0)
    highest = axes.dataLim.ymax
    if math.isfinite(highest) and axes.get_ylim()[1] < _HEADROOM * highest:
        # Curves that are all high and flat would lie on the upper edge.
        axes.set_ylim(top=_HEADROOM * highest)
    axes.grid(visible=True, alpha=0.3)
    if panel.x_names:
        places = range(1, len(panel.x_names) + 1)
        axes.set_xticks(places, panel.x_names, rotation=90, fontsize="small")
    return drawn


def _draw_curve(axes: Axes, curve: Curve, kept: Sequence[int], colour: str) -> Artist:
    x, y, low, high = (
        [values[place] for place in kept] if values else []
        for values in (curve.x, curve.y, curve.low, curve.high)
    )
    if not curve.points:
        if low and high:
            axes.fill_between(x, low, high, alpha=0.15, color=colour, linewidth=0)
        return axes.plot(x, y, color=colour, linestyle="--" if curve.dashed else "-")[0]
    if low and high:
        axes.vlines(x, low, high, color=colour)
    marker = "D" if low and high else "o"
    return axes.plot(x, y, marker, color=colour, markersize=6, fillstyle="none")[0]
