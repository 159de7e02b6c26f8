"""`dovemq pipeline capacity`: the cheapest partitions and consumers that keep a latency."""

import argparse
import contextlib
import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dovemq.cli.capacity_reports import as_dict, draw, print_report
from dovemq.cli.command import FAILED, OK, Commands, WrongUse, add_command, existing_file, number
from dovemq.cli.interruption import Interruption
from dovemq.cli.modelling import picture, read_toml, real, reals
from dovemq.cli.output import print_json
from dovemq.cli.pipeline_options import add_spark, pipeline_job
from dovemq.cli.sweeping import add_keeping, swept
from dovemq.models.errors import ModelError
from dovemq.models.grids import spaced

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
    parser = add_command(
        commands,
        "capacity",
        _run,
        "find the cheapest partitions and consumers that keep a latency at each load",
        "dovemq pipeline capacity --arrival-rate 300 --service-rate 10 --partition-rate 120 "
        "--partitions 1:8 --consumers 32:64:4 --load 0.5,1,1.5 --target 0.2 --level 0.95",
    )
    _add_queue(parser)
    add = parser.add_argument
    add("--target", type=real, required=True, metavar="SECONDS", help="latency to keep")
    add(
        "--level",
        type=real,
        metavar="P",
        help="quantile of the latency, such as 0.95 (default: the mean)",
    )
    add("--partition-cost", type=real, default=1.0, metavar="COST", help="cost of one (default: 1)")
    add("--consumer-cost", type=real, default=1.0, metavar="COST", help="cost of one (default: 1)")
    add("--plot", type=picture, metavar="FILE", help="heat maps of the latency: .png, .svg or .pdf")
    add(
        "--method",
        choices=("analytic", "kernel"),
        default="analytic",
        help="closed form, or simulation over Spark with intervals (default: %(default)s)",
    )
    group = parser.add_argument_group("simulation", "For --method kernel.")
    group.add_argument(
        "--half-width",
        type=real,
        default=0.02,
        metavar="SHARE",
        help="relative half-width of the intervals (default: 0.02)",
    )
    group.add_argument(
        "--replications-max",
        type=number,
        default=200,
        metavar="N",
        help="most replications (default: 200)",
    )
    group.add_argument("--seed", type=number, default=0, help="random seed (default: 0)")
    add_keeping(group, "default: nothing is kept")
    add_spark(parser)


def _add_queue(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        nargs="?",
        type=existing_file,
        metavar="PLAN.toml",
        help="TOML file with the rates of a topic, as from pipeline calibrate; flags override it",
    )
    add = parser.add_argument
    add("--topic", metavar="NAME", help="topic of the file (default: its only one)")
    add("--arrival-rate", type=real, metavar="RATE", help="messages per second at load 1")
    add("--service-rate", type=real, metavar="RATE", help="messages per second of one consumer")
    add(
        "--arrival-scv",
        type=real,
        metavar="C2",
        help="squared coefficient of variation of the times between arrivals (default: 1)",
    )
    add(
        "--service-scv",
        type=real,
        metavar="C2",
        help="squared coefficient of variation of the service times (default: 1)",
    )
    add(
        "--partition-rate",
        type=real,
        metavar="RATE",
        help="messages per second of one partition (default: no limit)",
    )
    add(
        "--partitions",
        type=whole_axis,
        required=True,
        metavar="LIST",
        help="numbers of partitions, such as 1,2,4 or 1:8",
    )
    add("--consumers", type=whole_axis, required=True, metavar="LIST", help="totals, as 8:64:8")
    add("--load", type=axis, default=[1.0], metavar="LIST", help="factors of the arrival rate")


def axis(text: str) -> list[float]:
    """Reads `1,2.5` or `1:8:0.5`."""
    if ":" not in text:
        return reals(text)
    try:
        return [float(value) for value in spaced("it", text)]
    except ModelError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


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

        target = LatencyTarget(args.target, args.level)
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
    if args.json:
        print_json(report)
    else:
        print_report(report)
    return OK if all(best.values()) else FAILED


def _queue(args: argparse.Namespace) -> "PartitionedQueue":
    """Builds the queue with as many consumers as partitions; the grid replaces both."""
    from dovemq.models.planning.partitioned import PartitionedQueue

    given: dict[str, Any] = _from_file(args) if args.file is not None else {}
    flags = {name: getattr(args, name) for name in _RATES}
    given |= {name: value for name, value in flags.items() if value is not None}
    for name in _RATES[:2]:
        if name not in given:
            raise WrongUse(f"--{name.replace('_', '-')} is needed, or a file with topics and jobs")
    return PartitionedQueue(**given)


def _from_file(args: argparse.Namespace) -> dict[str, float]:
    from dovemq.models.analytic import network_measures
    from dovemq.models.planning import read_spec

    spec = read_spec(read_toml(args.file))
    network = spec.problem.network
    names = [topic.name for topic in network.topics]
    name = args.topic or (names[0] if len(names) == 1 else None)
    if name not in names:
        raise WrongUse(f"--topic: name one of {', '.join(names)}")
    place = names.index(name)
    found = network_measures(network)
    return {
        "arrival_rate": float(found.topics.arrival_rate[place]) / spec.unit_seconds,
        "arrival_scv": float(found.arrival_scvs[place]),
        "service_rate": network.topics[place].service_rate / spec.unit_seconds,
        "service_scv": network.topics[place].service_scv,
    }


def _simulated(
    args: argparse.Namespace,
    queue: "PartitionedQueue",
    asked: "Sequence[Candidate]",
    target: "LatencyTarget",
    ending: Interruption,
) -> "list[Judged]":
    from dovemq.models.planning.capacity import judged

    with _folder(args) as folder:
        sweep = _sweep(args, queue, asked, target)
        findings, _ = swept(args, sweep, folder, ending, kept=args.out is not None)
    found = []
    for place, candidate in enumerate(asked):
        estimate = findings.estimates(place)[0]
        known = bool(estimate.values)
        bounds = (estimate.mean, estimate.low, estimate.high) if known else (math.inf,) * 3
        found.append(judged(candidate, target, *bounds))
    return found


@contextlib.contextmanager
def _folder(args: argparse.Namespace) -> Iterator[Path]:
    if args.out is not None:
        yield args.out
        return
    with tempfile.TemporaryDirectory(prefix="dovemq-capacity-") as folder:
        yield Path(folder)


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
