"""`dovemq model network`: the topics and jobs of a planning file with their present consumers."""

import argparse
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from dovemq.cli.command import FAILED, OK, Commands, WrongUse, add_command
from dovemq.cli.modelling import (
    APPROXIMATIONS,
    finite,
    modelling,
    print_parts,
    print_rows,
    read_toml,
    real,
    shown,
)
from dovemq.cli.output import print_result
from dovemq.cli.percentiles import DEFAULT_LEVEL, add_percentiles, in_per_cent, level_of
from dovemq.cli.simulating import (
    add_simulation,
    check_simulation,
    described,
    run_of,
    simulating,
)
from dovemq.cli.values import existing_file

if TYPE_CHECKING:
    from dovemq.models.analytic import NetworkMeasures
    from dovemq.models.jobs import JobNetwork, Topic
    from dovemq.models.planning import PlanSpec
    from dovemq.models.simulation import NetworkResult

_OFFERED: Final = (
    "while a topic is unstable, the figures of the others assume that it passes on all that arrives"
)


def add(commands: Commands) -> None:
    summary = (
        "topics, consumers and jobs of a planning file: load, work in progress, response times"
    )
    example = "dovemq model network plan.toml --factor 1.2"
    parser = add_command(commands, "network", _run, summary, example)
    text = "planning file, as for dovemq plan"
    parser.add_argument("file", type=existing_file, metavar="SPEC.toml", help=text)
    parser.option("--factor", "FACTOR", "factor on every arrival rate", real, 1.0)
    parser.choice("--approximation", APPROXIMATIONS, "formula for GI/G/m topics", APPROXIMATIONS[0])
    parser.choice("--method", ("analytic", "kernel"), "closed form, or simulation", "analytic")
    add_percentiles(parser, "quantiles of the response times of jobs", "95")
    text = (
        "time per job, for the factor by which load may grow until it is missed: the mean over all "
        "jobs, or --percentile of every type"
    )
    parser.option("--target", "SECONDS", text, real)
    parser.switch(
        "--sensitivity", "print the change of the work in progress by each rate and consumer"
    )
    add_simulation(parser)


def _run(args: argparse.Namespace) -> int:
    check_simulation(args, args.method == "kernel")
    with modelling():
        from dovemq.models.analytic import network_measures
        from dovemq.models.planning import read_spec
        from dovemq.models.simulated_specs import read_simulated

        content = read_toml(args.file)
        if args.method == "kernel":
            spec, simulated = read_simulated(content)
            report = _simulated(args, simulated, spec.unit_seconds)
        else:
            if "simulation" in content:
                raise WrongUse("the table [simulation] of the file is for --method kernel")
            spec = read_spec(content)
            network = spec.problem.network
            found = network_measures(network, factor=args.factor, approximation=args.approximation)
            levels = args.percentile or [DEFAULT_LEVEL]
            report = report_of(network, found, spec.unit_seconds, levels)
        report |= _extra(args, spec)
    code = OK if report["stable"] else FAILED
    return print_result(args, report, lambda: print_report(report), code)


def _simulated(
    args: argparse.Namespace, network: "JobNetwork", unit_seconds: float
) -> dict[str, Any]:
    """Simulates every figure of the report; the warm-up is found by pilot runs."""
    from dovemq.models.simulation import simulate_network
    from dovemq.models.simulation.lengths import run_for_network

    network, unit = network.at_load(args.factor), unit_seconds
    run = run_of(args, run_for_network(network.simulated(), args.replications))
    found = simulating(lambda: "", lambda report: simulate_network(network, run, report))
    rate = sum(each.mean for each in found.throughput_of.values())
    jobs = [
        {
            "job": name,
            "response_time_s": each.mean * unit,
            "low_s": each.low * unit,
            "high_s": each.high * unit,
            **_simulated_quantiles(args, found, name, unit),
            "lost_share": found.lost_of[name].mean,
        }
        for name, each in found.sojourn_of.items()
    ]
    return {
        "method": "kernel",
        "stable": not found.unstable,
        "note": "; ".join(_warnings(network, found)) or None,
        "run": described(run, found.sojourn.samples, found.warm_up),
        "work_in_progress": found.in_stations.mean,
        "time_per_job_s": found.in_system.mean / rate * unit if rate else math.nan,
        "topics": [_simulated_topic(network, found, topic, unit) for topic in network.topics],
        "jobs": jobs,
    }


def _simulated_quantiles(
    args: argparse.Namespace, found: "NetworkResult", job: str, unit_seconds: float
) -> dict[str, float]:
    columns: dict[str, float] = {}
    for level in args.percentile or [DEFAULT_LEVEL]:
        estimate, name = found.quantile(level, job), f"p{in_per_cent(level)}"
        columns |= {f"{name}_s": estimate.mean * unit_seconds}
        columns |= {f"{name}_low_s": estimate.low * unit_seconds}
        columns |= {f"{name}_high_s": estimate.high * unit_seconds}
    return columns


def _warnings(network: "JobNetwork", found: "NetworkResult") -> list[str]:
    from dovemq.models.named_times import heavy_tail
    from dovemq.models.simulation.lengths import NO_STEADY_STATE, relaxation_of, too_short

    if found.unstable:
        return [NO_STEADY_STATE]
    tails = [
        heavy_tail(topic.service_time, f"service times of topic {topic.name}")
        for topic in network.topics
    ]
    short = too_short(found.run.horizon, relaxation_of(network))
    texts = (found.steadiness, short, found.imprecision, *tails)
    return [text for text in texts if text is not None]


def _simulated_topic(
    network: "JobNetwork", found: "NetworkResult", topic: "Topic", unit_seconds: float
) -> dict[str, Any]:
    station = found.stations[topic.name]
    number = station.waiting.mean + topic.consumers * station.busy.mean
    rate = station.throughput.mean
    figures = {
        "topic": topic.name,
        "consumers": topic.consumers,
        "load": network.loads()[topic.name] * topic.consumers,
        "utilisation": station.busy.mean,
        "stable": topic.name not in found.unstable,
        "work_in_progress": number,
        "time_s": number / rate * unit_seconds if rate else math.nan,
    }
    if not topic.rules.plain:
        names = ("blocked", "orbit", "refused", "abandoned")
        figures |= {name: getattr(station, name).mean for name in names}
    return figures


def report_of(
    network: "JobNetwork",
    found: "NetworkMeasures",
    unit_seconds: float,
    levels: Sequence[float] = (DEFAULT_LEVEL,),
) -> dict[str, Any]:
    """Times are in seconds; figures of what is unstable are infinite, and null in JSON."""
    from dovemq.models.analytic.percentiles import response_quantile

    topics = [
        {
            "topic": topic.name,
            "consumers": int(found.topics.servers[place]),
            "load": float(found.topics.load[place]),
            "utilisation": float(found.topics.utilisation[place]),
            "stable": bool(found.topics.stable[place]),
            "arrival_scv": float(found.arrival_scvs[place]),
            "work_in_progress": float(found.topics.number[place]),
            "time_s": float(found.topics.sojourn_time[place]) * unit_seconds,
        }
        for place, topic in enumerate(network.topics)
    ]
    quantiles = {level: response_quantile(found.response, level) for level in levels}
    jobs = [
        {
            "job": job.name,
            "response_time_s": float(found.response_time[place]) * unit_seconds,
            "deviation_s": float(found.response_time_deviation[place]) * unit_seconds,
            **{
                f"p{in_per_cent(level)}_s": float(times[place]) * unit_seconds
                for level, times in quantiles.items()
            },
        }
        for place, job in enumerate(network.jobs)
    ]
    return {
        "method": "analytic",
        "stable": bool(found.stable),
        "note": None if found.stable else _OFFERED,
        "work_in_progress": float(found.wip),
        "time_per_job_s": float(found.time_per_job) * unit_seconds,
        "topics": topics,
        "jobs": jobs,
    }


def print_report(report: dict[str, Any]) -> None:
    if report["method"] == "kernel":
        run = report["run"]
        print(
            f"simulated by the kernel: {run['replications']} runs of {run['horizon']:g} after a "
            f"warm-up of {run['warm_up']:g} units of the rates, intervals at "
            f"{run['confidence']:g}; headroom and sensitivity are analytic\n"
        )
    for name in ("topics", "jobs"):
        rows = report[name]
        heads = dict.fromkeys(head for row in rows for head in row if head != "stable")
        print_rows(list(heads), [dict.fromkeys(heads) | row for row in rows])
        print()
    for name in ("work_in_progress", "time_per_job_s"):
        print(f"{name}  {shown(report[name])}")
    if report["note"] is not None:
        print(f"note: {report['note']}")
    print_parts({name: report[name] for name in ("headroom", "sensitivity") if name in report})


def _extra(args: argparse.Namespace, spec: "PlanSpec") -> dict[str, Any]:
    from dovemq.models.analytic import network_headroom, network_sensitivity

    network = spec.problem.network
    extra: dict[str, Any] = {}
    if args.target is not None:
        room = network_headroom(network, args.target / spec.unit_seconds, level_of(args))
        extra["headroom"] = {
            "method": "analytic",
            "met": bool(room.met),
            "factor": finite(float(room.factor)),
        }
    if args.sensitivity:
        slopes = network_sensitivity(network)
        extra["sensitivity"] = {
            "method": "analytic",
            **_named("arrival_rate of job", network.jobs, slopes.per_arrival_rate),
            **_named("service_rate of topic", network.topics, slopes.per_service_rate),
            **_named("one consumer more at topic", network.topics, slopes.per_consumer),
        }
    return extra


def _named(what: str, parts: Any, values: Any) -> dict[str, float | None]:
    pairs = zip(parts, values, strict=True)
    return {f"{what} {part.name}": finite(float(value)) for part, value in pairs}
