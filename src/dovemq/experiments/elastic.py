"""elastic-fig4 and elastic-model: MinTime against Random, and the model against a simulation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from dovemq.experiments.claims import exact, judge, relative_error
from dovemq.experiments.figure import Column, Curve, Effort, Figure, Panel, PaperMark, Verdict
from dovemq.models.analytic import network_measures
from dovemq.models.calibration.intervals import known, share_of
from dovemq.models.estimates import Interval
from dovemq.models.jobs import JobNetwork, JobRoute, JobType, Topic, chain
from dovemq.models.planning import CapacityPlan, Problem, min_cost, min_time, random_time
from dovemq.models.simulation import SimulationRun, simulate_network

BUDGET: Final = 10
RUNS: Final = 1_000
RUNS_QUICK: Final = 200
MINUTE_SECONDS: Final = 60.0
TARGET_SECONDS: Final = 50.0
HEAVY: Final = (3.0, 3.5, 3.0)
CASES: Final[tuple[tuple[tuple[float, ...], tuple[int, ...]], ...]] = (
    ((0.5, 1.0, 0.5), (1, 1, 1, 1)),
    ((2.0, 2.5, 2.0), (2, 2, 1, 3)),
    (HEAVY, (2, 1, 1, 3)),
    (HEAVY, (2, 2, 1, 4)),
    (HEAVY, (3, 2, 2, 5)),
)
"""Arrival rates of the jobs and consumers of the topics that the model is compared at."""
MINUTES: Final = 20_000.0
WARM_UP_MINUTES: Final = 500.0
ERROR_MAX: Final = 0.15


def case_study(rates: Sequence[float] = HEAVY) -> JobNetwork:
    """Fig. 3 of elastic, rates per minute; its garbled table is read as A→B→D, A→D→D, C→D."""
    topics = (
        Topic("A", 4.2, 0.33),
        Topic("B", 3.7, 0.5),
        Topic("C", 6.7, 0.4),
        Topic("D", 5.1, 0.5),
    )
    paths = (("1", ("A", "B", "D"), 0.33), ("2", ("A", "D", "D"), 0.5), ("3", ("C", "D"), 0.25))
    jobs = tuple(
        JobType(name, rate, (JobRoute(chain(*path)),), scv)
        for rate, (name, path, scv) in zip(rates, paths, strict=True)
    )
    return JobNetwork(topics, jobs)


def work_in_progress(effort: Effort) -> Figure:
    problem = Problem(case_study())
    best = min_time(problem, BUDGET)
    rng = np.random.default_rng(effort.seed)
    count = RUNS_QUICK if effort.quick else RUNS
    chance = np.array([_wip(random_time(problem, BUDGET, rng)) for _ in range(count)])
    # Infinite runs sort last, so that quantiles are right with them; a mean would not be.
    quantiles = np.quantile(chance, (0.1, 0.5, 0.9), axis=0, method="nearest")
    names = ("best tenth", "median", "worst tenth")
    steps = tuple(float(step) for step in range(BUDGET + 1))
    data: dict[str, Column] = {
        "consumers_added": [int(step) for step in steps],
        "min_time_topic": ["", *(step.topic for step in best.steps)],
        "min_time_wip": _wip(best),
        **{
            f"random_wip_{name}": values.tolist()
            for name, values in zip(("low", "median", "high"), quantiles, strict=True)
        },
        "random_stable_share": np.isfinite(chance).mean(axis=0).tolist(),
    }
    curves = [
        Curve(f"Random, {name}", steps, tuple(map(float, values)))
        for name, values in zip(names, quantiles, strict=True)
    ]
    target = TARGET_SECONDS / MINUTE_SECONDS * sum(HEAVY)
    return Figure(
        "Work in progress after each added consumer (elastic, fig. 4)",
        data,
        (
            Panel(
                "λ = (3, 3.5, 3) jobs a minute",
                "consumers added",
                "work in progress, jobs",
                (Curve("MinTime", steps, _wip(best)), *curves),
                (
                    PaperMark(f"paper's text: target of 50 s a job, {target:.2f} jobs", y=target),
                    PaperMark("paper's text: MinCost needs 5 consumers", x=5.0),
                ),
            ),
        ),
        wip_claims(_wip_plans(problem, best), chance),
        (
            "M counts consumers beyond the first of each topic.",
            "At (1, 1, 1, 1) topics A and D are overloaded: the work in progress is infinite until "
            "both are stable, and is not drawn. Eq. 1 as printed gives negative numbers there.",
            "Eq. 2 is read without its second λ; job 2 visits D twice.",
        ),
    )


@dataclass(frozen=True, slots=True)
class WipPlans:
    """The parts of plans that claims are about.

    They are the work in progress of MinTime by step, its consumers after five steps, and the
    iterations of MinCost. `feasible` says whether MinCost keeps its target.
    """

    min_time_wip: tuple[float, ...]
    five: tuple[int, ...]
    five_s: float
    iterations: int
    min_cost_s: float
    feasible: bool


def _wip_plans(problem: Problem, best: CapacityPlan) -> WipPlans:
    five = min_time(problem, 5)
    target = min_cost(problem, TARGET_SECONDS / MINUTE_SECONDS)
    return WipPlans(
        _wip(best),
        five.consumers,
        MINUTE_SECONDS * five.time_per_job,
        len(target.steps),
        MINUTE_SECONDS * target.time_per_job,
        target.feasible,
    )


def wip_claims(plans: WipPlans, chance: np.ndarray) -> tuple[Verdict, ...]:
    """`chance` has a row for each run of Random, with its work in progress after each step."""
    ours = np.array(plans.min_time_wip)
    stable = np.isfinite(ours)
    no_better = (chance[:, stable] >= ours[stable] * (1.0 - 1e-12)).all(axis=1)
    reached = MINUTE_SECONDS * chance[:, -1] / sum(HEAVY) <= TARGET_SECONDS
    part = known(share_of(int(reached.sum()), len(reached)), "share")
    return (
        judge(
            "MinTime lowers the work in progress faster than Random",
            "share of the runs in which Random is no better after any step",
            exact([no_better.mean()]),
            least=1.0,
        ),
        Verdict(
            "5 more consumers are given as (2, 2, 1, 4)",
            "the same allocation",
            plans.five == (2, 2, 1, 4),
            f"{plans.five}, {plans.five_s:.1f} s a job",
        ),
        Verdict(
            "MinCost keeps 50 s after 5 iterations",
            "the same number of iterations",
            plans.feasible and plans.iterations == 5,
            f"{plans.iterations} iterations, {plans.min_cost_s:.1f} s a job",
        ),
        judge(
            "Random does not reach 50 s even after 10 iterations",
            "share of the runs that reach it by the model",
            [Interval(part.value, part.low, part.high)],
            most=0.5,
        ),
        judge(
            "results of Random differ from run to run",
            "different results after 10 consumers",
            exact([len(set(chance[:, -1].round(9)))]),
            least=2,
        ),
    )


def _wip(plan: CapacityPlan) -> tuple[float, ...]:
    """Returns the work in progress after each step; it is infinite at the overloaded start."""
    return (float("inf"), *(step.wip for step in plan.steps))


def model_by_class(effort: Effort) -> Figure:
    """Not a figure of the paper, which shows no simulation; `dovemq plan` relies on this model."""
    rows = [row for case in CASES for row in _by_class(*case, effort)]
    names, jobs, rates, consumers, model, simulated = zip(*rows, strict=True)
    mean, low, high = zip(*((each.mean, each.low, each.high) for each in simulated), strict=True)
    errors = [relative_error(*pair) for pair in zip(exact(model), simulated, strict=True)]
    data: dict[str, Column] = {
        "case": names,
        "job": jobs,
        "arrival_rate_a_minute": rates,
        "consumers_in_all": consumers,
        "model_s": model,
        "simulated_s": mean,
        "low_s": low,
        "high_s": high,
        "error": [each.mean for each in errors],
    }
    places = tuple(float(place) for place in range(1, len(rows) + 1))
    return Figure(
        "Mean response time of each job type: decomposition and simulation (elastic, appendix A)",
        data,
        (
            Panel(
                "every job type of five allocations",
                "arrival rates a minute / consumers of A, B, C, D / job type",
                "mean response time, s",
                (
                    Curve("decomposition", places, model, points=True),
                    Curve("simulation, 95 %", places, mean, low, high, points=True),
                ),
                x_names=names,
            ),
        ),
        model_claims(errors),
        ("Arrivals and services are gamma by their mean and scv. The claim is not the paper's.",),
    )


def model_claims(errors: Sequence[Interval]) -> tuple[Verdict, ...]:
    return (
        judge(
            "the decomposition is close to the simulation for each job type",
            f"relative error of {len(errors)} means",
            errors,
            least=-ERROR_MAX,
            most=ERROR_MAX,
        ),
    )


def _by_class(
    rates: tuple[float, ...], consumers: tuple[int, ...], effort: Effort
) -> Iterator[tuple[str, str, float, int, float, Interval]]:
    """Rows of the job types: case, name, rate, all consumers, and both times in seconds."""
    network = case_study(rates)
    pairs = zip(network.topics, consumers, strict=True)
    topics = tuple(replace(topic, consumers=count) for topic, count in pairs)
    network = replace(network, topics=topics)
    model = network_measures(network).response_time
    run = SimulationRun(
        MINUTES / (10.0 if effort.quick else 1.0),
        warm_up=WARM_UP_MINUTES,
        replications=effort.replications,
        seed=effort.seed,
        workers=effort.workers,
    )
    found = simulate_network(network, run).sojourn_of
    case = " ".join(f"{rate:g}" for rate in rates) + " / " + " ".join(map(str, consumers))
    for place, job in enumerate(network.jobs):
        one = found[job.name]
        seconds = [MINUTE_SECONDS * each for each in (one.mean, one.low, one.high)]
        predicted = MINUTE_SECONDS * float(model[place])
        workload = job.name, job.arrival_rate, sum(consumers)
        yield f"{case} / {job.name}", *workload, predicted, Interval(*seconds)
