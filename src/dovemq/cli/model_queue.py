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
    known,
    modelling,
    number,
    numbers,
    plot_sweep,
    print_parts,
    print_rows,
    read_toml,
    real,
    reals,
    required,
    shown,
    topic_rates,
)
from dovemq.cli.output import print_pairs, print_result
from dovemq.cli.queue_simulation import (
    add_queue_simulation,
    check_simulated_alone,
    run_queue_simulation,
)
from dovemq.cli.simulating import check_simulation

_SWEPT: Final = (
    "arrival_rate", "service_rate", "servers", "capacity", "arrival_scv", "service_scv",
)  # fmt: skip
_NAMES: Final = (*_SWEPT, "approximation")
_COLUMNS: Final = (
    "utilisation",
    "wait_probability",
    "waiting",
    "number",
    "waiting_time",
    "sojourn_time",
    "blocking_probability",
    "throughput",
)

_UNITS: Final = {"time": "as the rates", "waiting": "in the line", "number": "with those served"}
_PLOTTED: Final = ("sojourn_time", "number", "utilisation")


def add(commands: Commands) -> None:
    summary = (
        "one station: M/M/c, M/M/c/K, M/G/1, GI/G/m or priorities; times in the unit of the rates"
    )
    example = "dovemq model queue --arrival-rate 30 --service-rate 10 --servers 4 --quantile 0.95"
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
    parser.choice("--approximation", APPROXIMATIONS, "formula for GI/G/m (default: the first)")
    add("--quantile", "P,…", "quantiles of wait and sojourn to show", reals)
    add("--tail", "T,…", "times T, to print P(wait > T)", reals)
    add("--target", "TIME", "sojourn that the largest arrival rate meets", real)
    add("--level", "P", "quantile that --target bounds (default: the mean)", real)
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
    check_sweep(args, ("quantile", "tail", "target", "sensitivity"))
    with modelling():
        found = _given(args)
        extra: dict[str, Any] = {}
        if args.sweep is None:
            model, station = _solved(found)
            rows = _rows(model, station)
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
        return given(args, _NAMES)
    return topic_rates(text, args.topic)[0] | flags_of(args, _NAMES)


def _swept(args: argparse.Namespace, found: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    name, values = args.sweep
    if name not in _SWEPT:
        raise WrongUse(f"--sweep: {name} is none of {', '.join(_SWEPT)}")
    model, rows = "", []
    for value in values:
        model, station = _solved({**found, name: value})
        rows += [{name: value, **row} for row in _rows(model, station)]
    return model, rows


def _rows(model: str, station: Any) -> list[dict[str, Any]]:
    if model != "priority":
        return [_row(station, None)]
    classes = range(len(station.arrival_rate))
    return [{"class": place + 1, **_row(station, place)} for place in classes]


def _solved(found: Mapping[str, Any]) -> tuple[str, Any]:
    """The name of the model that fits the parameters, and its station."""
    from dovemq.models import analytic

    rates = numbers("arrival_rate", required(found, "arrival_rate"))
    speeds = numbers("service_rate", required(found, "service_rate"))
    servers = number("servers", found.get("servers", 1))
    names = [name for name in ("arrival_scv", "service_scv") if name in found]
    scvs = {name: number(name, found[name]) for name in names}
    if len(rates) > 1 or len(speeds) > 1:
        return "priority", _priority(rates, speeds, servers, scvs, found)
    rate, speed = rates[0], speeds[0]
    if "capacity" in found:
        if scvs:
            raise WrongUse("capacity is for exponential arrivals and services: leave out the scvs")
        capacity = number("capacity", found["capacity"])
        return "M/M/c/K", analytic.mmck(rate, speed, servers, capacity)
    if "arrival_scv" in found or (servers != 1 and scvs):
        name = found.get("approximation", "allen-cunneen")
        arrivals, services = scvs.get("arrival_scv", 1.0), scvs.get("service_scv", 1.0)
        return f"GI/G/m by {name}", analytic.ggm(rate, arrivals, speed, services, servers, name)
    if scvs:
        return "M/G/1", analytic.mg1(rate, speed, scvs["service_scv"])
    return "M/M/c", analytic.mmc(rate, speed, servers)


def _priority(
    rates: Sequence[float],
    speeds: Sequence[float],
    servers: float,
    scvs: Mapping[str, float],
    found: Mapping[str, Any],
) -> Any:
    from dovemq.models import analytic

    if "capacity" in found or "arrival_scv" in scvs:
        raise WrongUse("classes of priority need Poisson arrivals and unlimited places")
    if servers == 1:
        return analytic.priority_mg1(rates, speeds, scvs.get("service_scv", 1.0))
    if len(set(speeds)) > 1 or scvs:
        raise WrongUse("classes on several servers need one exponential service: one service rate")
    return analytic.priority_mmc(rates, speeds[0], servers)


def _row(station: Any, place: int | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "stable": bool(station.stable if place is None else station.stable[place])
    }
    for name in _COLUMNS:
        if hasattr(station, name):
            value = getattr(station, name)
            row[name] = known(float(value if place is None else value[place]))
    return row


def _extra(
    args: argparse.Namespace, found: Mapping[str, Any], model: str, station: Any
) -> dict[str, Any]:
    extra: dict[str, Any] = {}
    if args.quantile:
        extra |= _quantiles(args, found, model, station)
    if args.target is not None or args.sensitivity:
        if model != "M/M/c":
            raise WrongUse(f"targets and sensitivities are known for M/M/c, not {model}")
        extra |= _known_of_markov(args, station)
    if args.tail:
        tailed = _tailed(found, model, station)
        tails = ((time, float(tailed.wait_tail(time))) for time in args.tail)
        extra["wait_tail"] = {f"P(wait > {time:g})": tail for time, tail in tails}
    return extra


def _quantiles(
    args: argparse.Namespace, found: Mapping[str, Any], model: str, station: Any
) -> dict[str, Any]:
    """Exact for M/M/c, and approximate where scvs are given."""
    from dovemq.models.analytic.percentiles import GeneralStation

    known, name = station, "quantile"
    if model != "M/M/c":
        if "scv" not in "".join(found) or model == "priority":
            raise WrongUse(f"quantiles are known for M/M/c, M/G/1 and GI/G/m, not {model}")
        name = "approximate quantile"
        known = GeneralStation(
            float(station.arrival_rate),
            float(station.service_rate),
            int(station.servers),
            number("arrival_scv", found.get("arrival_scv", 1.0)),
            number("service_scv", found.get("service_scv", 1.0)),
        )
    return {
        f"{name} {level:g}": {
            "wait": float(known.wait_quantile(level)),
            "sojourn": float(known.sojourn_quantile(level)),
        }
        for level in args.quantile
    }


def _known_of_markov(args: argparse.Namespace, station: Any) -> dict[str, Any]:
    from dovemq.models import analytic

    extra: dict[str, Any] = {}
    if args.target is not None:
        rate, speed = float(station.arrival_rate), float(station.service_rate)
        room = analytic.station_headroom(rate, speed, station.servers, args.target, args.level)
        needed = analytic.servers_needed(rate, speed, args.target, args.level)
        extra["headroom"] = {**headroom_pairs(room), "servers_needed": needed}
    if args.sensitivity:
        extra["sensitivity"] = floats_of(analytic.station_sensitivity(station))
    return extra


def _tailed(found: Mapping[str, Any], model: str, station: Any) -> Any:
    """The station with the distribution of its wait."""
    from dovemq.models.analytic import single_server
    from dovemq.models.distributions import by_moments

    if model == "M/G/1":
        scv = number("service_scv", found["service_scv"])
        return single_server(station.arrival_rate, by_moments(1.0 / station.service_rate, scv))
    if model not in ("M/M/c", "M/M/c/K"):
        raise WrongUse(f"the distribution of the wait is not known for {model}")
    return station


def _print(model: str, rows: Sequence[dict[str, Any]], extra: dict[str, Any]) -> None:
    print(model)
    if len(rows) == 1:
        print_pairs((name, shown(value)) for name, value in rows[0].items())
    else:
        print_rows(list(rows[0]), rows)
    if not all(row["stable"] for row in rows):
        print("unstable: more arrives than the servers can do")
    print_parts(extra)
