"""`dovemq model vma`: a queue service with sender, broker, receiver and retransmission."""

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from dovemq.cli.command import FAILED, OK, Commands, WrongUse, add_command
from dovemq.cli.modelling import (
    add_source,
    add_sweep,
    check_sweep,
    floats_of,
    given,
    headroom_pairs,
    modelling,
    one_or_pair,
    plot_sweep,
    print_parts,
    print_rows,
    real,
    reals,
    required,
    shown,
)
from dovemq.cli.modelling import number as as_number
from dovemq.cli.output import fields, print_pairs, print_result
from dovemq.cli.percentiles import DEFAULT_LEVEL, add_percentiles, column, level_of
from dovemq.cli.simulating import (
    Report,
    add_simulation,
    check_simulation,
    described,
    run_of,
    simulating,
)

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
_UNITS: Final = {"time": "s", "rate": "1/s"}
_UNPRINTED: Final = ("parameters", "unstable", "warnings", "run")
_COLUMNS: Final[Mapping[str, str]] = {
    "delivery_time": "delivery_time_s",
    "waiting": "waiting_messages",
    "sender_utilisation": "sender_utilisation",
    "broker_utilisation": "broker_utilisation",
    "sender_any_busy": "sender_any_busy",
    "broker_any_busy": "broker_any_busy",
}


def add(commands: Commands) -> None:
    summary = "a queue service with retransmission: sender, broker, receiver (rates per second)"
    example = (
        "dovemq model vma --arrival-rate 30.3 --service-rate 10,10 --threads 5,5 "
        "--reliability 0.99 --order out --method analytic --json"
    )
    parser = add_command(commands, "vma", _run, summary, example)
    add = parser.option
    add("--arrival-rate", "RATE", "messages produced per second", real)
    add("--service-rate", "A,B", "rate of one thread: sender, broker", reals)
    add("--threads", "A,B", "numbers of threads: sender, broker", reals)
    add("--reliability", "Q", "share of gets that succeed (default: 1)", real)
    parser.choice("--order", ("out", "in"), "delivery in any order, or in order (default: out)")
    text = "a failed get is known at once, or when the timeout ends (default: ideal)"
    parser.choice("--failure", ("ideal", "timer"), text)
    text = "time after a get at which a message is visible again; for --failure timer"
    add("--visibility-timeout", "SECONDS", text, real)
    add("--link-delay", "SECONDS", "time over the link (default: 0)", real)
    add("--gets-max", "N", "gets after which a message is given up", real)
    parser.choice("--method", METHODS, "method", "analytic")
    parser.switch("--as-printed", "use eq. 8 and 9 with the misprints of the paper")
    text = "quantiles of the delivery time, approximate with failures or links"
    add_percentiles(parser, text, "95")
    text = "delivery time that the largest arrival rate meets: the mean, or that of --percentile"
    add("--target", "SECONDS", text, real)
    parser.switch("--sensitivity", "print the change of the mean by each parameter")
    add_simulation(parser)
    add_sweep(parser, "threads=4:10")
    add_source(parser)


def _run(args: argparse.Namespace) -> int:
    check_sweep(args, ("target", "sensitivity"))
    check_simulation(args, args.method != "analytic")
    if args.as_printed and args.method != "analytic":
        raise WrongUse("--as-printed is for --method analytic")
    with modelling():
        configurations = _configurations(args)
        answers = _answered(args, [parameters for _, parameters in configurations])
        rows = [
            _row(args, value, parameters, answer)
            for (value, parameters), answer in zip(configurations, answers, strict=True)
        ]
        if args.plot is not None:
            plot_sweep(args, "dovemq model vma", args.method, rows, list(_COLUMNS.values())[:4])
        extra = _extra(args, configurations[0][1], answers[0].closed_form)
    document = {"model": "vma", "method": args.method, "units": _UNITS, "results": rows, **extra}
    code = FAILED if args.sweep is None and answers[0].unstable else OK
    return print_result(args, document, lambda: _print(args, rows, extra), code)


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


def _answered(
    args: argparse.Namespace, configurations: Sequence["VmaParameters"]
) -> list["VmaAnswer"]:
    from dovemq.models.simulation.lengths import ARRIVALS_MAX
    from dovemq.models.vma.methods import METHODS as BY_NAME
    from dovemq.models.vma.methods import PETRI_ARRIVALS_MAX, by_formula, run_for

    most = PETRI_ARRIVALS_MAX if args.method == "petri" else ARRIVALS_MAX
    answers: list[VmaAnswer] = []

    def work(report: Report) -> None:
        for parameters in configurations:
            if args.method == "analytic":
                answers.append(by_formula(parameters, as_printed=args.as_printed))
            else:
                run = run_of(args, run_for(parameters, args.replications, most))
                answers.append(BY_NAME[args.method](parameters, run, report))

    text = f" of {len(configurations)} configurations, " if len(configurations) > 1 else ""
    simulating(lambda: f"{len(answers)}{text}" if text else "", work)
    return answers


def _row(
    args: argparse.Namespace, value: float | None, parameters: "VmaParameters", answer: "VmaAnswer"
) -> dict[str, Any]:
    row: dict[str, Any] = {} if value is None else {args.sweep[0]: value}
    row["parameters"] = {**fields(parameters, *_PARAMETERS), "as_printed": args.as_printed}
    row["stable"] = not answer.unstable
    row["unstable"] = list(answer.unstable)
    for name, title in _COLUMNS.items():
        estimate = answer.measures[name]
        row[title] = estimate.mean
        if args.method != "analytic":
            row |= {f"{title}_low": estimate.low, f"{title}_high": estimate.high}
    if answer.closed_form is not None:
        row |= _parts(answer.closed_form)
    row |= _quantiles(args, answer)
    if answer.run is not None:
        done = answer.measures["delivery_time"].samples
        row["run"] = described(answer.run, done, float(answer.run.warm_up))
    row["warnings"] = list(answer.warnings)
    return row


def _quantiles(args: argparse.Namespace, answer: "VmaAnswer") -> dict[str, float]:
    if answer.quantile is None:
        if args.percentile:
            raise WrongUse("--percentile is for --method analytic, without --as-printed, or kernel")
        return {}
    row = {}
    for level in args.percentile or (DEFAULT_LEVEL,):
        found, name = answer.quantile(level), column("delivery", level, "s")
        row[name] = found.mean
        if args.method != "analytic":
            row |= {f"{name}_low": found.low, f"{name}_high": found.high}
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
        # Headroom and sensitivity are of the closed form, also beside a simulation.
        room = vma_headroom(parameters, args.target, known, level_of(args))
        found["headroom"] = {"method": "analytic", "target_s": args.target, **headroom_pairs(room)}
    if args.sensitivity:
        found["sensitivity_s"] = {
            "method": "analytic",
            **floats_of(vma_sensitivity(parameters, known)),
        }
    return found


def _print(args: argparse.Namespace, rows: Sequence[dict[str, Any]], extra: dict[str, Any]) -> None:
    kept = [{name: row[name] for name in row if name not in _UNPRINTED} for row in rows]
    if args.method != "analytic":
        name = "Petri net" if args.method == "petri" else args.method
        print(f"simulated by the {name}{_run_text(rows)}\n")
    if args.sweep is None:
        print_pairs((name, shown(value)) for name, value in kept[0].items())
        for station in rows[0]["unstable"]:
            print(f"unstable: more arrives at the {station} than its threads can do")
        for text in rows[0]["warnings"]:
            print(f"warning: {text}")
    else:
        warned = [str(row[args.sweep[0]]) for row in rows if row["warnings"]]
        quantiles = [name for name in kept[0] if name.startswith("delivery_p")]
        left_out = ("_any_busy", "_probability", *quantiles)
        heads = [name for name in kept[0] if not name.endswith(left_out)][:9] + quantiles
        print_rows(heads, kept)
        if warned:
            print(f"warning: --json says why the figures of {', '.join(warned)} may be wrong")
    print_parts(extra)


def _run_text(rows: Sequence[dict[str, Any]]) -> str:
    if len(rows) > 1:
        return ""
    run = rows[0]["run"]
    return (
        f": {run['replications']} runs of {run['horizon']:g} s after a warm-up of "
        f"{run['warm_up']:g} s, intervals at {run['confidence']:g}"
    )
