"""Numbers of partitions and consumers that meet a latency, and the cheapest of them.

Latency is the mean sojourn of a message, or a quantile of it. An estimate with an interval meets
the target when its whole interval does; if the target lies inside the interval, it is not known.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from dovemq.models import checks
from dovemq.models.errors import TooLarge
from dovemq.models.planning.partitioned import PartitionedQueue

CANDIDATES_MAX: Final = 100_000


@dataclass(frozen=True, slots=True)
class UnitPrices:
    partition: float = 1.0
    consumer: float = 1.0

    def __post_init__(self) -> None:
        checks.not_negative(self.partition, "partition_cost")
        checks.not_negative(self.consumer, "consumer_cost")


@dataclass(frozen=True, slots=True)
class LatencyTarget:
    """A latency to meet: the quantile of `level`, or the mean if that is None."""

    latency: float
    level: float | None = None

    def __post_init__(self) -> None:
        checks.positive(self.latency, "target")
        if self.level is not None:
            checks.level(self.level)


@dataclass(frozen=True, slots=True)
class Candidate:
    """`load` is the factor that the arrival rate of `queue` already contains."""

    load: float
    queue: PartitionedQueue
    cost: float


@dataclass(frozen=True, slots=True)
class Judged:
    """`met` is None where the target lies in the interval."""

    candidate: Candidate
    latency: float
    low: float
    high: float
    met: bool | None


def candidates(
    queue: PartitionedQueue,
    partitions: Sequence[int],
    consumers: Sequence[int],
    loads: Sequence[float],
    prices: UnitPrices,
) -> list[Candidate]:
    """Lists all combinations in the order of the loads; each partition needs a consumer."""
    count = len(partitions) * len(consumers) * len(loads)
    if count > CANDIDATES_MAX:
        raise TooLarge("configurations", count, CANDIDATES_MAX, "ask for fewer values")
    return [
        Candidate(
            load,
            replace(queue, arrival_rate=queue.arrival_rate * load, partitions=each, consumers=all_),
            prices.partition * each + prices.consumer * all_,
        )
        for load in loads
        for each in partitions
        for all_ in consumers
        if each <= all_
    ]


def judged(
    candidate: Candidate, target: LatencyTarget, latency: float, low: float, high: float
) -> Judged:
    return Judged(candidate, latency, low, high, is_met(target.latency, low, high))


def is_met(target: float, low: float, high: float) -> bool | None:
    """Says whether an interval meets a target; None where the target lies in the interval."""
    return True if high <= target else False if low > target else None


def by_formula(asked: Iterable[Candidate], target: LatencyTarget) -> list[Judged]:
    found = []
    for candidate in asked:
        queue = candidate.queue
        latency = (
            queue.sojourn_time() if target.level is None else queue.sojourn_quantile(target.level)
        )
        found.append(judged(candidate, target, latency, latency, latency))
    return found


def cheapest(found: Iterable[Judged]) -> dict[float, Judged | None]:
    """Returns the cheapest for each load; among equal costs the fastest."""
    best: dict[float, Judged | None] = {}
    for each in found:
        load = each.candidate.load
        other = best.setdefault(load, None)
        if each.met and (other is None or _rank(each) < _rank(other)):
            best[load] = each
    return best


def _rank(each: Judged) -> tuple[float, float]:
    return each.candidate.cost, each.latency
