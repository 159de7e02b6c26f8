"""Panels drawn by matplotlib, without a display; equal data give equal files."""

import math
import textwrap
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Final, TypeAlias

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from dovemq.experiments.figure import Curve, Panel

_PANEL_INCHES: Final = (5.6, 4.0)
_LEGEND_ROW_INCHES: Final = 0.185
_LEGEND_CHARACTER_INCHES: Final = 0.075
_LEGEND_LINE_INCHES: Final = 0.7
_CATEGORY_CHARACTER_INCHES: Final = 0.06
_DOTS_PER_INCH: Final = 110
_COLUMNS_MAX: Final = 3
_COLOURS: Final = 10
_HEADROOM: Final = 1.05
_MARK_STYLES: Final = (":", "-.", (0, (1, 4)))
_TITLE_CHARACTERS_INCH: Final = 8.5
_LEGEND_CHARACTERS: Final = 34
_Legend: TypeAlias = dict[str, Artist]
_NO_DATE: Final[dict[str, dict[str, str | None]]] = {".svg": {"Date": None}, ".png": {}}


def draw(title: str, panels: Sequence[Panel], paths: Sequence[Path]) -> None:
    """Draws all panels with their legends beside them, in the format of each path's ending.

    If all have the same, it stands beside the last of each row. The endings are .png, .svg and
    .pdf.
    """
    # Four panels make a square.
    columns = 2 if len(panels) == 4 else min(len(panels), _COLUMNS_MAX)
    rows = math.ceil(len(panels) / columns)
    canvas = Canvas(layout="constrained")
    colours: dict[str, str] = {}
    places, legends = [], []
    for number, panel in enumerate(panels, 1):
        places.append(canvas.add_subplot(rows, columns, number))
        legends.append(_draw_panel(places[-1], panel, colours))
    width, height = columns * _PANEL_INCHES[0], rows * _panel_inches_high(legends)
    width += sum(_add_legends(places, legends, columns))
    height += _CATEGORY_CHARACTER_INCHES * max(
        (len(name) for panel in panels for name in panel.x_names), default=0
    )
    canvas.set_size_inches(width, height)
    canvas.suptitle("\n".join(textwrap.wrap(title, int(_TITLE_CHARACTERS_INCH * width))))
    save(canvas, paths)


def _panel_inches_high(legends: Sequence[_Legend]) -> float:
    """A panel is as high as its legend at least."""
    rows = max(sum(label.count("\n") + 1 for label in _wrapped(each)) for each in legends)
    return max(_PANEL_INCHES[1], _LEGEND_ROW_INCHES * rows + 0.5)


def _add_legends(
    places: Sequence[Axes], legends: Sequence[_Legend], columns: int
) -> Iterator[float]:
    """Adds legends to the right of panels; gives the width that each column needs for them."""
    widths = [0.0] * columns
    is_shared = all(list(each) == list(legends[0]) for each in legends)
    for number, (place, legend) in enumerate(zip(places, legends, strict=True)):
        column = number % columns
        is_last = number + 1 == len(legends) or column + 1 == columns
        if legend and (is_last or not is_shared):
            labels = _wrapped(legend)
            place.legend(
                legend.values(),
                labels,
                loc="upper left",
                bbox_to_anchor=(1.01, 1.0),
                borderaxespad=0.0,
                fontsize="small",
            )
            lines = [line for label in labels for line in label.split("\n")]
            longest = _LEGEND_LINE_INCHES + _LEGEND_CHARACTER_INCHES * max(map(len, lines))
            widths[column] = max(widths[column], longest)
    yield from widths


def _wrapped(legend: _Legend) -> list[str]:
    return ["\n".join(textwrap.wrap(label, _LEGEND_CHARACTERS)) for label in legend]


def save(canvas: Canvas, paths: Sequence[Path]) -> None:
    with matplotlib.rc_context({"svg.hashsalt": "dovemq", "svg.fonttype": "none"}):
        for path in paths:
            canvas.savefig(path, dpi=_DOTS_PER_INCH, metadata=_NO_DATE.get(path.suffix, {}))


def _draw_panel(axes: Axes, panel: Panel, colours: dict[str, str]) -> _Legend:
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
