"""`dovemq model queue --method kernel`: one station, simulated with what no closed form knows."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from dovemq.cli.command import FAILED, OK, CommandParser, WrongUse
from dovemq.cli.modelling import (
    modelling,
    number,
    numbers,
    print_rows,
    real,
    required,
    shown,
)
from dovemq.cli.output import print_pairs, print_result
from dovemq.cli.percentiles import DEFAULT_LEVEL, column
from dovemq.cli.queue_models import DISCIPLINES
from dovemq.cli.simulating import (
    add_simulation,
    described,
    flag,
    run_of,
    simulating,
    spread,
)

if TYPE_CHECKING:
    from dovemq.models.arrivals import Arrivals
    from dovemq.models.distributions import Exponential
    from dovemq.models.jobs import JobNetwork
    from dovemq.models.simulation import NetworkResult
    from dovemq.models.topic_rules import TopicRules

_STATION: Final = "station"
_ALONE: Final = (
    "service", "arrivals", "rate_steps", "rate_linear", "states", "batch", "batch_sizes",
)  # fmt: skip
"""Options that only the simulation knows."""
_CLOSED: Final = (
    "approximation",
    "gets_max",
    "tail",
    "target",
    "sensitivity",
    "sweep",
    "plot",
)
"""Options that only closed forms know."""


def add_queue_simulation(parser: CommandParser) -> None:
    parser.choice("--method", ("analytic", "kernel"), "closed form, or simulation", "analytic")
    group = parser.group("simulated station", "Options of --method kernel.")
    text = "distribution of service times: NAME or NAME:PARAMETER=VALUE, such as lognormal:scv=2"
    group.option("--service", "NAME", text)
    text = "distribution of the times between arrivals, such as weibull:shape=0.7"
    group.option("--arrivals", "NAME", text)
    text = "rates of arrivals one after another in a cycle, such as 2@8,6@16; for --arrival-rate"
    group.option("--rate-steps", "RATE@LENGTH,…", text, pairs)
    group.switch("--rate-linear", "let the rate go evenly from each of --rate-steps to the next")
    text = "states (MMPP): rate of arrivals, rate of leaving for the next state"
    group.option("--states", "RATE@LEAVING,…", text, pairs)
    group.option("--batch", "N", "mean number of arrivals at a time (default: 1)", real)
    group.choice("--batch-sizes", ("fixed", "geometric"), "sizes of batches (default: fixed)")
    add_simulation(parser)


def check_simulated_alone(args: argparse.Namespace) -> None:
    """Refuses options of a simulated station beside a closed form."""
    if given := [name for name in _ALONE if getattr(args, name) not in (None, False)]:
        raise WrongUse(f"{flag(given[0])} needs --method kernel")


def pairs(text: str) -> list[tuple[float, float]]:
    """`2@8,6@16`."""
    found = []
    for part in text.split(","):
        first, sign, second = part.partition("@")
        if not sign:
            raise argparse.ArgumentTypeError(f"{part!r} is not NUMBER@NUMBER")
        found.append((real(first), real(second)))
    return found


def run_queue_simulation(args: argparse.Namespace, given: Callable[[], Mapping[str, Any]]) -> int:
    if asked := [name for name in _CLOSED if getattr(args, name) not in (None, False)]:
        raise WrongUse(f"{flag(asked[0])} is for --method analytic")
    with modelling():
        from dovemq.models.simulation import simulate_network
        from dovemq.models.simulation.lengths import run_for_network

        network = simulated_station(args, given())
        run = run_of(args, run_for_network(network, args.replications))
        found = simulating(lambda: "", lambda report: simulate_network(network, run, report))
        levels = args.percentile or [DEFAULT_LEVEL]
        document = {
            "model": "simulated station",
            "method": "kernel",
            "units": {"time": "as the rates, of those that were served"},
            "run": described(run, found.sojourn.samples, found.warm_up),
            "results": _rows(found, levels),
            "warnings": _warnings(network, found),
        }
    code = FAILED if found.unstable else OK
    return print_result(args, document, lambda: _print(document), code)


def simulated_station(args: argparse.Namespace, found: Mapping[str, Any]) -> "JobNetwork":
    """One station; several rates are classes of priority, the most urgent first."""
    from dovemq.models import checks
    from dovemq.models.distributions import by_moments
    from dovemq.models.jobs import JobNetwork, JobRoute, JobTask, timed_job, timed_topic
    from dovemq.models.named_times import named_time

    speeds = numbers("service_rate", required(found, "service_rate"))
    arrivals = _arrivals(args, found)
    if len(speeds) not in (1, len(arrivals)):
        raise WrongUse(f"service_rate: {len(speeds)} numbers for {len(arrivals)} classes")
    scv = number("service_scv", found["service_scv"]) if "service_scv" in found else None
    services = [
        named_time(args.service, 1.0 / speed, scv, "--service")
        if args.service is not None
        else by_moments(1.0 / speed, 1.0 if scv is None else scv)
        for speed in speeds * (len(arrivals) // len(speeds))
    ]
    servers = int(checks.servers(number("servers", found.get("servers", 1))))
    topic = timed_topic(_STATION, services[0], servers, _rules(found))
    jobs = tuple(
        timed_job(str(place), each, JobRoute((JobTask("work", _STATION, (), service, place),)))
        for place, (each, service) in enumerate(zip(arrivals, services, strict=True), 1)
    )
    return JobNetwork((topic,), jobs)


def _arrivals(args: argparse.Namespace, found: Mapping[str, Any]) -> "list[Arrivals]":
    from dovemq.models.arrivals import Batches, ModulatedPoisson, RateSteps
    from dovemq.models.distributions import by_moments
    from dovemq.models.named_times import named_time

    given = [name for name in ("arrivals", "rate_steps", "states") if getattr(args, name)]
    if len(given) > 1:
        raise WrongUse(f"{flag(given[0])} and {flag(given[1])} exclude each other")
    if args.rate_linear and not args.rate_steps:
        raise WrongUse("--rate-linear is for --rate-steps")
    if args.batch_sizes is not None and args.batch is None:
        raise WrongUse("--batch-sizes is for --batch")
    single: list[Any]
    if args.rate_steps or args.states:
        if args.arrival_rate is not None or "arrival_scv" in found:
            raise WrongUse(f"{flag(given[0])} replaces --arrival-rate and --arrival-scv")
        rates, others = zip(*(args.rate_steps or args.states), strict=True)
        single = [
            RateSteps(rates, others, args.rate_linear)
            if args.rate_steps
            else ModulatedPoisson(rates, _to_next(others))
        ]
    else:
        scv = number("arrival_scv", found["arrival_scv"]) if "arrival_scv" in found else None
        size = args.batch or 1.0
        means = [size / rate for rate in _positive(found)]
        single = [
            named_time(args.arrivals, mean, scv, "--arrivals")
            if args.arrivals is not None
            else by_moments(mean, 1.0 if scv is None else scv)
            for mean in means
        ]
    if args.batch is None:
        return single
    return [Batches(each, args.batch, args.batch_sizes or "fixed") for each in single]


def _positive(found: Mapping[str, Any]) -> list[float]:
    from dovemq.models import checks

    rates = numbers("arrival_rate", required(found, "arrival_rate"))
    checks.positive(rates, "arrival_rate")
    return rates


def _to_next(leaving: Sequence[float]) -> tuple[tuple[float, ...], ...]:
    """Rates of changing from each state to the next one, and from the last to the first."""
    states = len(leaving)
    return tuple(
        tuple(rate if to == (state + 1) % states else 0.0 for to in range(states))
        for state, rate in enumerate(leaving)
    )


def _rules(found: Mapping[str, Any]) -> "TopicRules":
    from dovemq.models.topic_rules import TopicRules

    patience, retry = (_time(found, name) for name in ("patience", "retry_time"))
    if "persistence" in found and retry is None:
        raise WrongUse("--persistence is for --retry-time")
    room: Any = number("capacity", found["capacity"]) if "capacity" in found else None
    if retry is not None and room is None and patience is None:
        room = number("servers", found.get("servers", 1))
    return TopicRules(
        discipline=found.get("discipline", DISCIPLINES[0]),
        room=room,
        patience=patience,
        retry=retry,
        retry_share=number("persistence", found.get("persistence", 1.0)),
    )


def _time(found: Mapping[str, Any], name: str) -> "Exponential | None":
    from dovemq.models.distributions import Exponential

    return Exponential(number(name, found[name])) if name in found else None


def _rows(found: "NetworkResult", levels: Sequence[float]) -> list[dict[str, Any]]:
    """One row, or one for each class and the station as a whole at the end."""
    names = list(found.sojourn_of)
    rows = [_row(found, name, levels) for name in names] if len(names) > 1 else []
    station, whole = found.stations[_STATION], _row(found, None, levels)
    whole |= spread("utilisation", station.busy)
    whole |= spread("waiting", station.waiting) | spread("waiting_time", station.wait)
    whole |= {"refused": station.refused.mean, "abandoned": station.abandoned.mean}
    whole |= {"retrying": station.orbit.mean}
    return [*rows, whole]


def _row(found: "NetworkResult", name: str | None, levels: Sequence[float]) -> dict[str, Any]:
    row: dict[str, Any] = {"class": name or "all", "stable": not found.unstable}
    row |= spread("sojourn_time", found.sojourn if name is None else found.sojourn_of[name])
    for level in levels:
        row |= spread(column("sojourn", level), found.quantile(level, name))
    number = found.in_system if name is None else found.in_system_of[name]
    names = found.lost_of if name is None else (name,)
    row |= spread("number", number)
    throughput = [found.throughput_of[each].mean for each in names]
    row["throughput"] = sum(throughput)
    lost = [found.lost_of[each].mean for each in names]
    kept = sum(
        rate / (1.0 - share) for rate, share in zip(throughput, lost, strict=True) if share < 1
    )
    row["lost_share"] = 1.0 - row["throughput"] / kept if kept else lost[0]
    return row


def _warnings(network: "JobNetwork", found: "NetworkResult") -> list[str]:
    from dovemq.models.named_times import heavy_tail
    from dovemq.models.simulation.lengths import NO_STEADY_STATE, relaxation_of, too_short

    if found.unstable:
        return [NO_STEADY_STATE]
    tail = heavy_tail(network.topics[0].service_time, "service times")
    short = too_short(found.run.horizon, relaxation_of(network))
    texts = (found.steadiness, short, found.imprecision, tail)
    return [text for text in texts if text is not None]


def _print(document: Mapping[str, Any]) -> None:
    run, rows = document["run"], document["results"]
    print(
        f"simulated by the kernel: {run['replications']} runs of {run['horizon']:g} after a "
        f"warm-up of {run['warm_up']:g}, intervals at {run['confidence']:g}; times are those of "
        "customers that were served"
    )
    if len(rows) > 1:
        heads = [head for head in rows[0] if not head.endswith(("_low", "_high"))]
        print_rows(heads, rows[:-1])
        print()
    figures = {name: value for name, value in rows[-1].items() if name != "class"}
    print_pairs(
        (name, _with_interval(figures, name))
        for name in figures
        if not name.endswith(("_low", "_high"))
    )
    for text in document["warnings"]:
        print(f"warning: {text}")


def _with_interval(figures: Mapping[str, Any], name: str) -> str:
    text = shown(figures[name])
    if f"{name}_low" not in figures:
        return text
    return f"{text}  [{shown(figures[f'{name}_low'])}, {shown(figures[f'{name}_high'])}]"
