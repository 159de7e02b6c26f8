"""`dovemq pipeline capacity`: the cheapest partitions and consumers that keep a latency."""

import argparse
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from dovemq.cli.capacity_reports import as_dict, draw, print_report
from dovemq.cli.command import FAILED, OK, CommandParser, Commands, WrongUse, add_command
from dovemq.cli.interruption import Interruption
from dovemq.cli.modelling import add_plot, axis, flags_of, read_toml, real, topic_rates
from dovemq.cli.output import print_result
from dovemq.cli.percentiles import add_percentile
from dovemq.cli.pipeline_options import add_spark, directory_or_temporary, pipeline_job
from dovemq.cli.sweeping import add_keeping, swept
from dovemq.cli.values import existing_file, number

if TYPE_CHECKING:
    from dovemq.models.planning.capacity import Candidate, Judged, LatencyTarget
    from dovemq.models.planning.partitioned import PartitionedQueue
    from dovemq.models.sweeping import Sweep

_RATES: Final = ("arrival_rate", "service_rate", "arrival_scv", "service_scv", "partition_rate")
_ARRIVALS: Final = (20_000, 1_000_000)
"""The least and the greatest number of arrivals of a replication."""
_RELAXATIONS: Final = 100
"""The length of a replication, in relaxation times of a queue at the target latency."""
_WARM_UP_SHARE: Final = 0.1
_REPLICATIONS_MIN: Final = 10


def add(commands: Commands) -> None:
    summary = "find the cheapest partitions and consumers that keep a latency at each load"
    example = (
        "dovemq pipeline capacity --arrival-rate 300 --service-rate 10 --partition-rate 120 "
        "--partitions 1:8 --consumers 32:64:4 --load 0.5,1,1.5 --target 0.2 --percentile 95"
    )
    parser = add_command(commands, "capacity", _run, summary, example)
    _add_queue(parser)
    add = parser.option
    add("--target", "SECONDS", "latency to keep", real, required=True)
    add_percentile(parser, "share of messages within the target")
    add("--partition-cost", "COST", "cost of one", real, 1.0)
    add("--consumer-cost", "COST", "cost of one", real, 1.0)
    add_plot(parser, "heat maps of the latency")
    text = "closed form, or simulation over Spark with intervals"
    parser.choice("--method", ("analytic", "kernel"), text, "analytic")
    group = parser.group("simulation", "For --method kernel.")
    group.option("--half-width", "SHARE", "relative half-width of the intervals", real, 0.02)
    group.option("--replications-max", "N", "most replications", number, 200)
    group.option("--seed", "N", "random seed", number, 0)
    add_keeping(group, "default: nothing is kept")
    add_spark(parser)


def _add_queue(parser: CommandParser) -> None:
    text = "TOML file with the rates of a topic, as from pipeline calibrate; flags override it"
    parser.add_argument("file", nargs="?", type=existing_file, metavar="PLAN.toml", help=text)
    add = parser.option
    add("--topic", "NAME", "topic of the file (default: its only one)")
    add("--arrival-rate", "RATE", "messages per second at load 1", real)
    add("--service-rate", "RATE", "messages per second of one consumer", real)
    for flag in ("--arrival-scv", "--service-scv"):
        add(flag, "C2", "squared coefficient of variation (default: 1)", real)
    text = "messages per second of one partition (default: no limit)"
    add("--partition-rate", "RATE", text, real)
    text = "numbers of partitions, such as 1,2,4 or 1:8"
    add("--partitions", "LIST", text, whole_axis, required=True)
    add("--consumers", "LIST", "totals, as 8:64:8", whole_axis, required=True)
    add("--load", "LIST", "factors of the arrival rate", axis, "1")


def whole_axis(text: str) -> list[int]:
    values = axis(text)
    if not all(value == int(value) and value >= 1 for value in values):
        raise argparse.ArgumentTypeError(f"{text!r}: whole numbers of at least 1 are needed")
    return [int(value) for value in values]


def _run(args: argparse.Namespace) -> int:
    with pipeline_job("spark" if args.method == "kernel" else "models") as ending:
        from dovemq.models.planning.capacity import (
            LatencyTarget,
            UnitPrices,
            by_formula,
            candidates,
            cheapest,
        )

        target = LatencyTarget(args.target, args.percentile)
        prices = UnitPrices(args.partition_cost, args.consumer_cost)
        queue = _queue(args)
        asked = candidates(queue, args.partitions, args.consumers, args.load, prices)
        if not asked:
            raise WrongUse("each partition needs a consumer: ask for more --consumers")
        found = (
            by_formula(asked, target)
            if args.method == "analytic"
            else _simulated(args, queue, asked, target, ending)
        )
        best = cheapest(found)
        if args.plot is not None:
            draw(args.plot, target, found, best)
    report = as_dict(queue, target, args.method, found, best)
    code = OK if all(best.values()) else FAILED
    return print_result(args, report, lambda: print_report(report), code)


def _queue(args: argparse.Namespace) -> "PartitionedQueue":
    """Builds the queue with as many consumers as partitions; the grid replaces both."""
    from dovemq.models.planning.partitioned import PartitionedQueue

    given: dict[str, Any] = {}
    if args.file is not None:
        rates, unit = topic_rates(read_toml(args.file), args.topic)
        for name in _RATES[:4]:
            given[name] = rates[name] / unit if name.endswith("_rate") else rates[name]
    given |= flags_of(args, _RATES)
    for name in _RATES[:2]:
        if name not in given:
            raise WrongUse(f"--{name.replace('_', '-')} is needed, or a file with topics and jobs")
    return PartitionedQueue(**given)


def _simulated(
    args: argparse.Namespace,
    queue: "PartitionedQueue",
    asked: "Sequence[Candidate]",
    target: "LatencyTarget",
    ending: Interruption,
) -> "list[Judged]":
    from dovemq.models.planning.capacity import judged

    with directory_or_temporary(args.out, "dovemq-capacity-") as folder:
        sweep = _sweep(args, queue, asked, target)
        findings, _ = swept(args, sweep, folder, ending, kept=args.out is not None)
    found = []
    for place, candidate in enumerate(asked):
        estimate = findings.estimates(place)[0]
        known = bool(estimate.values)
        bounds = (estimate.mean, estimate.low, estimate.high) if known else (math.inf,) * 3
        found.append(judged(candidate, target, *bounds))
    return found


def _horizon(asked: "Sequence[Candidate]", target: "LatencyTarget") -> float:
    """Returns the length of a replication.

    The mean sojourn of M/M/1 is T = 1/(μ(1−ρ)), and its relaxation time about 4μT². A queue that is
    much slower than the target is underestimated, but still slower than the target.
    """
    rate = max(each.queue.arrival_rate for each in asked)
    alone = max(each.queue.arrival_rate / each.queue.partitions for each in asked)
    arrivals = _RELAXATIONS * 4.0 * rate * alone * target.latency**2
    return min(max(arrivals, _ARRIVALS[0]), _ARRIVALS[1]) / rate


def _sweep(
    args: argparse.Namespace,
    queue: "PartitionedQueue",
    asked: "Sequence[Candidate]",
    target: "LatencyTarget",
) -> "Sweep":
    from dovemq.models.sweeping import Question, Stopping, Sweep

    measure = "sojourn_time" if target.level is None else f"sojourn_p{100 * target.level:g}"
    horizon = _horizon(asked, target)
    fixed: Mapping[str, float] = {
        name: getattr(queue, name) for name in _RATES[1:] if math.isfinite(getattr(queue, name))
    }
    return Sweep(
        model="queue",
        axes=("arrival_rate", "partitions", "consumers"),
        points=tuple(
            (each.queue.arrival_rate, each.queue.partitions, each.queue.consumers) for each in asked
        ),
        question=Question((measure,), horizon, _WARM_UP_SHARE * horizon),
        stopping=Stopping(
            least=_REPLICATIONS_MIN,
            most=args.replications_max,
            batch=_REPLICATIONS_MIN,
            half_width=args.half_width,
            judged=(0,),
        ),
        fixed=fixed,
        seed=args.seed,
    )
