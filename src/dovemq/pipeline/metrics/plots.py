"""Draws the windows of each queue over time, as one PNG file per queue."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

if TYPE_CHECKING:
    from dovemq.pipeline.metrics.report import MetricsReport

_INCHES: Final = (13.0, 10.0)
_DOTS_PER_INCH: Final = 110
_TICKS_MAX: Final = 6
QUEUES_MAX: Final = 50


class _Panel(NamedTuple):
    """One picture: its curves by column, and the number that turns a value into the axis's unit."""

    title: str
    unit: str
    curves: dict[str, str]
    divisor: float = 1.0


_PANELS: Final = (
    _Panel(
        "Throughput",
        "messages per second",
        {"sent_rate": "sent", "received_rate": "received", "settled_rate": "settled"},
    ),
    _Panel(
        "Response time of the server",
        "milliseconds",
        {
            "send_p50_us": "send, median",
            "send_p99_us": "send, 99th percentile",
            "receive_p50_us": "receive, median",
            "receive_p99_us": "receive, 99th percentile",
        },
        1e3,
    ),
    _Panel(
        "Time of a message",
        "seconds",
        {
            "waiting_p50_us": "until first received, median",
            "waiting_p99_us": "until first received, 99th percentile",
            "sojourn_mean_us": "until settled, mean",
        },
        1e6,
    ),
    _Panel("Messages in the queue", "messages", {"number_mean": "mean of the window"}),
    _Panel(
        "Consistency within the window",
        "percent of messages",
        {
            "window_out_of_order_rate": "out of order",
            "duplication_rate": "duplicates",
            "loss_rate": "lost",
        },
        0.01,
    ),
    _Panel(
        "Displacement within the window",
        "places per message",
        {"window_average_displacement": "mean distance from the place in order"},
    ),
)


def plot(report: "MetricsReport", directory: Path) -> list[Path]:
    """Draws the first `QUEUES_MAX` queues and returns the files."""
    rows = report.by_window.to_pylist()
    queues = list(dict.fromkeys(row["queue"] for row in rows))[:QUEUES_MAX]
    paths = []
    for number, queue in enumerate(queues, 1):
        name = re.sub(r"[^\w.-]", "_", queue)
        paths.append(directory / f"{number}-{name}.png")
        _draw(queue, [row for row in rows if row["queue"] == queue], paths[-1])
    return paths


def _draw(queue: str, rows: list[dict[str, Any]], path: Path) -> None:
    canvas = Figure(figsize=_INCHES, layout="constrained")
    seconds = [row["window_start_us"] / 1e6 for row in rows]
    for number, panel in enumerate(_PANELS, 1):
        axes = canvas.add_subplot(3, 2, number)
        for name, label in panel.curves.items():
            values = [
                float("nan") if row[name] is None else row[name] / panel.divisor for row in rows
            ]
            axes.plot(seconds, values, ".-", label=label)
        axes.set_title(panel.title)
        axes.set_xlabel(f"start of the window, UTC, {_utc(seconds[0]):%Y-%m-%d}")
        axes.set_ylabel(panel.unit)
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_formatter(lambda seconds, _: f"{_utc(seconds):%H:%M:%S}")
        axes.xaxis.set_major_locator(MaxNLocator(_TICKS_MAX, integer=True))
        axes.grid(visible=True, alpha=0.3)
        axes.legend(
            fontsize="small",
            loc="upper center",
            bbox_to_anchor=(0.5, -0.25),
            ncols=2,
            frameon=False,
        )
    canvas.suptitle(f"Queue {queue}")
    canvas.savefig(path, dpi=_DOTS_PER_INCH)


def _utc(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
