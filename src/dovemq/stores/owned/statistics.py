"""Counters of the embedded store, shown by the admin API."""

import enum

from msgspec import Struct


class StoreState(enum.Enum):
    OK = "ok"
    FULL = "full"
    """Sends are refused; everything else goes on."""
    FAILED = "failed"
    """A commit failed; nothing is accepted until restart."""


class Statistics(Struct):
    state: StoreState = StoreState.OK
    failure: str | None = None
    commits: int = 0
    committed_items: int = 0
    group_items_max: int = 0
    commit_seconds: float = 0.0
    checkpoints: int = 0
    cache_hits: int = 0
    cache_misses: int = 0
    cache_bytes: int = 0
    damaged: int = 0
    swept: int = 0

    def committed(self, items: int, seconds: float) -> None:
        self.commits += 1
        self.committed_items += items
        self.group_items_max = max(self.group_items_max, items)
        self.commit_seconds += seconds
