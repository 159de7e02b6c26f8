"""elastic-fig5 to elastic-fig7 on real processes: rising load, MinTime, MinCost, and Random."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from math import hypot
from typing import Final

import numpy as np

from dovemq.experiments.claims import judge
from dovemq.experiments.elastic import HEAVY, MINUTE_SECONDS, TARGET_SECONDS, case_study
from dovemq.experiments.elastic_points import (
    BACKLOG_READING,
    SCALE_READING,
    MeasuredPoint,
    measured_point,
)
from dovemq.experiments.elastic_service import PATHS, elastic_service
from dovemq.experiments.figure import Column, Curve, Effort, Figure, Panel, PaperMark, Verdict
from dovemq.experiments.intervals import interval_columns, ratio
from dovemq.models.estimates import Interval
from dovemq.models.planning import CapacityPlan, Problem, min_cost, min_time, random_time

ONE_EACH: Final = (1, 1, 1, 1)
POINT_SECONDS: Final = 60.0
POINT_SECONDS_QUICK: Final = 12.0
LIGHT: Final = (0.5, 1.0, 0.5)
FACTORS: Final = (0.5, 0.8, 1.1, 1.4)
"""Loads of fig. 5 relative to the paper's light one; D is full at 1.7."""
MEDIUM: Final = (2.0, 2.5, 2.0)
BUDGET: Final = 5
RANDOM_RUNS: Final = 3
RANDOM_RUNS_QUICK: Final = 1
RANDOM_STEPS: Final = 10
RANDOM_LOOKS: Final = (2, 4, 6, 8, 10)
QUICKLY: Final = 0.5
"""A response time has dropped quickly if it is this share of the first one after 3 consumers."""

Allocation = tuple[int, ...]


def rising_load(effort: Effort) -> Figure:
    """Fig. 5."""
    loads = [tuple(factor * rate for rate in LIGHT) for factor in FACTORS]
    cases = [(rates, ONE_EACH) for rates in loads]
    points, busyness = asyncio.run(_measured(cases, effort, 2.0))
    x = tuple(sum(point.rates) for point in points)
    curves = [_curve("all jobs", x, points)]
    curves += [_curve(f"job {name}", x, points, name) for name in PATHS]
    return Figure(
        "Response time when the load rises, one consumer a topic (elastic, fig. 5)",
        _columns(points),
        (Panel("real processes", "jobs a minute", "mean response time, s", tuple(curves)),),
        rising_claims(points),
        (SCALE_READING, BACKLOG_READING, busyness),
    )


def rising_claims(points: Sequence[MeasuredPoint]) -> tuple[Verdict, ...]:
    means = [point.all_jobs.mean for point in points]
    rises = {
        name: _rise(points[0].by_type[name].interval, points[-1].by_type[name].interval)
        for name in PATHS
    }
    return (
        Verdict(
            "the mean response time rises with the arrival rates",
            "each mean is above the one before",
            means == sorted(means),
            ", ".join(f"{each:.1f} s" for each in means),
        ),
        *(
            judge(
                f"job 3 is less affected than job {name}",
                f"rise of job {name} minus that of job 3, s",
                [_rise(rises["3"], rises[name])],
                least=0.0,
            )
            for name in ("1", "2")
        ),
    )


def _rise(first: Interval, last: Interval) -> Interval:
    mean = last.mean - first.mean
    width = hypot(first.mean - first.low, last.mean - last.low)
    return Interval(mean, mean - width, mean + width)


def min_time_steps(effort: Effort) -> Figure:
    """Fig. 6."""
    plan = min_time(Problem(case_study(MEDIUM)), BUDGET)
    ours = [plan.start, *(step.consumers for step in plan.steps)]
    chance = _random_paths(MEDIUM, BUDGET, effort)
    found, busyness = asyncio.run(
        _by_allocation(MEDIUM, [*ours, *(a for path in chance for a in path)], effort)
    )
    mine = [found[each] for each in ours]
    best = min(([found[each] for each in path] for path in chance), key=_last_mean)
    x = tuple(map(float, range(BUDGET + 1)))
    return Figure(
        "MinTime and Random, consumer by consumer (elastic, fig. 6)",
        _columns([*mine, *best], ["MinTime"] * len(mine) + ["Random"] * len(best)),
        (
            Panel(
                "all jobs",
                "consumers added",
                "mean response time, s",
                (_curve("MinTime", x, mine), _curve("Random, best run", x, best)),
            ),
            Panel(
                "MinTime by job",
                "consumers added",
                "mean response time, s",
                tuple(_curve(f"job {name}", x, mine, name) for name in PATHS),
            ),
        ),
        min_time_claims(mine, best),
        (SCALE_READING, BACKLOG_READING, _random_reading(chance), busyness),
    )


def min_time_claims(
    mine: Sequence[MeasuredPoint], best: Sequence[MeasuredPoint]
) -> tuple[Verdict, ...]:
    """`mine` are the points of MinTime by consumers added, `best` those of Random's best run."""
    return (
        judge(
            "MinTime is faster than the best of Random after 5 consumers",
            "Random / MinTime",
            [ratio(best[-1].all_jobs.interval, mine[-1].all_jobs.interval)],
            least=1.0,
        ),
        judge(
            "the time of each type of job drops quickly after a few consumers",
            "mean after 3 consumers / mean at the start, of every type",
            [
                ratio(mine[3].by_type[name].interval, mine[0].by_type[name].interval)
                for name in PATHS
            ],
            most=QUICKLY,
        ),
    )


def min_cost_steps(effort: Effort) -> Figure:
    """Fig. 7."""
    problem = Problem(case_study(HEAVY))
    plan = min_cost(problem, TARGET_SECONDS / MINUTE_SECONDS)
    further = min_time(problem, len(plan.steps) + 2)
    ours = [plan.start, *(step.consumers for step in plan.steps), further.consumers]
    chance = [
        [path[look] for look in RANDOM_LOOKS] for path in _random_paths(HEAVY, RANDOM_STEPS, effort)
    ]
    found, busyness = asyncio.run(
        _by_allocation(HEAVY, [*ours, *(a for path in chance for a in path)], effort)
    )
    mine = [found[each] for each in ours]
    best = min(([found[each] for each in path] for path in chance), key=_last_mean)
    added = [sum(each) - len(ONE_EACH) for each in ours]
    return Figure(
        "MinCost and Random until a job takes 50 s (elastic, fig. 7)",
        _columns([*mine, *best], ["MinCost"] * len(mine) + ["Random"] * len(best)),
        (
            Panel(
                "all jobs",
                "consumers added",
                "mean response time, s",
                (
                    _curve("MinCost", tuple(map(float, added)), mine),
                    _curve("Random, best run", tuple(map(float, RANDOM_LOOKS)), best),
                ),
                (PaperMark("paper's text: target of 50 s", y=TARGET_SECONDS),),
            ),
        ),
        min_cost_claims(dict(zip(added, mine, strict=True)), best[-1], plan),
        (SCALE_READING, BACKLOG_READING, _random_reading(chance), busyness),
    )


def min_cost_claims(
    mine: Mapping[int, MeasuredPoint], random: MeasuredPoint, plan: CapacityPlan
) -> tuple[Verdict, ...]:
    """`mine` has points of MinCost by consumers added, `random` is the end of Random's best run."""
    reached = [added for added, at in mine.items() if at.all_jobs.mean <= TARGET_SECONDS]
    return (
        Verdict(
            "MinCost keeps 50 s after 5 iterations",
            "number of consumers after which the measured mean is at most 50 s",
            reached[:1] == [5],
            f"{reached[0] if reached else 'not reached'}; planned {len(plan.steps)}, "
            f"{MINUTE_SECONDS * plan.time_per_job:.1f} s a job",
        ),
        judge(
            "the mean response time after 5 iterations is at most 50 s",
            "measured mean, s",
            [mine[5].all_jobs.interval] if 5 in mine else [],
            most=TARGET_SECONDS,
        ),
        judge(
            "Random does not reach 50 s even after 10 iterations",
            "measured mean of its best run, s",
            [random.all_jobs.interval],
            least=TARGET_SECONDS,
        ),
    )


def _random_paths(rates: Sequence[float], steps: int, effort: Effort) -> list[list[Allocation]]:
    """The allocations of several runs of Random, from the start on."""
    rng = np.random.default_rng(effort.seed)
    count = RANDOM_RUNS_QUICK if effort.quick else RANDOM_RUNS
    plans = [random_time(Problem(case_study(rates)), steps, rng) for _ in range(count)]
    return [[plan.start, *(step.consumers for step in plan.steps)] for plan in plans]


def _random_reading(paths: Sequence[Sequence[Allocation]]) -> str:
    ends = ", ".join(str(path[-1]) for path in paths)
    return (
        f"Random ran {len(paths)} times and ended at {ends}; the best run is shown, as in the "
        "paper. An allocation that several runs pass is measured once."
    )


def _last_mean(points: Sequence[MeasuredPoint]) -> float:
    return points[-1].all_jobs.mean


async def _by_allocation(
    rates: Sequence[float], allocations: Iterable[Allocation], effort: Effort
) -> tuple[Mapping[Allocation, MeasuredPoint], str]:
    different = list(dict.fromkeys(allocations))
    points, busyness = await _measured([(rates, each) for each in different], effort)
    return dict(zip(different, points, strict=True)), busyness


async def _measured(
    cases: Sequence[tuple[Sequence[float], Allocation]], effort: Effort, factor: float = 1.0
) -> tuple[list[MeasuredPoint], str]:
    seconds = factor * (POINT_SECONDS_QUICK if effort.quick else POINT_SECONDS)
    points = []
    async with elastic_service() as service:
        for number, (rates, consumers) in enumerate(cases, 1):

            def tell(text: str, number: int = number) -> None:
                effort.tell(f"point {number} of {len(cases)}: {text}")

            points.append(
                await measured_point(service, rates, consumers, seconds, effort.seed, tell)
            )
        return points, service.busyness


def _curve(
    label: str, x: tuple[float, ...], points: Sequence[MeasuredPoint], type_: str | None = None
) -> Curve:
    means = [point.all_jobs if type_ is None else point.by_type[type_] for point in points]
    mean, low, high = (
        tuple(getattr(each, name) for each in means) for name in ("mean", "low", "high")
    )
    return Curve(label, x, mean, low, high)


def _columns(
    points: Sequence[MeasuredPoint], methods: Sequence[str] | None = None
) -> dict[str, Column]:
    data: dict[str, Column] = {} if methods is None else {"method": methods}
    return {
        **data,
        "arrival_rates_a_minute": [" ".join(f"{each:g}" for each in p.rates) for p in points],
        "consumers": [" ".join(map(str, point.consumers)) for point in points],
        "jobs": [point.jobs for point in points],
        "unfinished": [point.unfinished for point in points],
        **interval_columns("response_s", [point.all_jobs for point in points]),
        **{
            key: column
            for name in PATHS
            for key, column in interval_columns(
                f"response_s_{name}", [point.by_type[name] for point in points]
            ).items()
        },
    }
