"""loop: traces of the real service calibrate a model, and what it predicts is measured.

Not a figure of a paper: the loop that the product is about. What is run is told in `loop_cases`.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from dovemq.experiments.figure import Curve, Effort, Figure, Panel, Verdict
from dovemq.experiments.loop_cases import (
    CONSUMERS,
    FRONT_END_BATCH,
    FULL,
    QUICK,
    WORK_MS,
    Point,
    consumers,
    front_end,
)
from dovemq.experiments.service_runs import WAITING_STOLEN_SHARE_MAX
from dovemq.load.costs import ATTEMPTS_MAX, STOLEN_SHARE_MAX

ERROR_MAX: Final = 0.15
HALF_WIDTH_MAX: Final = 0.05


def predicted_and_measured(effort: Effort) -> Figure:
    scale = QUICK if effort.quick else FULL
    return figure_of([*consumers(effort.seed, scale), *front_end(effort.seed, scale)])


def figure_of(points: Sequence[Point]) -> Figure:
    cases = list(dict.fromkeys(point.case for point in points))
    return Figure(
        "Mean sojourn, predicted by a model from traces and measured in the service",
        _columns(points),
        tuple(_panel(case, [each for each in points if each.case == case]) for case in cases),
        tuple(verdict_on(point) for point in points),
        (
            "A model is calibrated from the first quarter of each round, and measured in the rest.",
            f"{CONSUMERS} consumers work {WORK_MS} ms on average, exponentially; what the model "
            "has is what the trace tells of it, with the consumers' delays.",
            f"The front end gets sends of {FRONT_END_BATCH}. Its speed by number in hand is that "
            "of closed loops of senders, in turns with what is measured; the load is the share of "
            "time in which it has something in hand.",
            f"A round of which others on the same hardware took more than {STOLEN_SHARE_MAX:.0%}, "
            f"or {WAITING_STOLEN_SHARE_MAX:.0%} of consumers, is made again, {ATTEMPTS_MAX} times "
            "at most, and then left out.",
        ),
    )


def verdict_on(point: Point) -> Verdict:
    """Nothing is told of a mean that is not known well enough itself."""
    found = (
        f"predicted {1_000 * point.predicted:.4g} ms, measured {1_000 * point.measured.mean:.4g} "
        f"± {point.half_width:.1%}: {point.error:+.1%}; utilisation {point.utilisation:.2f}, "
        f"{point.arrival_rate:.4g} /s; {point.measured.samples} {point.measured.by}"
    )
    known = point.half_width <= HALF_WIDTH_MAX
    return Verdict(
        f"{point.case} at {point.load:.0%}: the predicted mean sojourn is within 15 % of the "
        "measured one, whose interval is within 5 %",
        abs(point.error) <= ERROR_MAX if known else None,
        found,
    )


def _columns(points: Sequence[Point]) -> dict[str, list[Any]]:
    parts: dict[str, Callable[[Point], Any]] = {
        "case": lambda point: point.case,
        "load": lambda point: point.load,
        "utilisation": lambda point: point.utilisation,
        "arrival_rate": lambda point: point.arrival_rate,
        "predicted_s": lambda point: _finite(point.predicted),
        "measured_s": lambda point: point.measured.mean,
        "low_s": lambda point: point.measured.low,
        "high_s": lambda point: point.measured.high,
        "error": lambda point: _finite(point.error),
    }
    return {name: [part(point) for point in points] for name, part in parts.items()}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _panel(case: str, points: Sequence[Point]) -> Panel:
    loads = tuple(point.load for point in points)
    measured = [point.measured for point in points]
    return Panel(
        f"{case}: predicted and measured",
        "load",
        "mean sojourn, ms",
        (
            Curve(
                "measured, 95 %",
                loads,
                tuple(1_000 * each.mean for each in measured),
                tuple(1_000 * each.low for each in measured),
                tuple(1_000 * each.high for each in measured),
            ),
            Curve(
                "predicted", loads, tuple(1_000 * point.predicted for point in points), points=True
            ),
        ),
    )
