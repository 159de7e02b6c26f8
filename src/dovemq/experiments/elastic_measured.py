"""elastic-measured: predicted response times of job types beside those of real processes."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from dovemq.experiments.claims import exact, judge, relative_error
from dovemq.experiments.elastic import ERROR_MAX, HEAVY, case_study
from dovemq.experiments.elastic_points import ROUTES, SCALE_READING, MeasuredPoint, measured_point
from dovemq.experiments.elastic_service import (
    MINUTE_S,
    PAPER_MINUTE_S,
    PATHS,
    TOPICS,
    elastic_service,
)
from dovemq.experiments.figure import Column, Curve, Effort, Figure, Panel, Verdict
from dovemq.experiments.intervals import interval_columns
from dovemq.models.analytic import network_measures
from dovemq.models.estimates import Estimate, Interval
from dovemq.models.jobs import JobNetwork

CONSUMERS: Final = (2, 2, 1, 4)
UTILISATIONS: Final = (0.5, 0.7)
"""The utilisations of the fullest topic that are compared."""
JOBS: Final = 3_300
"""The first tenth does not count, which leaves 2,970 and more."""
JOBS_QUICK: Final = 200


def predicted_and_measured(effort: Effort) -> Figure:
    points, busyness = asyncio.run(_points(effort))
    rows = [(point, name) for point in points for name in PATHS]
    measured = [point.by_type[name] for point, name in rows]
    paper = [_paper(point)[name] for point, name in rows]
    monitor = [_monitor(point)[name] for point, name in rows]
    errors = {
        words: [
            relative_error(*pair)
            for pair in zip(exact(model), [each.interval for each in measured], strict=True)
        ]
        for words, model in (("paper's services", paper), ("measured services", monitor))
    }
    data: dict[str, Column] = {
        "utilisation": [each for each in UTILISATIONS for _ in PATHS],
        "job": [name for _, name in rows],
        "jobs_measured": [point.jobs for point, _ in rows],
        "unfinished": [point.unfinished for point, _ in rows],
        "model_s": paper,
        "model_with_measured_services_s": monitor,
        **interval_columns("measured_s", measured),
        "error": [each.mean for each in errors["paper's services"]],
        "error_with_measured_services": [each.mean for each in errors["measured services"]],
    }
    return Figure(
        "Mean response time of each job type: decomposition and real processes",
        data,
        (_panel(paper, monitor, measured),),
        tuple(measured_claims(errors)),
        (
            SCALE_READING,
            "Measured services are those that the monitor of the resource manager sees: from the "
            "start of a task to its end at the server, so with the requests of the worker.",
            "The claim is not the paper's.",
            busyness,
        ),
    )


def measured_claims(errors: Mapping[str, Sequence[Interval]]) -> Iterator[Verdict]:
    """`errors` are those of the means of all types of jobs, by the services of the model."""
    for words, found in errors.items():
        yield judge(
            f"the decomposition with the {words} is close to the measurement",
            f"relative error of {len(found)} means",
            found,
            least=-ERROR_MAX,
            most=ERROR_MAX,
        )


def _panel(paper: Sequence[float], monitor: Sequence[float], measured: Sequence[Estimate]) -> Panel:
    x = tuple(map(float, range(1, len(measured) + 1)))
    mean, low, high = (
        tuple(getattr(each, name) for each in measured) for name in ("mean", "low", "high")
    )
    return Panel(
        f"consumers {' '.join(map(str, CONSUMERS))}",
        "utilisation of the fullest topic / job type",
        "mean response time, s",
        (
            Curve("model, paper's services", x, tuple(paper), points=True),
            Curve("model, measured services", x, tuple(monitor), points=True),
            Curve("measured, 95 %", x, mean, low, high, points=True),
        ),
        x_names=tuple(f"{each:g} / {name}" for each in UTILISATIONS for name in PATHS),
    )


async def _points(effort: Effort) -> tuple[list[MeasuredPoint], str]:
    points = []
    async with elastic_service() as service:
        for utilisation in UTILISATIONS:
            rates = rates_at(utilisation)
            jobs = JOBS_QUICK if effort.quick else JOBS
            seconds = jobs / sum(rates) * MINUTE_S

            def tell(text: str, utilisation: float = utilisation) -> None:
                effort.tell(f"utilisation {utilisation:g}: {text}")

            points.append(
                await measured_point(service, rates, CONSUMERS, seconds, effort.seed, tell)
            )
        return points, service.busyness


def _with_consumers(network: JobNetwork) -> JobNetwork:
    pairs = zip(network.topics, CONSUMERS, strict=True)
    topics = tuple(replace(topic, consumers=count) for topic, count in pairs)
    return replace(network, topics=topics)


def rates_at(utilisation: float) -> tuple[float, ...]:
    """The heavy load of the paper, scaled to this utilisation of the fullest topic."""
    fullest = max(_with_consumers(case_study(HEAVY)).loads().values())
    return tuple(rate * utilisation / fullest for rate in HEAVY)


def _paper(point: MeasuredPoint) -> dict[str, float]:
    return _predicted(_with_consumers(case_study(point.rates)), PAPER_MINUTE_S)


def _monitor(point: MeasuredPoint) -> dict[str, float]:
    consumers = dict(zip(TOPICS, CONSUMERS, strict=True))
    network = point.workload.network(ROUTES, consumers)
    return _predicted(network, PAPER_MINUTE_S / MINUTE_S)


def _predicted(network: JobNetwork, unit_seconds: float) -> dict[str, float]:
    times = network_measures(network).response_time
    pairs = zip(network.jobs, times, strict=True)
    return {job.name: unit_seconds * float(time) for job, time in pairs}
