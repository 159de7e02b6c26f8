"""Quantiles in the answer of `dovemq model queue`: by a closed form, else by a simulation."""

import argparse
from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from dovemq.cli.command import WrongUse
from dovemq.cli.modelling import numbers, print_rows
from dovemq.cli.percentiles import column, per_cent
from dovemq.cli.queue_models import KnownTimes, times_of
from dovemq.cli.queue_simulation import simulated_station
from dovemq.cli.simulating import run_of, simulating, spread

if TYPE_CHECKING:
    from dovemq.models.simulation import NetworkResult


def percentiles_of(
    args: argparse.Namespace, model: str, station: Any, found: Mapping[str, Any]
) -> dict[str, Any]:
    """Says how the quantiles are known, and returns a row for each of them and each class."""
    from dovemq.models.errors import TooLarge

    times = times_of(model, station, found)
    if times is not None:
        try:
            return {"how": times.how, "quantiles": _rows(times, args.percentile)}
        except TooLarge as error:
            return _simulated(args, station, found, f"{error}; ")
    return _simulated(args, station, found, "no closed form is known; ")


def quantile_columns(
    args: argparse.Namespace, model: str, station: Any, found: Mapping[str, Any], rows: int
) -> list[dict[str, float]]:
    """Quantiles as columns, such as `wait_p95`, for each row of one value of a sweep."""
    columns: list[dict[str, float]] = [{} for _ in range(rows)]
    if not args.percentile:
        return columns
    times = times_of(model, station, found)
    if times is None:
        reason = f"--percentile of {model} is simulated, for one configuration: leave out --sweep"
        raise WrongUse(reason)
    for level in args.percentile:
        for row, quantiles in zip(columns, times.at(level), strict=True):
            row |= {column(kind, level): time for kind, time in quantiles.items()}
    return columns


def _rows(times: KnownTimes, levels: Sequence[float]) -> list[dict[str, Any]]:
    several = len(times.stations) > 1
    return [
        {"percentile": per_cent(level), **({"class": place} if several else {}), **quantiles}
        for level in levels
        for place, quantiles in enumerate(times.at(level), 1)
    ]


def _simulated(
    args: argparse.Namespace, station: Any, found: Mapping[str, Any], why: str
) -> dict[str, Any]:
    """Simulates the classes that are stable; the others have no quantile."""
    from dovemq.models.simulation import simulate_network
    from dovemq.models.simulation.lengths import TAIL_JOBS_MIN, run_for_network

    # A class is stable only if all that are more urgent are, and does not notice the others.
    rates, speeds = (numbers(name, found[name]) for name in ("arrival_rate", "service_rate"))
    stable = sum(map(bool, station.stable)) if rates[1:] else int(station.stable)
    kept = {
        "arrival_rate": rates[:stable],
        "service_rate": speeds[:stable] if speeds[1:] else speeds,
    }
    result = None
    if stable:
        network = simulated_station(args, {**found, **kept})
        run = run_of(args, run_for_network(network, args.replications, TAIL_JOBS_MIN))
        result = simulating(lambda: "", lambda report: simulate_network(network, run, report))
        why += f"{run.replications} runs, intervals at {run.confidence:g}"
    rows = []
    for level in args.percentile:
        for place in range(1, len(rates) + 1):
            row: dict[str, Any] = {"percentile": per_cent(level)}
            row |= {"class": place} if len(rates) > 1 else {}
            rows.append(row | _estimate(result if place <= stable else None, place, level))
    return {"how": f"simulated: {why}", "quantiles": rows}


def _estimate(result: "NetworkResult | None", place: int, level: float) -> dict[str, float]:
    if result is None:
        return dict.fromkeys(("sojourn", "sojourn_low", "sojourn_high"), inf)
    return spread("sojourn", result.quantile(level, str(place)))


def print_percentiles(found: Mapping[str, Any] | None) -> None:
    if found is not None:
        print(f"\npercentiles ({found['how']})")
        print_rows(list(found["quantiles"][0]), found["quantiles"])
