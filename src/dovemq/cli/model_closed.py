"""`dovemq model closed`: a closed network of stations, in which a fixed number circulates."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from dovemq.cli.command import OK, Commands, WrongUse, add_command
from dovemq.cli.modelling import known, modelling, print_rows, read_toml
from dovemq.cli.output import print_result, working
from dovemq.cli.percentiles import add_percentiles, column
from dovemq.cli.values import existing_file

if TYPE_CHECKING:
    from dovemq.models.analytic.circulation import ClosedMeasures

METHODS: Final = ("exact", "mva", "convolution", "schweitzer")


def add(commands: Commands) -> None:
    summary = (
        "a closed network: throughput and times of a fixed number of customers, by exact or "
        "approximate mean value analysis"
    )
    example = "dovemq model closed network.toml --method schweitzer"
    parser = add_command(commands, "closed", _run, summary, example)
    text = "file of classes with populations, and stations with service times"
    parser.add_argument("file", type=existing_file, metavar="NETWORK.toml", help=text)
    text = "exact is mva, or convolution if a speed depends on the number present; schweitzer is"
    parser.choice("--method", METHODS, f"{text} approximate, for large networks", METHODS[0])
    text = "quantiles of the time of a visit, known at fcfs stations of constant speed"
    add_percentiles(parser, text)


def _run(args: argparse.Namespace) -> int:
    with modelling():
        from dovemq.models.network_specs import read_closed

        if args.percentile and args.method not in ("exact", "convolution"):
            raise WrongUse("--percentile is for --method exact or convolution")
        network = read_closed(read_toml(args.file))
        varying = any(each.load_dependent for each in network.stations)
        solve = _solver(args.method, bool(args.percentile) or varying)
        found = working(lambda: "solving", lambda: solve(network))
        report = _report(found, args.percentile or [])
    return print_result(args, report, lambda: _print(report), OK)


def _solver(method: str, by_convolution: bool) -> Any:
    from dovemq.models.analytic.convolution import convolution
    from dovemq.models.analytic.mva import mva
    from dovemq.models.analytic.schweitzer import schweitzer

    exact = convolution if by_convolution else mva
    return {"exact": exact, "mva": mva, "convolution": convolution, "schweitzer": schweitzer}[
        method
    ]


def _report(found: "ClosedMeasures", levels: Sequence[float]) -> dict[str, Any]:
    """`response_time` is the part of a cycle that is not spent at delay stations.

    Quantiles of visits whose times have no known distribution are null.
    """
    from dovemq.models.analytic.circulation import METHODS as NAMED

    network, names = found.network, ("throughput", "cycle_time", "response_time")
    quantiles = {column("visit", level): found.visit_quantile(level) for level in levels}
    stations = [
        {
            "station": station.name,
            "utilisation": known(float(found.utilisation[place])),
            "number": float(found.number[place].sum()),
        }
        for place, station in enumerate(network.stations)
    ]
    visits = [
        {
            "station": station.name,
            "class": each.name,
            "throughput": float(found.throughput[kind] * station.visited[kind]),
            "number": float(found.number[place, kind]),
            "time_per_visit": known(float(found.time_per_visit[place, kind])),
            "time_per_cycle": float(found.residence[place, kind]),
            **{name: known(float(times[place, kind])) for name, times in quantiles.items()},
        }
        for place, station in enumerate(network.stations)
        for kind, each in enumerate(network.classes)
        if network.demands[place, kind] > 0.0
    ]
    return {
        "method": NAMED[found.method],
        "units": {"time": "as the file", "throughput": "cycles, or visits, per unit of time"},
        "classes": [
            {
                "class": each.name,
                "population": each.population,
                **{name: float(getattr(found, name)[kind]) for name in names},
            }
            for kind, each in enumerate(network.classes)
        ],
        "stations": stations,
        "visits": visits,
    }


def _print(report: dict[str, Any]) -> None:
    print(f"{report['method']}\n")
    for name in ("classes", "stations", "visits"):
        print_rows(list(report[name][0]), report[name])
        print()
