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
    """`sampled_ms` is None for the configured start value."""

    value: float
    sampled_ms: int | None = None


def estimate_capacity(
    sample: CapacitySample, estimate: CapacityEstimate | None, settings: CapacitySettings
) -> CapacityEstimate:
    """The estimate after one more sample; None stands for a partition that has just been added."""
    value = settings.start if estimate is None else estimate.value
    before_ms = None if estimate is None else estimate.sampled_ms
    if (
        before_ms is None
        or not sample.clients
        or not sample.messages
        or sample.utilisation < settings.utilisation_min
    ):
        return CapacityEstimate(_bounded(value, settings), sample.now_ms)
    utilisation = min(sample.utilisation, 1.0)
    sustained = _bounded(sample.clients * settings.utilisation_wanted / utilisation, settings)
    passed_ms = max(sample.now_ms - before_ms, 0)
    weight = -math.expm1(-passed_ms / settings.time_constant_ms)
    return CapacityEstimate(_bounded(value + weight * (sustained - value), settings), sample.now_ms)


def _bounded(value: float, settings: CapacitySettings) -> float:
    return min(max(value, settings.least), settings.most)
