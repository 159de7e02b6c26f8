"""loop: traces of the real service calibrate a model, and what it predicts is measured.

Not a figure of a paper: the loop that the product is about. What is run is told in `loop_cases`.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from dovemq.experiments.figure import Curve, Effort, Figure, Panel, Verdict
from dovemq.experiments.loop_cases import (
    CONSUMERS,
    CONSUMERS_CALIBRATED,
    FRONT_END_BATCH,
    FRONT_END_CALIBRATED,
    FULL,
    HALF_WIDTH_MAX,
    QUICK,
    WORK_MS,
    Point,
    consumers,
    front_end,
)
from dovemq.experiments.processors import PAUSE_SECONDS
from dovemq.experiments.service_runs import SPEED_SHARE_MIN, WAITING_STOLEN_SHARE_MAX
from dovemq.load.costs import ATTEMPTS_MAX, STOLEN_SHARE_MAX

ERROR_MAX: Final = 0.15


def predicted_and_measured(effort: Effort) -> Figure:
    scale = QUICK if effort.quick else FULL
    told = consumers(effort.seed, scale, effort.tell), front_end(effort.seed, scale, effort.tell)
    return figure_of([point for points in told for point in points])


def figure_of(points: Sequence[Point]) -> Figure:
    cases = list(dict.fromkeys(point.case for point in points))
    return Figure(
        "Mean sojourn, predicted by a model from traces and measured in the service",
        _columns(points),
        tuple(_panel(case, [each for each in points if each.case == case]) for case in cases),
        tuple(verdict_on(point) for point in points),
        (
            f"A model is calibrated from the first {CONSUMERS_CALIBRATED:.0%} of each round of "
            f"consumers, {FRONT_END_CALIBRATED:.0%} of the front end's, and measured in the rest. "
            f"There are rounds until the mean is known to {HALF_WIDTH_MAX:.0%}, or enough.",
            f"{CONSUMERS} consumers work {WORK_MS} ms on average, exponentially; what the model "
            "has is what the trace tells of it, with the consumers' delays.",
            f"The front end gets sends of {FRONT_END_BATCH}, and takes all that wait into one "
            "commit. What the model has is how long a commit of so many takes, how many come just "
            "in time for one, and what a request takes besides; measured is how long it took for "
            "its client. The load is the share of time in which the front end has something in "
            "hand.",
            "The service has a processor to itself if there are two or more, and its data are in "
            "memory if there is a place for files there.",
            f"A round of which others on the same hardware took more than {STOLEN_SHARE_MAX:.0%}, "
            f"or {WAITING_STOLEN_SHARE_MAX:.0%} of consumers, is made again, {ATTEMPTS_MAX} times "
            "at most, and then left out; so is one of the front end in which a processor was away "
            f"for {1_000 * PAUSE_SECONDS:.0f} ms, or the front end's had less than "
            f"{SPEED_SHARE_MIN:.0%} of usual speed.",
        ),
    )


def verdict_on(point: Point) -> Verdict:
    """Nothing is told of a mean that is not known well enough itself."""
    return Verdict(
        f"{point.case} at {point.load:.0%}: the predicted mean sojourn is within 15 % of the "
        "measured one, whose interval is within 5 %",
        abs(point.error) <= ERROR_MAX if point.known else None,
        point.found,
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
