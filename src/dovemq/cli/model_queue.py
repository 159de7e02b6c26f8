"""`dovemq model queue`: one station, by the closed form that fits the given parameters."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dovemq.cli.command import FAILED, OK, Commands, WrongUse, add_command
from dovemq.cli.modelling import (
    APPROXIMATIONS,
    add_source,
    add_sweep,
    check_sweep,
    flags_of,
    floats_of,
    given,
    headroom_pairs,
    modelling,
    plot_sweep,
    print_parts,
    print_rows,
    read_toml,
    real,
    reals,
    shown,
    topic_rates,
)
from dovemq.cli.output import print_pairs, print_result
from dovemq.cli.percentiles import add_percentiles, level_of
from dovemq.cli.queue_models import DISCIPLINES, NAMES, SWEPT, rows_of, solved, tailed
from dovemq.cli.queue_percentiles import percentiles_of, print_percentiles, quantile_columns
from dovemq.cli.queue_simulation import (
    add_queue_simulation,
    check_simulated_alone,
    run_queue_simulation,
)
from dovemq.cli.simulating import check_simulation

_UNITS: Final = {"time": "as the rates", "waiting": "in the line", "number": "with those served"}
_PLOTTED: Final = ("sojourn_time", "number", "utilisation")


def add(commands: Commands) -> None:
    summary = (
        "one station: M/M/c, M/M/c/K, M/G/1, GI/G/m, priorities, processor sharing, customers that "
        "give up or try again; times in the unit of the rates"
    )
    example = "dovemq model queue --arrival-rate 30 --service-rate 10 --servers 4 --percentile 95"
    parser = add_command(commands, "queue", _run, summary, example)
    add = parser.option
    text = "rate of arrivals; several make classes of priority, the most urgent first"
    add("--arrival-rate", "RATE", text, reals)
    add("--service-rate", "RATE", "rate of one server; one, or per class", reals)
    add("--servers", "N", "number of servers (consumers) (default: 1)", real)
    text = "largest number in the station; further arrivals are lost (M/M/c/K)"
    add("--capacity", "K", text, real)
    add("--arrival-scv", "C2", "squared coefficient of variation (GI/G/m)", real)
    add("--service-scv", "C2", "the same of services; 1 is exponential", real)
    text = "order of service: as they come, shared by all, or interrupted by urgent classes"
    parser.choice("--discipline", DISCIPLINES, f"{text} (default: fcfs)")
    add("--patience", "TIME", "mean time after which those that wait give up (Erlang-A)", real)
    text = "gets of a message: those that gave up come back until they had so many"
    add("--gets-max", "N", text, real)
    add("--retry-time", "TIME", "mean time until a blocked arrival tries again; nobody waits", real)
    add("--persistence", "H", "share of blocked attempts that try again (default: 1)", real)
    parser.choice("--approximation", APPROXIMATIONS, "formula for GI/G/m (default: the first)")
    add_percentiles(parser, "quantiles of wait and sojourn to show")
    add("--tail", "T,…", "times T, to print P(wait > T)", reals)
    text = "sojourn that the largest arrival rate meets: the mean, or that of --percentile"
    add("--target", "TIME", text, real)
    parser.switch("--sensitivity", "print derivatives of the mean sojourn (M/M/c)")
    text = "topic of a planning file as --from, such as dovemq pipeline calibrate writes"
    add("--topic", "NAME", text)
    add_sweep(parser, "servers=3:8")
    add_source(parser)
    add_queue_simulation(parser)


def _run(args: argparse.Namespace) -> int:
    check_simulation(args, args.method == "kernel")
    if args.method == "kernel":
        return run_queue_simulation(args, lambda: _given(args))
    check_simulated_alone(args)
    check_sweep(args, ("tail", "target", "sensitivity"))
    with modelling():
        found = _given(args)
        extra: dict[str, Any] = {}
        if args.sweep is None:
            model, station = solved(found)
            rows = rows_of(model, station, found)
            extra = _extra(args, found, model, station)
        else:
            model, rows = _swept(args, found)
        if args.plot is not None:
            plot_sweep(args, f"dovemq model queue: {model}", model, rows, _PLOTTED)
    document = {"model": model, "units": _UNITS, "results": rows, **extra}
    unstable = args.sweep is None and any(not row["stable"] for row in rows)
    code = FAILED if unstable else OK
    return print_result(args, document, lambda: _print(model, rows, extra), code)


def _given(args: argparse.Namespace) -> dict[str, Any]:
    """Reads the parameters: by name, or those of a topic of a planning file."""
    text = read_toml(args.source) if args.source is not None else {}
    if "topics" not in text:
        if args.topic is not None:
            raise WrongUse("--topic is for a file of --from that has topics")
        return given(args, NAMES)
    return topic_rates(text, args.topic)[0] | flags_of(args, NAMES)


def _swept(args: argparse.Namespace, found: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    name, values = args.sweep
    if name not in SWEPT:
        raise WrongUse(f"--sweep: {name} is none of {', '.join(SWEPT)}")
    model, rows = "", []
    for value in values:
        changed = {**found, name: value}
        model, station = solved(changed)
        own = rows_of(model, station, changed)
        quantiles = quantile_columns(args, model, station, changed, len(own))
        rows += [{name: value, **row, **more} for row, more in zip(own, quantiles, strict=True)]
    # Bounds are known for one server only; other rows have none.
    columns = dict.fromkeys(column for row in rows for column in row)
    return model, [{column: row.get(column) for column in columns} for row in rows]


def _extra(
    args: argparse.Namespace, found: Mapping[str, Any], model: str, station: Any
) -> dict[str, Any]:
    extra: dict[str, Any] = {}
    if args.percentile:
        extra["percentiles"] = percentiles_of(args, model, station, found)
    if args.target is not None or args.sensitivity:
        if model != "M/M/c":
            raise WrongUse(f"targets and sensitivities are known for M/M/c, not {model}")
        extra |= _known_of_markov(args, station)
    if args.tail:
        waits = tailed(found, model, station)
        tails = ((time, float(waits.wait_tail(time))) for time in args.tail)
        extra["wait_tail"] = {f"P(wait > {time:g})": tail for time, tail in tails}
    return extra


def _known_of_markov(args: argparse.Namespace, station: Any) -> dict[str, Any]:
    from dovemq.models import analytic
    from dovemq.models.analytic.percentiles import GeneralStation
    from dovemq.models.planning.one_queue import plan_queue

    extra: dict[str, Any] = {}
    if args.target is not None:
        rate, speed = float(station.arrival_rate), float(station.service_rate)
        level = level_of(args)
        room = analytic.station_headroom(rate, speed, station.servers, args.target, level)
        needed = plan_queue(GeneralStation(rate, speed), args.target, level).station.servers
        extra["headroom"] = {**headroom_pairs(room), "servers_needed": needed}
    if args.sensitivity:
        extra["sensitivity"] = floats_of(analytic.station_sensitivity(station))
    return extra


def _print(model: str, rows: Sequence[dict[str, Any]], extra: dict[str, Any]) -> None:
    print(model)
    if "abandonment_probability" in rows[0]:
        print("times are those of all customers, also of those that give up")
    if len(rows) == 1:
        print_pairs((name, shown(value)) for name, value in rows[0].items())
    else:
        print_rows(list(rows[0]), rows)
    if not all(row["stable"] for row in rows):
        print("unstable: more arrives than the servers can do")
    print_percentiles(extra.pop("percentiles", None))
    print_parts(extra)
