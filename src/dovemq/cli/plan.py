"""`dovemq plan`: the consumers that each topic needs, for a budget or for a target of time."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovemq.cli.command import (
    FAILED,
    OK,
    Commands,
    WrongUse,
    add_command,
    existing_file,
    output_file,
    pair,
)
from dovemq.cli.model_network import print_report, report_of
from dovemq.cli.modelling import finite, modelling, picture, read_toml, real, shown
from dovemq.cli.output import print_json, print_table

if TYPE_CHECKING:
    from dovemq.models.planning import Planned, PlanSpec


def add(commands: Commands) -> None:
    parser = add_command(
        commands,
        "plan",
        _run,
        "compute the consumers that each topic needs, for a budget or a target time",
        "dovemq plan plan.toml --what-if load=1.5 --what-if topics.A.service_rate=6",
    )
    parser.add_argument(
        "file", type=existing_file, metavar="SPEC.toml", help="planning file: topics, jobs, goal"
    )
    goal = parser.add_mutually_exclusive_group()
    goal.add_argument(
        "--budget",
        type=real,
        metavar="COST",
        help="cost that may be added to the present consumers",
    )
    goal.add_argument(
        "--target", type=real, metavar="SECONDS", help="mean time of a job that the plan must meet"
    )
    parser.add_argument(
        "--method",
        choices=("greedy", "exact", "random"),
        help="planning method (default: that of the file, or greedy)",
    )
    parser.add_argument(
        "--optimise-routes", action="store_true", help="choose the shares of routes as well"
    )
    parser.add_argument(
        "--plot", type=picture, metavar="FILE", help="picture of the steps: .png, .svg or .pdf"
    )
    parser.add_argument(
        "--what-if",
        type=pair,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="another value of a key of the file, or load=FACTOR for all arrival rates, for a "
        "second plan; may be repeated",
    )
    parser.add_argument(
        "--out",
        type=output_file,
        metavar="FILE",
        help="copy of the planning file with the planned consumers and shares of routes",
    )


def _run(args: argparse.Namespace) -> int:
    if args.out is not None and args.what_if:
        raise WrongUse("--out writes one plan: leave out --what-if")
    with modelling():
        from dovemq.models.planning.changes import changed, with_network
        from dovemq.models.specs import toml_text

        text = _with_flags(read_toml(args.file), args)
        plans = {"plan": _planned(text)}
        if args.what_if:
            values = {key: _value(key, value) for key, value in args.what_if}
            plans["what_if"] = _planned(changed(text, values))
        if args.plot is not None:
            _plot(args.plot, plans)
        if args.out is not None:
            planned_text = toml_text(with_network(text, plans["plan"][1].network))
            args.out.write_text(planned_text, encoding="utf-8")
    if args.json:
        print_json({name: _as_dict(*each) for name, each in plans.items()})
    else:
        for name, each in plans.items():
            if len(plans) > 1:
                print(f"{name.replace('_', ' ')}:")
            _print(*each)
    return OK if all(found.plan.feasible for _, found in plans.values()) else FAILED


def _planned(text: dict[str, Any]) -> tuple["PlanSpec", "Planned"]:
    from dovemq.models.planning import planned, read_spec

    spec = read_spec(text)
    return spec, planned(spec)


def _with_flags(text: dict[str, Any], args: argparse.Namespace) -> dict[str, Any]:
    goal = text.get("goal", {})
    if not isinstance(goal, dict):
        return text
    flags = {"budget": args.budget, "target_seconds": args.target, "method": args.method}
    asked = {name: value for name, value in flags.items() if value is not None}
    if asked.keys() & {"budget", "target_seconds"}:
        goal = {key: goal[key] for key in goal if key not in ("budget", "target_seconds")}
    if args.optimise_routes:
        asked["optimise_routes"] = True
    return {**text, "goal": {**goal, **asked}}


def _value(key: str, text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    if text in ("true", "false"):
        return text == "true"
    if not text:
        raise WrongUse(f"--what-if {key}: a value is needed")
    return text


def _as_dict(spec: "PlanSpec", found: "Planned") -> dict[str, Any]:
    plan, seconds = found.plan, spec.unit_seconds
    return {
        "method": plan.method,
        "feasible": plan.feasible,
        "note": plan.note,
        "cost": plan.cost,
        "start": dict(zip(plan.topics, plan.start, strict=True)),
        "consumers": dict(zip(plan.topics, plan.consumers, strict=True)),
        "work_in_progress": finite(plan.wip),
        "time_per_job_s": finite(plan.time_per_job * seconds),
        "steps": [
            {
                "number": step.number,
                "topic": step.topic,
                "consumers": step.consumers,
                "cost": step.cost,
                "work_in_progress": finite(step.wip),
                "time_per_job_s": finite(step.time_per_job * seconds),
                "reason": step.reason,
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
        print_table(
            ("step", "topic", "consumers", "cost", "in progress", "time_per_job_s", "why"),
            [
                (
                    step.number,
                    step.topic,
                    " ".join(map(str, step.consumers)),
                    f"{step.cost:g}",
                    shown(step.wip),
                    shown(step.time_per_job * spec.unit_seconds),
                    step.reason,
                )
                for step in plan.steps
            ],
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
