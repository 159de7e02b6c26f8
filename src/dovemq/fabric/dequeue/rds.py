"""Retry dequeue-request scheduling: a receive whose first partition is empty sleeps, then retries.

The paper calls a request missed if the first partition finds nothing. A later empty partition of a
receive that has found messages is a miss as well, but the receive goes on as a conventional one.
"""

from dovemq.fabric.dequeue.search import (
    DequeueSettings,
    PartitionsView,
    Search,
    Step,
    in_turn,
    park_or_finish,
    try_first,
)


def rds_step(search: Search, view: PartitionsView, settings: DequeueSettings, now_ms: int) -> Step:
    if search.tried and not search.found:
        on_arrival = settings.wake == "arrival"
        return park_or_finish(search, now_ms + search.sleep_ms, on_arrival, now_ms)
    return try_first(search, in_turn(search, view), settings)
