"""`dovemq model vma`: a queue service with sender, broker, receiver and retransmission."""

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from dovemq.cli.command import FAILED, OK, Commands, WrongUse, add_command, count, number
from dovemq.cli.modelling import (
    add_source,
    add_sweep,
    check_sweep,
    floats_of,
    given,
    headroom_pairs,
    modelling,
    one_or_pair,
    plain,
    plot_sweep,
    print_parts,
    real,
    reals,
    required,
    shown,
)
from dovemq.cli.modelling import number as as_number
from dovemq.cli.output import Progress, print_json, print_pairs, print_table

if TYPE_CHECKING:
    from dovemq.models.analytic import VmaMeasures
    from dovemq.models.vma.methods import VmaAnswer
    from dovemq.models.vma.parameters import VmaParameters

METHODS: Final = ("analytic", "kernel", "petri")
_BOTH: Final[Mapping[str, tuple[str, ...]]] = {
    "service_rate": ("sender_rate", "broker_rate"),
    "threads": ("sender_threads", "broker_threads"),
}
_NUMBERS: Final = ("reliability", "visibility_timeout", "link_delay", "gets_max")
_NAMES: Final = ("arrival_rate", *_BOTH, "order", "failure", *_NUMBERS)
_STATIONS: Final = (*_BOTH["service_rate"], *_BOTH["threads"])
_SWEPT: Final = ("arrival_rate", *_BOTH, *_STATIONS, *_NUMBERS[:-1])
_PARAMETERS: Final = ("arrival_rate", *_STATIONS, "order", "failure", *_NUMBERS)
_UNPRINTED: Final = ("parameters", "unstable")
_COLUMNS: Final[Mapping[str, str]] = {
    "delivery_time": "delivery_time_s",
    "waiting": "waiting_messages",
    "sender_utilisation": "sender_utilisation",
    "broker_utilisation": "broker_utilisation",
    "sender_any_busy": "sender_any_busy",
    "broker_any_busy": "broker_any_busy",
}


def add(commands: Commands) -> None:
    parser = add_command(
        commands,
        "vma",
        _run,
        "a queue service with retransmission: sender, broker, receiver (rates per second)",
        "dovemq model vma --arrival-rate 30.3 --service-rate 10,10 --threads 5,5 "
        "--reliability 0.99 --order out --method analytic --json",
    )
    add = parser.add_argument
    add("--arrival-rate", type=real, metavar="RATE", help="messages produced per second")
    add("--service-rate", type=reals, metavar="A,B", help="rate of one thread: sender, broker")
    add("--threads", type=reals, metavar="A,B", help="numbers of threads: sender, broker")
    add("--reliability", type=real, metavar="Q", help="share of gets that succeed (default: 1)")
    add("--order", choices=("out", "in"), help="delivery in any order, or in order (default: out)")
    add(
        "--failure",
        choices=("ideal", "timer"),
        help="a failed get is known at once, or when the timeout ends (default: ideal)",
    )
    add(
        "--visibility-timeout",
        type=real,
        metavar="SECONDS",
        help="time after a get at which a message is visible again (default: 0)",
    )
    add("--link-delay", type=real, metavar="SECONDS", help="time over the link (default: 0)")
    add("--gets-max", type=real, metavar="N", help="gets after which a message is given up")
    add("--method", choices=METHODS, default="analytic", help="method (default: %(default)s)")
    add("--as-printed", action="store_true", help="use eq. 8 and 9 with the misprints of the paper")
    add("--target", type=real, metavar="SECONDS", help="mean that the largest arrival rate meets")
    add("--sensitivity", action="store_true", help="print the change of the mean by each parameter")
    _add_effort(parser)
    add_sweep(parser, "threads=4:10")
    add_source(parser)


def _add_effort(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("simulation", "Options of the methods that simulate.")
    group.add_argument("--replications", type=count, default=20, help="runs (default: 20)")
    group.add_argument(
        "--horizon", type=real, default=100.0, metavar="S", help="seconds of a run (default: 100)"
    )
    group.add_argument("--seed", type=number, default=0, help="random seed (default: 0)")


def _run(args: argparse.Namespace) -> int:
    check_sweep(args, ("target", "sensitivity"))
    if args.as_printed and args.method != "analytic":
        raise WrongUse("--as-printed is for --method analytic")
    with modelling():
        configurations = _configurations(args)
        answers = asyncio.run(_answered(args, [parameters for _, parameters in configurations]))
        rows = [
            _row(args, value, parameters, answer)
            for (value, parameters), answer in zip(configurations, answers, strict=True)
        ]
        if args.plot is not None:
            plot_sweep(args, "dovemq model vma", args.method, rows, list(_COLUMNS.values())[:4])
        extra = _extra(args, configurations[0][1], answers[0].closed_form)
    _print(args, rows, extra)
    return FAILED if args.sweep is None and answers[0].unstable else OK


def _configurations(args: argparse.Namespace) -> list[tuple[float | None, "VmaParameters"]]:
    """The parameters of one question, or of each value of a sweep."""
    from dovemq.models.vma.parameters import VmaParameters

    if args.sweep is None:
        return [(None, VmaParameters(**_parameters(given(args, _NAMES), set())))]
    name, values = args.sweep
    if name not in _SWEPT:
        raise WrongUse(f"--sweep: {name} is none of {', '.join(_SWEPT)}")
    swept = _BOTH.get(name, (name,))
    parameters = _parameters(given(args, _NAMES), set(swept))
    return [
        (value, VmaParameters(**{**parameters, **dict.fromkeys(swept, value)})) for value in values
    ]


def _parameters(found: Mapping[str, Any], swept: set[str]) -> dict[str, Any]:
    parameters = {name: found[name] for name in ("order", "failure") if name in found}
    for name, both in _BOTH.items():
        if name in found or not swept.issuperset(both):
            pair = one_or_pair(name, required(found, name))
            parameters.update(zip(both, pair, strict=True))
    for name in _NUMBERS:
        if name in found:
            parameters[name] = as_number(name, found[name])
    if "arrival_rate" in found or "arrival_rate" not in swept:
        parameters["arrival_rate"] = as_number("arrival_rate", required(found, "arrival_rate"))
    return parameters


async def _answered(
    args: argparse.Namespace, configurations: Sequence["VmaParameters"]
) -> list["VmaAnswer"]:
    from dovemq.models.simulation import SimulationRun
    from dovemq.models.vma.methods import METHODS as BY_NAME
    from dovemq.models.vma.methods import by_formula

    run = SimulationRun(args.horizon, replications=args.replications, seed=args.seed)
    answers: list[VmaAnswer] = []
    async with Progress(lambda: f"{len(answers)} of {len(configurations)} configurations"):
        for parameters in configurations:
            if args.as_printed:
                answers.append(by_formula(parameters, as_printed=True))
            else:
                answers.append(await asyncio.to_thread(BY_NAME[args.method], parameters, run))
    return answers


def _row(
    args: argparse.Namespace, value: float | None, parameters: "VmaParameters", answer: "VmaAnswer"
) -> dict[str, Any]:
    row: dict[str, Any] = {} if value is None else {args.sweep[0]: value}
    shown_parameters = {name: getattr(parameters, name) for name in _PARAMETERS}
    row["parameters"] = plain({**shown_parameters, "as_printed": args.as_printed})
    row["stable"] = not answer.unstable
    row["unstable"] = list(answer.unstable)
    for name, column in _COLUMNS.items():
        estimate = answer.measures[name]
        row[column] = estimate.mean
        if args.method != "analytic":
            row |= {f"{column}_low": estimate.low, f"{column}_high": estimate.high}
    if answer.closed_form is not None:
        row |= _parts(answer.closed_form)
    return row


def _parts(found: "VmaMeasures") -> dict[str, float]:
    return {
        "station_time_s": float(found.station_time),
        "link_time_s": float(found.link_time),
        "timer_time_s": float(found.timer_time),
        "gets_per_message": float(found.gets),
        "delivered_share": float(found.delivered_share),
        "early_expiry_probability": float(found.early_expiry_probability),
    }


def _extra(
    args: argparse.Namespace, parameters: "VmaParameters", known: "VmaMeasures | None"
) -> dict[str, Any]:
    from dovemq.models.analytic import vma_headroom, vma_sensitivity

    found: dict[str, Any] = {}
    if args.target is not None:
        room = vma_headroom(parameters, args.target, known)
        found["headroom"] = {"target_s": args.target, **headroom_pairs(room)}
    if args.sensitivity:
        found["sensitivity_s"] = floats_of(vma_sensitivity(parameters, known))
    return found


def _print(args: argparse.Namespace, rows: Sequence[dict[str, Any]], extra: dict[str, Any]) -> None:
    if args.json:
        print_json(
            {
                "model": "vma",
                "method": args.method,
                "units": {"time": "s", "rate": "1/s"},
                "results": list(map(plain, rows)),
                **{name: plain(found) for name, found in extra.items()},
            }
        )
        return
    kept = [{name: row[name] for name in row if name not in _UNPRINTED} for row in rows]
    if args.sweep is None:
        print_pairs((name, shown(value)) for name, value in kept[0].items())
        for station in rows[0]["unstable"]:
            print(f"unstable: more arrives at the {station} than its threads can do")
    else:
        heads = [name for name in kept[0] if not name.endswith(("_any_busy", "_probability"))][:9]
        print_table(heads, [[shown(row[head]) for head in heads] for row in kept])
    print_parts(extra)
