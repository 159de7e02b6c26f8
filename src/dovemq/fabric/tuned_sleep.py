"""The sleep of the strategy rds at this front end: the one that is set, or a tuned one.

The tuner gets what this front end has measured over a period with receives. The latency is the mean
age of messages at their first receive.
"""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from dovemq.core.commands import Lease
from dovemq.fabric.dequeue import (
    DequeueCounts,
    SleepMemory,
    SleepObservation,
    SleepSettings,
    summarise,
    tune_sleep,
)
from dovemq.fabric.dequeue.costs import PAPER_UNIT_COSTS

PERIOD_MS: Final = 5_000


class TunedSleep:
    def __init__(self, settings: SleepSettings | None = None) -> None:
        self._settings = settings or SleepSettings()
        self._memory = SleepMemory.first(self._settings)
        self._counts = DequeueCounts()
        self._ages_ms = 0
        self._aged = 0
        self._began_ms: int | None = None

    def sleep_ms(self, setting: int | Literal["auto"], now_ms: int) -> int:
        if setting != "auto":
            return setting
        if self._began_ms is None:
            self._begin(now_ms)
        elif now_ms - self._began_ms >= PERIOD_MS:
            self._decide(now_ms - self._began_ms)
            self._begin(now_ms)
        return self._memory.sleep_ms

    def accessed(self, leases: Sequence[Lease], now_ms: int) -> None:
        """A look into one partition, and what it found."""
        counts = self._counts
        self._counts = msgspec.structs.replace(
            counts,
            hits=counts.hits + bool(leases),
            misses=counts.misses + (not leases),
            received=counts.received + len(leases),
        )
        for lease in leases:
            if lease.receive_count == 1:
                self._ages_ms += now_ms - lease.message.sent_ms
                self._aged += 1

    def _begin(self, now_ms: int) -> None:
        self._counts, self._ages_ms, self._aged, self._began_ms = DequeueCounts(), 0, 0, now_ms

    def _decide(self, period_ms: int) -> None:
        if not self._aged:
            return
        throughput = self._counts.received * 1_000 / period_ms
        cost = summarise(self._counts, PAPER_UNIT_COSTS).cost_per_message or 0.0
        observation = SleepObservation(throughput, self._ages_ms / self._aged, cost)
        _, self._memory = tune_sleep(observation, self._memory, self._settings)
