"""elastic-model: the decomposition of 002 beside a long simulation, class by class, with its error.

Not a figure of the paper, which shows no simulation of its model: what `dovemq plan` stands on.
"""

from dataclasses import replace
from typing import Final

from dovemq.experiments.allocation_steps import MINUTE_SECONDS, case_study
from dovemq.experiments.figure import Curve, Effort, Figure, Panel, Verdict
from dovemq.experiments.simulated_jobs import simulated_jobs
from dovemq.models.analytic import network_measures
from dovemq.models.simulation import Run

CASES: Final[tuple[tuple[tuple[float, ...], tuple[int, ...]], ...]] = (
    ((0.5, 1.0, 0.5), (1, 1, 1, 1)),
    ((2.0, 2.5, 2.0), (2, 2, 1, 3)),
    ((3.0, 3.5, 3.0), (2, 1, 1, 3)),
    ((3.0, 3.5, 3.0), (2, 2, 1, 4)),
    ((3.0, 3.5, 3.0), (3, 2, 2, 5)),
)
MINUTES: Final = 20_000.0
WARM_UP_MINUTES: Final = 500.0
ERROR_MAX: Final = 0.15


def by_class(effort: Effort) -> Figure:
    rows = [row for number, case in enumerate(CASES, 1) for row in _rows(number, *case, effort)]
    errors = [row["error"] for row in rows]
    names = list(rows[0])
    places = tuple(float(place) for place in range(1, len(rows) + 1))
    seconds = [[float(row[name]) for row in rows] for name in ("model_s", "simulated_s")]
    widths = [float(row["half_width_s"]) for row in rows]
    worst = max(map(abs, errors))
    return Figure(
        "Mean response time of each class: decomposition and simulation (elastic, appendix A)",
        {name: [row[name] for row in rows] for name in names},
        (
            Panel(
                "each class of each case",
                "row of the data",
                "mean response time, s",
                (
                    Curve("decomposition", places, tuple(seconds[0]), points=True),
                    Curve(
                        "simulation, 95 %",
                        places,
                        tuple(seconds[1]),
                        tuple(a - b for a, b in zip(seconds[1], widths, strict=True)),
                        tuple(a + b for a, b in zip(seconds[1], widths, strict=True)),
                    ),
                ),
            ),
        ),
        (
            Verdict(
                "the decomposition is within 15 % of the simulation for each class",
                worst <= ERROR_MAX,
                f"from {min(errors):+.1%} to {max(errors):+.1%} over {len(rows)} means",
            ),
        ),
        ("Arrivals and services are gamma by their mean and scv; the bound of 15 % is ours.",),
    )


def _rows(
    number: int, rates: tuple[float, ...], consumers: tuple[int, ...], effort: Effort
) -> list[dict[str, float]]:
    network = case_study(rates)
    topics = tuple(
        replace(topic, consumers=count)
        for topic, count in zip(network.topics, consumers, strict=True)
    )
    network = replace(network, topics=topics)
    model = network_measures(network).response_time
    run = Run(
        MINUTES / (10.0 if effort.quick else 1.0),
        warm_up=WARM_UP_MINUTES,
        replications=effort.replications,
        seed=effort.seed,
        workers=effort.workers,
    )
    found = simulated_jobs(network, run)
    return [
        {
            "case": number,
            "job": float(job.name),
            "arrival_rate_a_minute": job.arrival_rate,
            "consumers_in_all": sum(consumers),
            "model_s": MINUTE_SECONDS * float(model[place]),
            "simulated_s": MINUTE_SECONDS * found.sojourn_of[job.name].mean,
            "half_width_s": MINUTE_SECONDS * found.sojourn_of[job.name].half_width,
            "error": float(model[place]) / found.sojourn_of[job.name].mean - 1.0,
        }
        for place, job in enumerate(network.jobs)
    ]
