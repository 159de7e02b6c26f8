"""The capacity of a partition, C_i: the number of clients that it sustains, estimated online.

The paper takes C_i as given, and complements the load L by estimates of the resources in use. Here
these estimates change C_i itself, so that the rules stay as they are. If n clients keep a partition
busy for the share u of the time, one client costs u/n of it; so it sustains n·u*/u clients, where
u* is the wanted utilisation. Clients that ask for little make the capacity large, and demanding
ones make it small. A saturated partition has u = 1 whatever its clients would like to do. Its
estimate is then too high, but it is n·u*, which is below n: the queue grows, and is estimated
again.

The estimate follows such samples exponentially in time, and stays within bounds. A sample without
clients, without messages, or with hardly any work says nothing about the cost of a client.
"""

import math
from collections.abc import Iterable

from msgspec import Struct

from dovemq.core.errors import InvariantError


class CapacitySettings(Struct, frozen=True):
    """`time_constant_ms` is the time in which an estimate covers 63 % of the way to its samples."""

    start: float = 12.0
    least: float = 2.0
    most: float = 10_000.0
    utilisation_wanted: float = 0.8
    utilisation_min: float = 0.05
    time_constant_ms: int = 30_000

    def __post_init__(self) -> None:
        if not 0 < self.least <= self.start <= self.most:
            bounds = f"{self.least}, {self.start}, {self.most}"
            raise InvariantError(f"The bounds of a capacity and its start are {bounds}.")
        if not 0 < self.utilisation_min < self.utilisation_wanted <= 1 or self.time_constant_ms < 1:
            raise InvariantError("The wanted and the least utilisation are not shares in order.")


class CapacitySample(Struct, frozen=True):
    """The work of a partition between the sample before and `now_ms`.

    `utilisation` is the share of the time, or of its CPU quota, in which the partition's owner
    worked for it. `messages` counts its sends and receives.
    """

    now_ms: int
    clients: int
    utilisation: float
    messages: int


class CapacityEstimate(Struct, frozen=True):
    """`measured` is False as long as no sample has said anything: the value is still the first."""

    value: float
    sampled_ms: int
    measured: bool = False


def estimate_capacity(
    sample: CapacitySample, estimate: CapacityEstimate | None, settings: CapacitySettings
) -> CapacityEstimate:
    """The estimate after one more sample; None stands for a partition that has just been added."""
    if estimate is None:
        return CapacityEstimate(settings.start, sample.now_ms)
    if not sample.clients or not sample.messages or sample.utilisation < settings.utilisation_min:
        value = _bounded(estimate.value, settings)
        return CapacityEstimate(value, sample.now_ms, estimate.measured)
    utilisation = min(sample.utilisation, 1.0)
    sustained = _bounded(sample.clients * settings.utilisation_wanted / utilisation, settings)
    passed_ms = max(sample.now_ms - estimate.sampled_ms, 0)
    weight = -math.expm1(-passed_ms / settings.time_constant_ms)
    value = _bounded(estimate.value + weight * (sustained - estimate.value), settings)
    return CapacityEstimate(value, sample.now_ms, measured=True)


def typical_capacity(estimates: Iterable[CapacityEstimate], settings: CapacitySettings) -> float:
    """The mean of the measured capacities: the best guess for a partition that has none yet.

    Without it a new partition could count as larger than those that are known to be small, and the
    removal of an idle partition would seem to cost more than that of a busy one.
    """
    known = [each.value for each in estimates if each.measured]
    return sum(known) / len(known) if known else settings.start


def _bounded(value: float, settings: CapacitySettings) -> float:
    return min(max(value, settings.least), settings.most)
