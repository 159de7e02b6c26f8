"""loop: a model calibrated from traces of the real service, and its predictions measured.

Not a figure of a paper. `loop_cases` has the cases that are run.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from dovemq.experiments import loop_cases
from dovemq.experiments.claims import judge, relative_error
from dovemq.experiments.figure import Curve, Effort, Figure, Panel, Verdict
from dovemq.experiments.loop_cases import LoopPoint
from dovemq.experiments.service_runs import LoadedService, loaded_service
from dovemq.models.estimates import Estimate, Interval

ERROR_MAX: Final = 0.15
_READINGS: Final = (
    f"The first {loop_cases.CONSUMERS_CALIBRATED:.0%} of each round of consumers calibrates the "
    f"model, and the first {loop_cases.FRONT_END_CALIBRATED:.0%} of each round of the front end; "
    "the rest is measured.",
    f"{loop_cases.CONSUMERS} consumers work {loop_cases.WORK_MS} ms on average, with an "
    "exponential distribution. The model takes their service times, delays included, from the "
    "trace.",
    f"The front end gets sends of {loop_cases.FRONT_END_BATCH} and takes all that wait into one "
    "commit. The model knows how long a commit of each size takes, how many sends arrive just in "
    "time for one, and what a request takes besides. The load is the share of time in which the "
    "front end has a request in hand.",
    "The intervals are by rounds. Other work on this machine widens them, and can move the means.",
)


def predicted_and_measured(effort: Effort) -> Figure:
    """Each case has a server of its own, started on an empty directory."""
    quick, seed, tell = effort.quick, effort.seed, effort.tell
    with loaded_service(LoadedService) as server:
        tell("consumers, pilot run")
        rounds = loop_cases.CONSUMER_ROUNDS_QUICK if quick else loop_cases.CONSUMER_ROUNDS
        points = loop_cases.consumers(server, seed, rounds).points(server, tell)
    with loaded_service(LoadedService) as server:
        tell("front end, pilot runs")
        rounds = loop_cases.FRONT_END_ROUNDS_QUICK if quick else loop_cases.FRONT_END_ROUNDS
        points += loop_cases.front_end(server, seed, rounds).points(server, tell)
    return figure_of(points)


def figure_of(points: Sequence[LoopPoint]) -> Figure:
    cases = dict.fromkeys(point.case for point in points)
    return Figure(
        "Mean sojourn time, predicted by a model from traces and measured in the service",
        {
            "case": [point.case for point in points],
            "load": [point.load for point in points],
            "utilisation": [point.utilisation for point in points],
            "arrival_rate": [point.arrival_rate for point in points],
            "predicted_s": [point.predicted for point in points],
            "measured_s": [point.measured.mean for point in points],
            "low_s": [point.measured.low for point in points],
            "high_s": [point.measured.high for point in points],
            "error": [point.error for point in points],
        },
        tuple(_panel(case, [each for each in points if each.case == case]) for case in cases),
        tuple(verdict_on(point) for point in points),
        _READINGS,
    )


def verdict_on(point: LoopPoint) -> Verdict:
    measured = point.measured
    verdict = judge(
        f"{point.case} at {point.load:.0%}: the model predicts the mean sojourn time",
        "error relative to the measured mean",
        [relative_error(_prediction(point), measured.interval)],
        least=-ERROR_MAX,
        most=ERROR_MAX,
    )
    found = (
        f"{verdict.found}; predicted {1_000 * point.predicted:.4g} ms, measured "
        f"{1_000 * measured.mean:.4g} ms ± {point.half_width:.1%} in {measured.samples} rounds; "
        f"utilisation {point.utilisation:.2f}, {point.arrival_rate:.4g} /s"
    )
    return replace(verdict, found=found)


def _prediction(point: LoopPoint) -> Interval:
    """The prediction with its interval by rounds."""
    if all(map(math.isinf, (point.predicted, *point.predictions))):
        return Interval(math.inf, math.inf, math.inf)
    width = math.inf
    if all(map(math.isfinite, point.predictions)):
        width = Estimate(point.predictions, point.measured.confidence).half_width
    return Interval(point.predicted, point.predicted - width, point.predicted + width)


def _panel(case: str, points: Sequence[LoopPoint]) -> Panel:
    loads = tuple(point.load for point in points)
    curves = [
        Curve(
            f"{label}, 95 %",
            loads,
            tuple(1_000 * each.mean for each in estimates),
            tuple(1_000 * each.low for each in estimates),
            tuple(1_000 * each.high for each in estimates),
            points=label == "predicted",
        )
        for label, estimates in (
            ("measured", [point.measured for point in points]),
            ("predicted", [_prediction(point) for point in points]),
        )
    ]
    return Panel(case, "load, share of capacity", "mean sojourn time, ms", tuple(curves))
