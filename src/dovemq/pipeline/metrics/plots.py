"""The windows of each queue, drawn over time."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from matplotlib.figure import Figure

if TYPE_CHECKING:
    from dovemq.pipeline.metrics.report import MetricsReport

_INCHES: Final = (11.0, 9.0)
_DOTS_PER_INCH: Final = 110
_PANELS: Final = (
    ("messages per second", ("sent_rate", "received_rate", "settled_rate"), 1.0),
    ("response time, ms", ("send_p50_us", "send_p99_us", "receive_p50_us", "receive_p99_us"), 1e3),
    ("time in queue, s", ("waiting_p50_us", "waiting_p99_us", "sojourn_mean_us"), 1e6),
    ("number in queue", ("number_mean",), 1.0),
    ("rate within the window", ("window_out_of_order_rate", "duplication_rate", "loss_rate"), 1.0),
    ("displacement within the window", ("window_average_displacement",), 1.0),
)
"""Title, columns, and what they are divided by."""
QUEUES_MAX: Final = 50


def plot(found: "MetricsReport", directory: Path) -> list[Path]:
    """One picture per queue, for the first `QUEUES_MAX`."""
    rows = found.by_window.to_pylist()
    queues = list(dict.fromkeys(row["queue"] for row in rows))[:QUEUES_MAX]
    paths = []
    for place, queue in enumerate(queues, 1):
        name = re.sub(r"[^\w.-]", "_", queue)
        paths.append(directory / f"{place}-{name}.png")
        _draw(queue, [row for row in rows if row["queue"] == queue], paths[-1])
    return paths


def _draw(queue: str, rows: list[dict[str, Any]], path: Path) -> None:
    canvas = Figure(figsize=_INCHES, layout="constrained")
    began_us = rows[0]["window_start_us"]
    seconds = [(row["window_start_us"] - began_us) / 1e6 for row in rows]
    for place, (title, names, unit) in enumerate(_PANELS, 1):
        axes = canvas.add_subplot(3, 2, place)
        for name in names:
            values = [float("nan") if row[name] is None else row[name] / unit for row in rows]
            axes.plot(seconds, values, ".-", label=name)
        axes.set_title(title)
        axes.set_xlabel("seconds")
        axes.set_ylim(bottom=0)
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize="small")
    canvas.suptitle(queue)
    canvas.savefig(path, dpi=_DOTS_PER_INCH)
