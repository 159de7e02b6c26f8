"""The output of `dovemq pipeline capacity`: one map of latencies for each load."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovemq.cli.modelling import shown
from dovemq.cli.output import fields, print_table
from dovemq.cli.percentiles import per_cent

if TYPE_CHECKING:
    from dovemq.experiments.heat_maps import HeatMap
    from dovemq.models.planning.capacity import Judged, LatencyTarget
    from dovemq.models.planning.partitioned import PartitionedQueue


def as_dict(
    queue: "PartitionedQueue",
    target: "LatencyTarget",
    method: str,
    found: "Sequence[Judged]",
    best: "Mapping[float, Judged | None]",
) -> dict[str, Any]:
    names = ("arrival_rate", "service_rate", "arrival_scv", "service_scv", "partition_rate")
    return {
        "method": method,
        "exact": method == "analytic" and queue.exact,
        "queue": fields(queue, *names),
        "target_s": target.latency,
        "percentile": per_cent(target.level),
        "cheapest": [
            {"load": load} | (_row(each) if each else {"met": False}) for load, each in best.items()
        ],
        "configurations": [{"load": each.candidate.load} | _row(each) for each in found],
    }


def _row(each: "Judged") -> dict[str, Any]:
    """`met` is null where the target lies in the interval."""
    queue = each.candidate.queue
    return {
        **fields(queue, "partitions", "consumers", "stable"),
        "cost": each.candidate.cost,
        "latency_s": each.latency,
        "low_s": each.low,
        "high_s": each.high,
        "met": each.met,
    }


def print_report(report: Mapping[str, Any]) -> None:
    for best in report["cheapest"]:
        own = [row for row in report["configurations"] if row["load"] == best["load"]]
        figure = _figure(report["percentile"])
        print(f"load {best['load']:g}: {figure} of the latency in s, partitions × consumers")
        _print_map(own, best)
        print(_best_text(best), end="\n\n")
    if report["method"] == "analytic" and not report["exact"]:
        print("approximate, since an scv is not 1; --method kernel simulates")
    print(f"( ) misses the target of {report['target_s']:g} s, ? may miss it, * costs least")


def _figure(percentile: float | None) -> str:
    return "mean" if percentile is None else f"{percentile:g} % quantile"


def _print_map(rows: Sequence[Mapping[str, Any]], best: Mapping[str, Any]) -> None:
    consumers = sorted({row["consumers"] for row in rows})
    places = {(row["partitions"], row["consumers"]): row for row in rows}
    chosen = (best.get("partitions"), best.get("consumers"))
    table = [
        [
            str(partitions),
            *(_cell(places.get((partitions, each)), chosen) for each in consumers),
        ]
        for partitions in sorted({row["partitions"] for row in rows})
    ]
    print_table(["", *map(str, consumers)], table)


def _cell(row: Mapping[str, Any] | None, chosen: tuple[Any, Any]) -> str:
    if row is None:
        return "-"
    if not row["stable"]:
        return "(unstable)"
    text = f"{row['latency_s']:.4g}"
    if (row["partitions"], row["consumers"]) == chosen:
        return f"{text}*"
    return text if row["met"] else f"{text}?" if row["met"] is None else f"({text})"


def _best_text(best: Mapping[str, Any]) -> str:
    if not best["met"]:
        return "no configuration certainly meets the target"
    return (
        f"cheapest: {best['partitions']} partitions, {best['consumers']} consumers; "
        f"cost {best['cost']:g}, latency {shown(best['latency_s'])} s"
    )


def draw(
    path: Path,
    target: "LatencyTarget",
    found: "Sequence[Judged]",
    best: "Mapping[float, Judged | None]",
) -> None:
    from dovemq.experiments.heat_maps import draw_maps

    figure = _figure(per_cent(target.level))
    labels = ("consumers", "partitions", f"{figure} of the latency, s")
    title = f"dovemq pipeline capacity: dots meet {target.latency:g} s, the star costs least"
    queues = [each.candidate.queue for each in found]
    axes = (
        sorted({queue.consumers for queue in queues}),
        sorted({queue.partitions for queue in queues}),
    )
    maps = [_map(load, found, each) for load, each in best.items()]
    draw_maps(title, labels, axes, maps, [path])


def _map(load: float, found: "Sequence[Judged]", best: "Judged | None") -> "HeatMap":
    from dovemq.experiments.heat_maps import HeatMap

    own: dict[tuple[float, float], Judged] = {
        (each.candidate.queue.consumers, each.candidate.queue.partitions): each
        for each in found
        if each.candidate.load == load
    }
    title, chosen = f"load {load:g}: none meets the target", None
    if best is not None:
        queue = best.candidate.queue
        chosen = queue.consumers, queue.partitions
        title = f"load {load:g}: {queue.partitions} × {queue.consumers}"
        title += f" for {best.candidate.cost:g}"
    known = {at: each.latency for at, each in own.items() if each.candidate.queue.stable}
    return HeatMap(title, known, frozenset(at for at, each in own.items() if each.met), chosen)
