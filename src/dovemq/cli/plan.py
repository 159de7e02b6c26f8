"""`dovemq plan`: the consumers that each topic needs, for a budget or for a target of time."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovemq.cli.command import FAILED, OK, Commands, WrongUse, add_command
from dovemq.cli.model_network import print_report, report_of
from dovemq.cli.modelling import add_plot, modelling, read_toml, real, shown, toml_value
from dovemq.cli.output import fields, print_records, print_result, working
from dovemq.cli.percentiles import add_percentile, in_per_cent, per_cent
from dovemq.cli.plan_queue import add_queue_options, asks_for_one_queue
from dovemq.cli.plan_queue import run as run_queue
from dovemq.cli.values import existing_file, output_file, pair

if TYPE_CHECKING:
    from dovemq.models.planning import Planned, PlanSpec


def add(commands: Commands) -> None:
    summary = (
        "compute the consumers that a queue or each topic needs, for a budget or a target time"
    )
    example = (
        "dovemq plan --arrival-rate 8 --service-rate 2 --percentile 95 --target 2\n"
        "  dovemq plan plan.toml --what-if load=1.5 --what-if topics.A.service_rate=6"
    )
    parser = add_command(commands, "plan", _run, summary, example)
    text = "planning file: topics, jobs, goal"
    parser.add_argument("file", nargs="?", type=existing_file, metavar="SPEC.toml", help=text)
    goal = parser.exclusive()
    goal.option("--budget", "COST", "cost that may be added to the present consumers", real)
    text = "time of a job that the plan must meet: the mean, or that of --percentile"
    goal.option("--target", "SECONDS", text, real)
    add_percentile(parser, "share of jobs within the target")
    parser.switch("--check", "simulate the plan")
    text = "planning method (default: that of the file, or greedy)"
    parser.choice("--method", ("greedy", "exact", "random"), text)
    parser.switch("--optimise-routes", "choose the shares of routes as well")
    add_plot(parser, "picture of the steps")
    text = (
        "another value of a key of the file, or load=FACTOR for all arrival rates, for a "
        "second plan"
    )
    parser.repeated("--what-if", "KEY=VALUE", text, pair)
    text = "copy of the planning file with the planned consumers and shares of routes"
    parser.option("--out", "FILE", text, output_file)
    add_queue_options(parser)


def _run(args: argparse.Namespace) -> int:
    if args.file is None:
        _check_one_queue(args)
        with modelling():
            return run_queue(args)
    if asks_for_one_queue(args):
        raise WrongUse("a planning file has its rates: leave out the options of one queue")
    if args.out is not None and args.what_if:
        raise WrongUse("--out writes one plan: leave out --what-if")
    with modelling():
        from dovemq.models.planning.changes import changed, with_network
        from dovemq.models.specs import toml_text

        text = _with_flags(read_toml(args.file), args)
        plans = {"plan": _planned(text)}
        if args.what_if:
            values = {key: _changed_value(key, value) for key, value in args.what_if}
            plans["what_if"] = _planned(changed(text, values))
        if args.plot is not None:
            _plot(args.plot, plans)
        if args.out is not None:
            planned_text = toml_text(with_network(text, plans["plan"][1].network))
            args.out.write_text(planned_text, encoding="utf-8")
        document: dict[str, Any] = {name: _as_dict(*each) for name, each in plans.items()}
        met = all(found.plan.feasible for _, found in plans.values())
        if args.check and met:
            document["simulated"] = _simulated(*plans["plan"])
            met = all(each["met"] is not False for each in document["simulated"])

    def show() -> None:
        _print_all(plans, document.get("simulated", ()))

    return print_result(args, document, show, OK if met else FAILED)


def _check_one_queue(args: argparse.Namespace) -> None:
    for name in ("budget", "method", "plot", "out", "what_if", "optimise_routes"):
        if getattr(args, name):
            flag = name.replace("_", "-")
            raise WrongUse(f"--{flag} is for a planning file; name one, or leave it out")


def _simulated(spec: "PlanSpec", found: "Planned") -> list[dict[str, Any]]:
    """The simulated time of each type of job; `met` is null where the interval has the target."""
    from dovemq.models.planning.capacity import is_met
    from dovemq.models.planning.checking import simulated_times

    goal, unit = spec.goal, spec.unit_seconds
    times = working(lambda: "simulating", lambda: simulated_times(found.network, goal.level))
    rows = []
    for job, time in times.items():
        low, high = time.low * unit, time.high * unit
        # A mean target is over all jobs, so it does not judge one type.
        judged = goal.level is not None and goal.target_seconds is not None
        met = is_met(goal.target_seconds or 0.0, low, high) if judged else None
        row = {"job": job, "time_s": time.mean * unit, "low_s": low, "high_s": high, "met": met}
        rows.append(row)
    return rows


def _print_all(
    plans: dict[str, tuple["PlanSpec", "Planned"]], simulated: Sequence[dict[str, Any]]
) -> None:
    for name, each in plans.items():
        if len(plans) > 1:
            print(f"{name.replace('_', ' ')}:")
        print(_answer(*each))
        if name == "plan":
            _print_simulated(each[0], simulated)
        print()
        _print(*each)


def _answer(spec: "PlanSpec", found: "Planned") -> str:
    plan, goal = found.plan, spec.goal
    if not plan.feasible:
        return plan.note
    each = ", ".join(
        f"{name} {count}" for name, count in zip(plan.topics, plan.consumers, strict=True)
    )
    loads = found.network.loads()
    fullest = max(loads, key=lambda name: loads[name])
    time = f"{plan.time_per_job * spec.unit_seconds:.4g} s"
    met = (
        f"{time} per job on average"
        if goal.level is None
        else f"{goal.percentile:g} % of every type of job within {time}"
    )
    target = "" if goal.target_seconds is None else f" (target {goal.target_seconds:g} s)"
    return (
        f"{sum(plan.consumers)} consumers ({each}): {met}{target}, "
        f"highest utilisation {loads[fullest]:.2f} ({fullest})"
    )


def _print_simulated(spec: "PlanSpec", rows: Sequence[dict[str, Any]]) -> None:
    level = spec.goal.level
    figure = "mean" if level is None else f"{in_per_cent(level)} % within"
    for row in rows:
        missed = ", which misses the target" if row["met"] is False else ""
        if level is not None and row["met"] is None:
            missed = ", which has the target inside"
        print(
            f"simulated: job {row['job']}: {figure} {row['time_s']:.4g} s, between "
            f"{row['low_s']:.4g} and {row['high_s']:.4g} s (95 % interval){missed}"
        )


def _planned(text: dict[str, Any]) -> tuple["PlanSpec", "Planned"]:
    from dovemq.models.planning import planned, read_spec

    spec = read_spec(text)
    return spec, planned(spec)


def _with_flags(text: dict[str, Any], args: argparse.Namespace) -> dict[str, Any]:
    goal = text.get("goal", {})
    if not isinstance(goal, dict):
        return text
    flags = {
        "budget": args.budget,
        "target_seconds": args.target,
        "percentile": per_cent(args.percentile),
        "method": args.method,
    }
    asked = {name: value for name, value in flags.items() if value is not None}
    if asked.keys() & {"budget", "target_seconds"}:
        goal = {key: goal[key] for key in goal if key not in ("budget", "target_seconds")}
    if args.budget is not None:
        goal = {key: goal[key] for key in goal if key != "percentile"}
    if args.optimise_routes:
        asked["optimise_routes"] = True
    return {**text, "goal": {**goal, **asked}}


def _changed_value(key: str, text: str) -> Any:
    if not text:
        raise WrongUse(f"--what-if {key}: a value is needed")
    return toml_value(text)


def _as_dict(spec: "PlanSpec", found: "Planned") -> dict[str, Any]:
    plan, seconds = found.plan, spec.unit_seconds
    return {
        **fields(plan, "method", "feasible", "note", "cost"),
        "start": dict(zip(plan.topics, plan.start, strict=True)),
        "consumers": dict(zip(plan.topics, plan.consumers, strict=True)),
        "work_in_progress": plan.wip,
        "time_per_job_s": plan.time_per_job * seconds,
        "steps": [
            {
                **fields(step, "number", "topic", "consumers", "cost", "reason"),
                "work_in_progress": step.wip,
                "time_per_job_s": step.time_per_job * seconds,
            }
            for step in plan.steps
        ],
        "missing": {each.topic: each.missing for each in plan.shortages},
        "shares": _shares(found),
        "network": _network(spec, found),
    }


def _shares(found: "Planned") -> dict[str, list[float]]:
    """The shares of the routes of jobs that have several."""
    return {
        job.name: [route.share for route in job.routes]
        for job in found.network.jobs
        if len(job.routes) > 1
    }


def _network(spec: "PlanSpec", found: "Planned") -> dict[str, Any]:
    from dovemq.models.analytic import network_measures

    return report_of(found.network, network_measures(found.network), spec.unit_seconds)


def _plot(path: Path, plans: dict[str, tuple["PlanSpec", "Planned"]]) -> None:
    from dovemq.experiments.drawing import draw
    from dovemq.experiments.figure import Curve, Panel

    curves = []
    for name, (spec, found) in plans.items():
        steps = found.plan.steps
        times = tuple(step.time_per_job * spec.unit_seconds for step in steps)
        costs = tuple(step.cost for step in steps)
        curves.append(Curve(f"{name.replace('_', ' ')}: {found.plan.method}", costs, times))
    panel = Panel("time of a job", "cost over the start", "seconds", tuple(curves))
    draw("dovemq plan", [panel], [path])


def _print(spec: "PlanSpec", found: "Planned") -> None:
    plan = found.plan
    if plan.steps:
        seconds = spec.unit_seconds
        print_records(
            plan.steps,
            {
                "step": lambda step: step.number,
                "topic": lambda step: step.topic,
                "consumers": lambda step: " ".join(map(str, step.consumers)),
                "cost": lambda step: f"{step.cost:g}",
                "in progress": lambda step: shown(step.wip),
                "time_per_job_s": lambda step: shown(step.time_per_job * seconds),
                "why": lambda step: step.reason,
            },
        )
        print()
    print(f"{plan.method}: {plan.note}; cost {plan.cost:g}")
    for each in plan.shortages:
        print(
            f"  {each.topic} lacks {each.missing} consumers: it has {each.consumers} "
            f"for a load of {each.load:.3g}"
        )
    for job, shares in _shares(found).items():
        print(f"  job {job} takes its routes by {', '.join(f'{share:.4f}' for share in shares)}")
    print()
    print_report(_network(spec, found))
    print()
