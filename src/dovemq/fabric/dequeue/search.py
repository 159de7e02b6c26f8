"""One receive on its way through the partitions, and the steps that it can take.

All values are frozen: a step's outcome gives a new `Search`, and the caller keeps the position of
the round robin, which all receives of a front end share.
"""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from dovemq.core.errors import InvariantError

RETRIES_MAX: Final = 10_000
"""The wake-ups of one receive, so that wake-ups without a message cannot keep it busy forever."""


class DequeueSettings(Struct, frozen=True):
    """The attributes of a queue that concern receives; times in milliseconds.

    fanout              the most partitions that a receive tries in a row
    sleep_ms            the time for which rds parks a receive after a miss, or `auto`
    wake                rds: what ends the sleep early: nothing, or the arrival of a message
    monitor_period_ms   pms: the time between two looks at the numbers of messages
    regulation          pms: ask no partition for more than it had at the last look
    """

    strategy: Literal["conventional", "pms", "rds"] = "conventional"
    fanout: int = 3
    sleep_ms: int | Literal["auto"] = "auto"
    wake: Literal["timer", "arrival"] = "arrival"
    monitor_period_ms: int = 1_000
    regulation: bool = False

    def __post_init__(self) -> None:
        sleep_ms = 1 if self.sleep_ms == "auto" else self.sleep_ms
        if min(self.fanout, self.monitor_period_ms, sleep_ms) < 1:
            raise InvariantError("The fan-out, the sleep and the period are at least 1.")


class PartitionsView(Struct, frozen=True):
    """The partitions as a front end knows them at the time of a step.

    `position` is the place in `numbers` at which the round robin goes on. `counts` are the visible
    messages by partition at the last look of the monitor, which was at `counted_ms`; only pms
    reads them. Without a look yet it takes the round robin.
    """

    numbers: tuple[int, ...]
    position: int = 0
    counts: Mapping[int, int] = {}
    counted_ms: int = 0

    def __post_init__(self) -> None:
        if not self.numbers:
            raise InvariantError("A queue without partitions cannot be searched.")

    def after(self, step: "TryPartition", settings: DequeueSettings) -> "PartitionsView":
        """The view once a step is taken: the turn goes on, and regulation counts down.

        A front end that regulates asks for no more messages than its last look has shown.
        """
        place = self.numbers.index(step.partition)
        position = (place + 1) % len(self.numbers)
        if not settings.regulation or step.partition not in self.counts:
            return msgspec.structs.replace(self, position=position)
        left = max(self.counts[step.partition] - step.count_max, 0)
        counts = {**self.counts, step.partition: left}
        return msgspec.structs.replace(self, position=position, counts=counts)

    def is_monitor_due(self, settings: DequeueSettings, now_ms: int) -> bool:
        """Whether pms needs a new look; the first one is due at once."""
        return not self.counts or now_ms >= self.counted_ms + settings.monitor_period_ms


class Search(Struct, frozen=True):
    """A receive of `wanted` messages. `tried` are partitions since its start or last wake-up.

    `hint` is the partition whose arrival has woken it, which is tried first.
    """

    wanted: int
    deadline_ms: int
    sleep_ms: int
    found: int = 0
    tried: tuple[int, ...] = ()
    retries: int = 0
    hint: int | None = None


class TryPartition(Struct, frozen=True):
    """Ask this partition for up to `count_max` messages; `found_at` takes the answer."""

    partition: int
    count_max: int


class Park(Struct, frozen=True):
    """Hold the receive until `until_ms`, or, if `on_arrival`, until a message arrives earlier."""

    until_ms: int
    on_arrival: bool


class Finish(Struct, frozen=True):
    """Answer the receive with what it has found."""


Step: TypeAlias = TryPartition | Park | Finish


def begin(
    wanted: int, settings: DequeueSettings, wait_ms: int, sleep_ms: int, now_ms: int
) -> Search:
    """A new search. `sleep_ms` is the queue's, or the tuned one where the queue has `auto`.

    rds parks a receive for at most the longer of its own wait and the sleep; pms only if the client
    waits.
    """
    parked_ms_max = max(wait_ms, sleep_ms) if settings.strategy == "rds" else wait_ms
    return Search(wanted, now_ms + parked_ms_max, sleep_ms)


def found_at(search: Search, partition: int, found: int) -> Search:
    """The search after a partition has answered; `found` is 0 for a miss."""
    return msgspec.structs.replace(
        search, found=search.found + found, tried=(*search.tried, partition), hint=None
    )


def woken(search: Search, hint: int | None = None) -> Search:
    """The search after its sleep; it may try all partitions again."""
    return msgspec.structs.replace(search, tried=(), retries=search.retries + 1, hint=hint)


def in_turn(search: Search, view: PartitionsView) -> list[int]:
    """The partitions that may still be tried in the order of the round robin; the hint first."""
    turn = (*view.numbers[view.position :], *view.numbers[: view.position])
    left = [number for number in turn if number not in search.tried]
    left.sort(key=lambda number: number != search.hint)
    return left


def try_first(search: Search, order: list[int], settings: DequeueSettings) -> Step:
    """The first partition of the order, unless the receive has enough or has tried enough."""
    if search.found >= search.wanted or len(search.tried) >= settings.fanout or not order:
        return Finish()
    return TryPartition(order[0], search.wanted - search.found)


def park_or_finish(search: Search, until_ms: int, on_arrival: bool, now_ms: int) -> Step:
    """A park that ends with the receive's deadline at the latest, if that is not over."""
    if now_ms >= search.deadline_ms or search.retries >= RETRIES_MAX:
        return Finish()
    return Park(min(until_ms, search.deadline_ms), on_arrival)
