"""The conventional strategy: partitions in turn, whether they have messages or not."""

from dovemq.fabric.dequeue.search import (
    DequeueSettings,
    PartitionsView,
    Search,
    Step,
    in_turn,
    try_first,
)


def conventional_step(
    search: Search, view: PartitionsView, settings: DequeueSettings, now_ms: int
) -> Step:
    return try_first(search, in_turn(search, view), settings)
