"""An index with its clock, and short methods for the tests of the index."""

import random
from collections.abc import Sequence
from itertools import count
from typing import Any

from msgspec.structs import replace

from dovemq.core.commands import Ask, Extension, Settlement
from dovemq.core.entry import Entry, Picked
from dovemq.core.index import index_for
from dovemq.core.queue import QueueSettings
from dovemq.testing.clock import ManualClock

LEASE_MS = 30_000


class Bench:
    """Messages are known by their sequences, which count from 1."""

    def __init__(self, *, seed: int = 1, **settings: Any) -> None:
        self.clock = ManualClock()
        self.index = index_for(QueueSettings(**settings), random.Random(seed))
        self._sequences = count(1)

    @property
    def now_ms(self) -> int:
        return self.clock.now_ms()

    def set(self, **settings: Any) -> None:
        self.index.settings = replace(self.index.settings, **settings)

    def send(self, number: int = 1, *, group: str | None = None, delay_ms: int = 0) -> list[int]:
        entries = [
            Entry(next(self._sequences), self.now_ms + delay_ms, self.now_ms, group=group)
            for _ in range(number)
        ]
        for entry in entries:
            self.index.add(entry)
        return [entry.sequence for entry in entries]

    def add(self, *, visible_ms: int, sent_ms: int, received: int = 0) -> int:
        sequence = next(self._sequences)
        first_ms = sent_ms if received else 0
        self.index.add(Entry(sequence, visible_ms, sent_ms, received, first_ms))
        return sequence

    def pick(
        self, count_max: int = 1, lease_ms: int = LEASE_MS, receives_max: int | None = None
    ) -> Picked:
        return self.index.lease(Ask(count_max, lease_ms, receives_max), self.now_ms)

    def lease(self, count_max: int = 1, lease_ms: int = LEASE_MS) -> list[int]:
        return [entry.sequence for entry in self.pick(count_max, lease_ms).taken]

    def settle(self, sequence: int, receive_count: int = 1) -> Settlement:
        return self.index.settle(sequence, receive_count, self.now_ms)

    def settle_all(self, sequences: Sequence[int]) -> None:
        for sequence in sequences:
            assert self.settle(sequence) is Settlement.SETTLED

    def extend(self, sequence: int, lease_ms: int, receive_count: int = 1) -> Extension:
        return self.index.extend(sequence, receive_count, self.now_ms + lease_ms, self.now_ms)

    def counts(self) -> tuple[int, int, int]:
        counts = self.index.counts(self.now_ms)
        return counts.visible, counts.leased, counts.delayed

    def oldest_ms(self) -> int | None:
        return self.index.counts(self.now_ms).oldest_ms
