"""Panels drawn by matplotlib, without a display; equal data give equal files."""

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from dovemq.experiments.figure import Curve, Panel

_PANEL_INCHES: Final = (5.6, 4.0)
_DOTS_PER_INCH: Final = 110
_COLUMNS_MAX: Final = 3
_TITLE_CHARACTERS: Final = 50
_NO_DATE: Final[dict[str, dict[str, str | None]]] = {".svg": {"Date": None}, ".png": {}}


def draw(title: str, panels: Sequence[Panel], paths: Sequence[Path]) -> None:
    """The ending of each path says the format: .png, .svg or .pdf."""
    columns = min(len(panels), _COLUMNS_MAX)
    rows = math.ceil(len(panels) / columns)
    width, height = _PANEL_INCHES
    canvas = Canvas(figsize=(width * columns, height * rows), layout="constrained")
    for number, panel in enumerate(panels, 1):
        _draw_panel(canvas.add_subplot(rows, columns, number), panel)
    canvas.suptitle("\n".join(textwrap.wrap(title, _TITLE_CHARACTERS * columns)))
    save(canvas, paths)


def save(canvas: Canvas, paths: Sequence[Path]) -> None:
    with matplotlib.rc_context({"svg.hashsalt": "dovemq", "svg.fonttype": "none"}):
        for path in paths:
            canvas.savefig(path, dpi=_DOTS_PER_INCH, metadata=_NO_DATE.get(path.suffix, {}))


def _draw_panel(axes: Axes, panel: Panel) -> None:
    for curve in panel.curves:
        _draw_curve(axes, curve)
    axes.set_title(panel.title)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize="small")


def _draw_curve(axes: Axes, curve: Curve) -> None:
    kept = [place for place, value in enumerate(curve.y) if math.isfinite(value)]
    x, y = [curve.x[place] for place in kept], [curve.y[place] for place in kept]
    if curve.points:
        axes.plot(x, y, "o", label=curve.label, markersize=5, fillstyle="none")
        return
    (line,) = axes.plot(x, y, label=curve.label)
    if curve.low and curve.high:
        low, high = [curve.low[place] for place in kept], [curve.high[place] for place in kept]
        axes.fill_between(x, low, high, alpha=0.2, color=line.get_color())
