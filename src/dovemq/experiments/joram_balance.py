"""joram-model-balance: two simulated partitions by the distribution of their clients; fig. 8, 9."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from dovemq.experiments.claims import judge
from dovemq.experiments.figure import Column, Curve, Effort, Figure, Panel, PaperMark, Verdict
from dovemq.experiments.intervals import interval_columns, interval_curve, ratio
from dovemq.experiments.steered import SteeredQueue
from dovemq.fabric.autonomic import ControlSettings
from dovemq.models.estimates import Estimate, Interval
from dovemq.models.simulation import JoramParameters, ReplicatedQueue
from dovemq.models.simulation.joram.parameters import CEILING

SENT, RECEIVED = 10_000, 5_000
"""The messages of one producer and of one consumer."""
DISTRIBUTIONS: Final[Mapping[str, tuple[tuple[int, int], tuple[int, int]]]] = {
    "balanced: 2+2, 4+4": ((2, 2), (4, 4)),
    "uneven: 3+1, 6+2": ((3, 1), (6, 2)),
    "unstable: 3+1, 2+6": ((3, 1), (2, 6)),
    "worst: 4+0, 0+8": ((4, 0), (0, 8)),
}
"""The producers, then the consumers, of both partitions."""
BALANCED, *UNBALANCED = DISTRIBUTIONS
EXCHANGES: Final[Mapping[str, int]] = {"with exchange": 1_000, "without exchange": 0}
"""The most messages that are exchanged in a second."""
CUT_MS: Final = 5_000.0
SPAN_MS: Final = 60_000.0
"""Rates are measured for so long: later the first clients have done their work."""
PAPER_BALANCED: Final = 0.35
PAPER_STANDARD: Final = 0.3


@dataclass(frozen=True, slots=True)
class BalanceRates:
    produced: Interval
    consumed: Interval
    waiting: Interval


def balance(effort: Effort) -> Figure:
    found = {
        (name, exchange): _rates(effort, name, count_max)
        for name in DISTRIBUTIONS
        for exchange, count_max in EXCHANGES.items()
    }
    return Figure(
        "Two partitions by the distribution of clients, simulated (joram, fig. 8 and 9)",
        _columns(found),
        (_panel(found),),
        tuple(balance_claims(found)),
        (
            "The paper does not say how JORAM distributes clients by itself. Its own examples of "
            "distributions are used, with 4 producers of 10,000 messages and 8 consumers of 5,000.",
            "Messages are exchanged by the service's own controller, once a second.",
            "The slowdown by waiting messages and all times are those of joram-model-queue.",
            "Two producers with four consumers do not quite fill a partition: they wait for each "
            "other at it.",
        ),
    )


def _rates(effort: Effort, name: str, count_max: int) -> BalanceRates:
    effort.tell(f"{name}, at most {count_max} messages/s exchanged")
    values = [_one(effort, name, count_max, number) for number in range(effort.replications)]
    return BalanceRates(*(Estimate(tuple(each)).interval for each in zip(*values, strict=True)))


def _one(effort: Effort, name: str, count_max: int, number: int) -> tuple[float, float, float]:
    settings = ControlSettings(2, 2, exchange_count_max=count_max)
    queue = ReplicatedQueue(JoramParameters(), effort.seed, number, partitions=2)
    for partition, (producers, consumers) in enumerate(zip(*DISTRIBUTIONS[name], strict=True)):
        for _ in range(producers):
            queue.join("producer", partition, SENT)
        for _ in range(consumers):
            queue.join("consumer", partition, RECEIVED)
    steered = SteeredQueue(queue, settings)
    steered.advance(CUT_MS)
    first = queue.produced, queue.consumed
    steered.advance(CUT_MS + SPAN_MS)
    rates = (queue.produced - first[0]) / SPAN_MS, (queue.consumed - first[1]) / SPAN_MS
    return *rates, float(sum(each.waiting for each in queue.figures()))


def _columns(found: Mapping[tuple[str, str], BalanceRates]) -> dict[str, Column]:
    data: dict[str, Column] = {
        "distribution": [name for name, _ in found],
        "exchange": [exchange for _, exchange in found],
    }
    for name in ("produced", "consumed", "waiting"):
        data |= interval_columns(name, [getattr(each, name) for each in found.values()])
    return data


def _panel(found: Mapping[tuple[str, str], BalanceRates]) -> Panel:
    curves: list[Curve] = []
    for exchange, name in itertools.product(EXCHANGES, ("produced", "consumed")):
        # Points side by side, so that equal ones do not cover each other.
        first = 0.85 + 0.1 * len(curves)
        values = {
            first + place: getattr(found[each, exchange], name)
            for place, each in enumerate(DISTRIBUTIONS)
        }
        curves.append(replace(interval_curve(f"{name}, {exchange}", values), points=True))
    marks = (
        PaperMark("paper's text: balanced, 0.35", y=PAPER_BALANCED),
        PaperMark("paper's text: JORAM's own distribution, less than 0.3", y=PAPER_STANDARD),
    )
    return Panel(
        "4 producers and 8 consumers",
        "producers, then consumers, of the first + the second partition",
        "messages/ms",
        tuple(curves),
        marks,
        tuple(DISTRIBUTIONS),
    )


def balance_claims(found: Mapping[tuple[str, str], BalanceRates]) -> Iterator[Verdict]:
    balanced = found[BALANCED, "with exchange"]
    yield judge(
        "with balanced clients as much is produced as consumed (fig. 9)",
        "produced / consumed",
        [ratio(balanced.produced, balanced.consumed)],
        least=0.95,
        most=1.05,
    )
    ceiling = Interval(CEILING, CEILING, CEILING)
    yield judge(
        "two balanced partitions pass on 0.35 / 0.19 = 1.84 times the most of one (fig. 9 and 10)",
        "consumed / ceiling of one partition",
        [ratio(balanced.consumed, ceiling)],
        least=1.65,
        most=2.0,
    )
    for exchange in EXCHANGES:
        for name in UNBALANCED:
            case = f"{name.partition(':')[0]}, {exchange}"
            rates = found[name, exchange]
            yield judge(
                f"unbalanced clients lower what is consumed ({case}; fig. 8)",
                "consumed / consumed when balanced",
                [ratio(rates.consumed, balanced.consumed)],
                most=round(PAPER_STANDARD / PAPER_BALANCED, 2),
            )
        yield judge(
            f"unbalanced clients produce more than they consume (unstable, {exchange}; fig. 8)",
            "produced / consumed",
            [_quotient(found[UNBALANCED[1], exchange])],
            least=1.05,
        )


def _quotient(rates: BalanceRates) -> Interval:
    return ratio(rates.produced, rates.consumed)
