"""`dovemq model jackson`: an open network of stations with random routing between them."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from dovemq.cli.command import FAILED, OK, Commands, add_command
from dovemq.cli.modelling import known, modelling, print_parts, print_rows, read_toml, shown
from dovemq.cli.output import print_result
from dovemq.cli.percentiles import DEFAULT_LEVEL, add_percentiles, column
from dovemq.cli.simulating import (
    add_simulation,
    check_simulation,
    described,
    run_of,
    simulating,
    spread,
)
from dovemq.cli.values import existing_file

if TYPE_CHECKING:
    from dovemq.models.analytic.open import OpenMeasures

_FIGURES: Final = ("utilisation", "wait_probability", "number", "waiting_time", "sojourn_time")


def add(commands: Commands) -> None:
    summary = "an open network: Poisson arrivals, exponential services, random routing; exact means"
    example = "dovemq model jackson network.toml --percentile 95,99"
    parser = add_command(commands, "jackson", _run, summary, example)
    text = "file of stations with arrival rates, service rates and the shares of the next stations"
    parser.add_argument("file", type=existing_file, metavar="NETWORK.toml", help=text)
    add_percentiles(parser, "quantiles of the time per visit and in the network", "95")
    text = "take visits as independent, where the time in the network would be simulated"
    parser.switch("--approximate", text)
    add_simulation(parser)


def _run(args: argparse.Namespace) -> int:
    with modelling():
        from dovemq.models.analytic.open import solve_open
        from dovemq.models.network_specs import read_open

        found = solve_open(read_open(read_toml(args.file)))
        levels = args.percentile or [DEFAULT_LEVEL]
        report = _report(found, levels)
        report["quantiles"] = _quantiles(args, found, levels)
    code = OK if found.stable else FAILED
    return print_result(args, report, lambda: _print(report), code)


def _quantiles(
    args: argparse.Namespace, found: "OpenMeasures", levels: Sequence[float]
) -> dict[str, Any]:
    """Quantiles of the time in the network: simulated where customers may return to a station."""
    from dovemq.models.errors import TooLarge

    varying = any(station.rates for station in found.network.stations)
    simulates = found.stable and found.returns and not (args.approximate or varying)
    check_simulation(args, simulates, "the time in this network is computed")
    if simulates:
        try:
            return _simulated(args, found, levels)
        except TooLarge as error:
            how = f"approximate: visits are independent, since {error}"
    elif found.exact_quantiles:
        how = "exact"
    else:
        how = "approximate: visits are independent"
    return {"how": how} | {
        column("sojourn", level): found.sojourn_quantile(level) for level in levels
    }


def _simulated(
    args: argparse.Namespace, found: "OpenMeasures", levels: Sequence[float]
) -> dict[str, Any]:
    from dovemq.models.simulation import simulate_network
    from dovemq.models.simulation.lengths import TAIL_JOBS_MIN, run_for_network
    from dovemq.models.simulation.open_network import jobs_of

    network = jobs_of(found.network)
    run = run_of(args, run_for_network(network, args.replications, TAIL_JOBS_MIN))
    result = simulating(lambda: "", lambda report: simulate_network(network, run, report))
    done = result.sojourn.samples
    how = f"simulated: {done} runs of {run.horizon:g}, intervals at {run.confidence:g}"
    rows: dict[str, Any] = {"how": how, "run": described(run, done, result.warm_up)}
    for level in levels:
        rows |= spread(column("sojourn", level), result.quantile(level))
    return rows


def _report(found: "OpenMeasures", levels: Sequence[float]) -> dict[str, Any]:
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
            row[column("sojourn", level)] = quantile
        rows.append(row)
    return {
        "model": "open Jackson network",
        "units": {"time": "as the rates"},
        "stable": found.stable,
        "throughput": found.throughput,
        "number": found.number,
        "sojourn_time": found.sojourn_time,
        "stations": rows,
    }


def _print(report: dict[str, Any]) -> None:
    print_rows([head for head in report["stations"][0] if head != "stable"], report["stations"])
    print()
    for name in ("throughput", "number", "sojourn_time"):
        print(f"{name}  {shown(report[name])}")
    if not report["stable"]:
        print("unstable: more arrives at a station than it can do")
    quantiles = report["quantiles"]
    shown_rows = {name: value for name, value in quantiles.items() if name not in ("how", "run")}
    print_parts({f"time in the network ({quantiles['how']})": shown_rows})
