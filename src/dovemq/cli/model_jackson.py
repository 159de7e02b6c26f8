"""`dovemq model jackson`: an open network of stations with random routing between them."""

import argparse
from typing import TYPE_CHECKING, Any, Final

from dovemq.cli.command import FAILED, OK, Commands, add_command
from dovemq.cli.modelling import known, modelling, print_parts, print_rows, read_toml, reals, shown
from dovemq.cli.output import print_result
from dovemq.cli.values import existing_file

if TYPE_CHECKING:
    from dovemq.models.analytic.open import OpenMeasures

_FIGURES: Final = ("utilisation", "wait_probability", "number", "waiting_time", "sojourn_time")


def add(commands: Commands) -> None:
    summary = "an open network: Poisson arrivals, exponential services, random routing; exact means"
    example = "dovemq model jackson network.toml --quantile 0.95"
    parser = add_command(commands, "jackson", _run, summary, example)
    text = "file of stations with arrival rates, service rates and the shares of the next stations"
    parser.add_argument("file", type=existing_file, metavar="NETWORK.toml", help=text)
    text = "quantiles of the time per visit and in the network (default: 0.95)"
    parser.option("--quantile", "P,…", text, reals)


def _run(args: argparse.Namespace) -> int:
    with modelling():
        from dovemq.models.analytic.open import solve_open
        from dovemq.models.network_specs import read_open

        found = solve_open(read_open(read_toml(args.file)))
        report = _report(found, args.quantile or [0.95])
    code = OK if found.stable else FAILED
    return print_result(args, report, lambda: _print(report), code)


def _report(found: "OpenMeasures", levels: list[float]) -> dict[str, Any]:
    """Times per visit at stations of varying speed have no known quantile: it is null."""
    from dovemq.models.analytic.station import MarkovStation

    rows = []
    for place, station in enumerate(found.stations):
        row: dict[str, Any] = {
            "station": found.network.stations[place].name,
            "stable": bool(station.stable),
            "arrival_rate": float(station.arrival_rate),
            "visits": float(found.visits[place]),
        }
        row |= {name: known(float(getattr(station, name))) for name in _FIGURES}
        for level in levels:
            quantile = (
                float(station.sojourn_quantile(level))
                if isinstance(station, MarkovStation)
                else None
            )
            row[f"sojourn_p{100 * level:g}"] = quantile
        rows.append(row)
    quantiles = {f"sojourn_p{100 * level:g}": found.sojourn_quantile(level) for level in levels}
    return {
        "model": "open Jackson network",
        "units": {"time": "as the rates"},
        "stable": found.stable,
        "throughput": found.throughput,
        "number": found.number,
        "sojourn_time": found.sojourn_time,
        "quantiles": {"exact": found.exact_quantiles, **quantiles},
        "stations": rows,
    }


def _print(report: dict[str, Any]) -> None:
    print_rows([head for head in report["stations"][0] if head != "stable"], report["stations"])
    print()
    for name in ("throughput", "number", "sojourn_time"):
        print(f"{name}  {shown(report[name])}")
    if not report["stable"]:
        print("unstable: more arrives at a station than it can do")
    how = "exact" if report["quantiles"]["exact"] else "approximate: visits are independent"
    pairs = {name: value for name, value in report["quantiles"].items() if name != "exact"}
    print_parts({f"time in the network ({how})": pairs})
