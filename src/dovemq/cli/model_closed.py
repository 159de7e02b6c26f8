"""`dovemq model closed`: a closed network of stations, in which a fixed number circulates."""

import argparse
from typing import TYPE_CHECKING, Any, Final

from dovemq.cli.command import OK, Commands, add_command
from dovemq.cli.modelling import known, modelling, print_rows, read_toml
from dovemq.cli.output import print_result, working
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


def _run(args: argparse.Namespace) -> int:
    with modelling():
        from dovemq.models.network_specs import read_closed

        network = read_closed(read_toml(args.file))
        solve = _solver(args.method, any(each.load_dependent for each in network.stations))
        report = _report(working(lambda: "solving", lambda: solve(network)))
    return print_result(args, report, lambda: _print(report), OK)


def _solver(method: str, load_dependent: bool) -> Any:
    from dovemq.models.analytic.convolution import convolution
    from dovemq.models.analytic.mva import mva
    from dovemq.models.analytic.schweitzer import schweitzer

    exact = convolution if load_dependent else mva
    return {"exact": exact, "mva": mva, "convolution": convolution, "schweitzer": schweitzer}[
        method
    ]


def _report(found: "ClosedMeasures") -> dict[str, Any]:
    """`response_time` is the part of a cycle that is not spent at delay stations."""
    from dovemq.models.analytic.circulation import METHODS as NAMED

    network, names = found.network, ("throughput", "cycle_time", "response_time")
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
            "throughput": float(found.throughput[column] * station.visited[column]),
            "number": float(found.number[place, column]),
            "time_per_visit": known(float(found.time_per_visit[place, column])),
            "time_per_cycle": float(found.residence[place, column]),
        }
        for place, station in enumerate(network.stations)
        for column, each in enumerate(network.classes)
        if network.demands[place, column] > 0.0
    ]
    return {
        "method": NAMED[found.method],
        "units": {"time": "as the file", "throughput": "cycles, or visits, per unit of time"},
        "classes": [
            {
                "class": each.name,
                "population": each.population,
                **{name: float(getattr(found, name)[column]) for name in names},
            }
            for column, each in enumerate(network.classes)
        ],
        "stations": stations,
        "visits": visits,
    }


def _print(report: dict[str, Any]) -> None:
    print(f"{report['method']}\n")
    for name in ("classes", "stations", "visits"):
        print_rows(list(report[name][0]), report[name])
        print()
