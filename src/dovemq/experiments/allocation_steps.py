"""elastic-fig4: work in progress after each consumer added, MinTime against Random."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from dovemq.experiments.figure import Column, Curve, Effort, Figure, Panel, Verdict
from dovemq.models.analytic import JobType, Network, Route, Topic, chain
from dovemq.models.planning import Plan, Problem, min_cost, min_time, random_time

BUDGET: Final = 10
RUNS: Final = 1_000
RUNS_QUICK: Final = 200
MINUTE_SECONDS: Final = 60.0
TARGET_SECONDS: Final = 50.0
HEAVY: Final = (3.0, 3.5, 3.0)


def case_study(rates: Sequence[float] = HEAVY) -> Network:
    """Fig. 3 of 002, rates per minute; its garbled table is read as A→B→D, A→D→D, C→D."""
    topics = (
        Topic("A", 4.2, 0.33),
        Topic("B", 3.7, 0.5),
        Topic("C", 6.7, 0.4),
        Topic("D", 5.1, 0.5),
    )
    paths = (("1", ("A", "B", "D"), 0.33), ("2", ("A", "D", "D"), 0.5), ("3", ("C", "D"), 0.25))
    jobs = tuple(
        JobType(name, rate, (Route(chain(*path)),), scv)
        for rate, (name, path, scv) in zip(rates, paths, strict=True)
    )
    return Network(topics, jobs)


def work_in_progress(effort: Effort) -> Figure:
    problem = Problem(case_study())
    best = min_time(problem, BUDGET)
    rng = np.random.default_rng(effort.seed)
    count = RUNS_QUICK if effort.quick else RUNS
    runs = [random_time(problem, BUDGET, rng) for _ in range(count)]
    chance = np.array([_series(run) for run in runs])
    ours = _series(best)
    # Infinite runs sort last, so that quantiles are right with them; a mean would not be.
    low, middle, high = np.quantile(chance, (0.1, 0.5, 0.9), axis=0, method="nearest")
    steps = tuple(float(step) for step in range(BUDGET + 1))
    return Figure(
        "Work in progress after each consumer added, λ = (3, 3.5, 3) a minute (elastic, fig. 4)",
        _data(steps, ours, {"low": low, "median": middle, "high": high}, chance, best),
        (
            Panel(
                "MinTime and Random",
                "consumers added",
                "work in progress, jobs",
                (
                    Curve("MinTime", steps, ours),
                    Curve("Random, best tenth", steps, _t(low)),
                    Curve("Random, median", steps, _t(middle)),
                    Curve("Random, worst tenth", steps, _t(high)),
                ),
            ),
        ),
        _verdicts(problem, best, ours, chance),
        (
            "M counts consumers beyond the first of each topic.",
            "At (1, 1, 1, 1) topics A and D are overloaded: the work in progress is infinite until "
            "both are stable, and not drawn. Eq. 1 as printed gives negative numbers there.",
            "Eq. 2 is read without its second λ; job 2 visits D twice.",
        ),
    )


def _verdicts(
    problem: Problem, best: Plan, ours: tuple[float, ...], chance: np.ndarray
) -> tuple[Verdict, ...]:
    known = np.isfinite(ours)
    better = chance[:, known] >= np.array(ours)[known] * (1.0 - 1e-12)
    five = min_time(problem, 5)
    target = min_cost(problem, TARGET_SECONDS / MINUTE_SECONDS)
    at_end = MINUTE_SECONDS * chance[:, -1] / sum(HEAVY)
    reached = float((at_end <= TARGET_SECONDS).mean())
    return (
        Verdict(
            "MinTime lowers the work in progress faster than Random",
            bool(better.all()),
            f"no better at any step in {better.all(axis=1).mean():.1%} of {len(chance)} runs",
        ),
        Verdict(
            "5 more consumers are given as (2, 2, 1, 4)",
            five.consumers == (2, 2, 1, 4),
            f"{five.consumers}, {MINUTE_SECONDS * five.time_per_job:.1f} s a job",
        ),
        Verdict(
            "MinCost keeps 50 s after 5 iterations",
            target.feasible and len(target.steps) == 5,
            f"{len(target.steps)} iterations, {MINUTE_SECONDS * target.time_per_job:.1f} s a job",
        ),
        Verdict(
            "Random does not reach 50 s even after 10 iterations",
            reached < 0.5,
            f"{reached:.1%} of the runs have reached it by the model",
        ),
        Verdict(
            "results of Random differ from run to run",
            len(set(chance[:, -1].round(9))) > 1,
            f"{chance[:, -1].min():.2f} to {chance[:, -1].max():.2f} jobs after {BUDGET} consumers",
        ),
    )


def _series(plan: Plan) -> tuple[float, ...]:
    """From no consumer added to all; the start of these plans is overloaded."""
    return (float("inf"), *(step.wip for step in plan.steps))


def _data(
    steps: Sequence[float],
    ours: Sequence[float],
    quantiles: dict[str, np.ndarray],
    chance: np.ndarray,
    best: Plan,
) -> dict[str, Column]:
    topics = ["", *(step.topic for step in best.steps)]
    return {
        "consumers_added": [int(step) for step in steps],
        "min_time_topic": topics,
        "min_time_wip": _finite(ours),
        **{f"random_wip_{name}": _finite(values) for name, values in quantiles.items()},
        "random_stable_share": [float(share) for share in np.isfinite(chance).mean(axis=0)],
    }


def _finite(values: Sequence[float] | np.ndarray) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


def _t(values: np.ndarray) -> tuple[float, ...]:
    return tuple(map(float, values))
