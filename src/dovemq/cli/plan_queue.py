"""`dovemq plan` without a planning file: the consumers of one queue, from flags or one topic."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from dovemq.cli.command import FAILED, OK, CommandParser, WrongUse
from dovemq.cli.modelling import flags_of, read_toml, real, shown, topic_rates
from dovemq.cli.output import print_result, working
from dovemq.cli.percentiles import in_per_cent, per_cent

if TYPE_CHECKING:
    from dovemq.models.analytic.percentiles import GeneralStation
    from dovemq.models.estimates import Estimate
    from dovemq.models.planning.one_queue import QueuePlan

RATES: Final = ("arrival_rate", "service_rate", "arrival_scv", "service_scv")
MORE_MAX: Final = 10
"""Consumers that --check adds to a plan that the simulation does not confirm."""


def add_queue_options(parser: CommandParser) -> None:
    group = parser.group("one queue", "Instead of a planning file. Rates are per second.")
    group.option("--arrival-rate", "RATE", "messages per second", real)
    group.option("--service-rate", "RATE", "messages per second of one consumer", real)
    group.option("--arrival-scv", "C2", "squared coefficient of variation (default: 1)", real)
    group.option("--service-scv", "C2", "the same of services; 1 is exponential", real)
    text = "file with the rates of a topic, as from pipeline calibrate; flags take precedence"
    group.option("--from", "FILE", text, dest="source")
    group.option("--topic", "NAME", "topic of the file (default: its only one)")


def asks_for_one_queue(args: argparse.Namespace) -> bool:
    return bool(flags_of(args, (*RATES, "source", "topic")))


def run(args: argparse.Namespace) -> int:
    """Prints the fewest consumers that meet the target."""
    from dovemq.models.planning.one_queue import plan_queue, service_alone

    if args.target is None:
        raise WrongUse("--target is needed for one queue; for several, name a planning file")
    station, level = _station(args), args.percentile
    alone = service_alone(station, level)
    if args.target <= alone:
        text = f"infeasible: {_share(level)} {alone:.4g} s by the service alone, without any wait"
        found = {"feasible": False, "service_alone_s": alone, **_asked(args, station)}
        return print_result(args, found, f"{text} (target {args.target:g} s)", FAILED)
    plan, simulated, added = plan_queue(station, args.target, level), None, 0
    if args.check:
        plan, simulated, added = _checked(args, plan)
    met = simulated is None or simulated.low <= args.target
    document = _as_dict(args, plan, simulated, added)
    text = "\n".join(_lines(args, plan, simulated, added))
    return print_result(args, document, text, OK if met else FAILED)


def _station(args: argparse.Namespace) -> "GeneralStation":
    from pathlib import Path

    from dovemq.models.analytic.percentiles import GeneralStation

    given: dict[str, Any] = {}
    if args.source is not None:
        rates, unit = topic_rates(read_toml(Path(args.source)), args.topic)
        given = {name: rates[name] / (unit if name.endswith("_rate") else 1.0) for name in RATES}
    elif args.topic is not None:
        raise WrongUse("--topic is for a file of --from")
    given |= flags_of(args, RATES)
    for name in RATES[:2]:
        if name not in given:
            flag = name.replace("_", "-")
            raise WrongUse(f"--{flag} is needed, or a file of --from; or name a planning file")
    return GeneralStation(**given)


def _checked(args: argparse.Namespace, plan: "QueuePlan") -> "tuple[QueuePlan, Estimate, int]":
    """Simulates the plan, and adds consumers while the simulation is slower than the target."""
    from dovemq.models.planning.one_queue import time_of

    for added in range(MORE_MAX + 1):
        found = _simulated(plan)
        if found.low <= args.target or added == MORE_MAX:
            break
        station = replace(plan.station, servers=plan.station.servers + 1)
        plan = replace(
            plan, station=station, time=time_of(station, plan.level), less_time=plan.time
        )
    return plan, found, added


def _simulated(plan: "QueuePlan") -> "Estimate":
    from dovemq.models.planning.checking import network_of, simulated_times

    network = network_of(plan.station)
    return working(lambda: "simulating", lambda: simulated_times(network, plan.level)["message"])


def _share(level: float | None) -> str:
    return "the mean is" if level is None else f"{in_per_cent(level)} % within"


def _lines(
    args: argparse.Namespace, plan: "QueuePlan", simulated: "Estimate | None", added: int
) -> list[str]:
    station, share = plan.station, _share(plan.level)
    count = "1 consumer" if station.servers == 1 else f"{station.servers} consumers"
    lines = [
        f"{count}: {share} {plan.time:.4g} s (target {args.target:g} s), "
        f"utilisation {station.utilisation:.2f}"
    ]
    if plan.less_time is not None:
        less = (
            shown(plan.less_time) if plan.less_time == float("inf") else f"{plan.less_time:.4g} s"
        )
        lines.append(f"with {station.servers - 1}: {less}")
    lines.append(f"method: {_method(plan)}")
    if simulated is not None:
        bounds = f"{simulated.mean:.4g} s, between {simulated.low:.4g} and {simulated.high:.4g} s"
        lines.append(f"simulated: {share} {bounds} (95 % interval){_verdict(args, simulated)}")
    if added:
        lines.append(f"the simulation needs {added} more than the approximation")
    return lines


def _verdict(args: argparse.Namespace, simulated: "Estimate") -> str:
    from dovemq.models.planning.capacity import is_met

    met = is_met(args.target, simulated.low, simulated.high)
    return {True: "", False: ", which misses the target", None: ", which has the target inside"}[
        met
    ]


def _method(plan: "QueuePlan") -> str:
    from dovemq.models.analytic.percentiles import MEASURED_ERROR

    if plan.station.exact:
        return "M/M/c, exact"
    if plan.station.single is not None:
        return f"M/G/1, {plan.station.quality}"
    return f"GI/G/m, an approximation; {MEASURED_ERROR}; --check simulates it"


def _asked(args: argparse.Namespace, station: "GeneralStation") -> dict[str, Any]:
    rates = {name: getattr(station, name) for name in RATES}
    return {"target_s": args.target, "percentile": per_cent(args.percentile), **rates}


def _as_dict(
    args: argparse.Namespace, plan: "QueuePlan", simulated: "Estimate | None", added: int
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "feasible": True,
        "consumers": plan.station.servers,
        "time_s": plan.time,
        "time_with_one_less_s": plan.less_time,
        "utilisation": plan.station.utilisation,
        "exact": plan.station.exact,
        **_asked(args, plan.station),
    }
    if simulated is not None:
        found["simulated"] = {
            "time_s": simulated.mean,
            "low_s": simulated.low,
            "high_s": simulated.high,
            "added_consumers": added,
        }
    return found
