"""loop: a model calibrated from traces of the real service, and its predictions measured.

Not a figure of a paper. `loop_cases` has the cases that are run.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from dovemq.experiments.claims import judge, relative_error
from dovemq.experiments.figure import Column, Curve, Effort, Figure, Panel, Verdict
from dovemq.experiments.loop_cases import (
    CONSUMERS,
    CONSUMERS_CALIBRATED,
    FRONT_END_BATCH,
    FRONT_END_CALIBRATED,
    FULL,
    QUICK,
    WORK_MS,
    LoopPoint,
    consumers,
    front_end,
)
from dovemq.experiments.service_runs import loaded_service

ERROR_MAX: Final = 0.15


def predicted_and_measured(effort: Effort) -> Figure:
    scale = QUICK if effort.quick else FULL
    points: list[LoopPoint] = []
    with loaded_service() as server:
        points += consumers(server, effort.seed, scale).points(server, effort.tell)
    with loaded_service() as server:
        points += front_end(server, effort.seed, scale).points(server, effort.tell)
    return figure_of(points)


def figure_of(points: Sequence[LoopPoint]) -> Figure:
    cases = list(dict.fromkeys(point.case for point in points))
    return Figure(
        "Mean sojourn time, predicted by a model from traces and measured in the service",
        _columns(points),
        tuple(_panel(case, [each for each in points if each.case == case]) for case in cases),
        tuple(verdict_on(point) for point in points),
        (
            f"The first {CONSUMERS_CALIBRATED:.0%} of each round of consumers calibrates the "
            f"model, and the first {FRONT_END_CALIBRATED:.0%} of each round of the front end; the "
            "rest is measured.",
            f"{CONSUMERS} consumers work {WORK_MS} ms on average, with an exponential "
            "distribution. The model takes their service times, delays included, from the trace.",
            f"The front end gets sends of {FRONT_END_BATCH} and takes all that wait into one "
            "commit. The model knows how long a commit of each size takes, how many sends arrive "
            "just in time for one, and what a request takes besides. The load is the share of "
            "time in which the front end has a request in hand.",
            "The intervals are by rounds. Other work on this machine widens them, and can move "
            "the means.",
        ),
    )


def verdict_on(point: LoopPoint) -> Verdict:
    measured = point.measured
    error = relative_error(point.predicted, measured.mean, measured.low, measured.high)
    verdict = judge(
        f"{point.case} at {point.load:.0%}: the model predicts the mean sojourn time",
        f"within {ERROR_MAX:.0%} of the measured mean",
        [error],
        at_least=-ERROR_MAX,
        at_most=ERROR_MAX,
    )
    return replace(verdict, found=point.found)


def _columns(points: Sequence[LoopPoint]) -> dict[str, Column]:
    return {
        "case": [point.case for point in points],
        "load": [point.load for point in points],
        "utilisation": [point.utilisation for point in points],
        "arrival_rate": [point.arrival_rate for point in points],
        "predicted_s": [_finite(point.predicted) for point in points],
        "measured_s": [point.measured.mean for point in points],
        "low_s": [_finite(point.measured.low) for point in points],
        "high_s": [_finite(point.measured.high) for point in points],
        "error": [_finite(point.error) for point in points],
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _panel(case: str, points: Sequence[LoopPoint]) -> Panel:
    loads = tuple(point.load for point in points)
    mean, low, high, predicted = (
        tuple(1_000 * value for value in values)
        for values in (
            [point.measured.mean for point in points],
            [point.measured.low for point in points],
            [point.measured.high for point in points],
            [point.predicted for point in points],
        )
    )
    return Panel(
        case,
        "load, share of capacity",
        "mean sojourn time, ms",
        (
            Curve("measured, 95 %", loads, mean, low, high),
            Curve("predicted", loads, predicted, points=True),
        ),
    )
