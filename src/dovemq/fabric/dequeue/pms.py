"""Periodical monitoring and scheduling: partitions by their number of messages at the last look.

The numbers are as old as the last look, and all front ends follow the same ones, so that they meet
at the same partition. With regulation a front end asks no partition for more messages than it had
then: if none has any left, the receive waits for the next look, or is answered if its client does
not wait.
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


def pms_step(search: Search, view: PartitionsView, settings: DequeueSettings, now_ms: int) -> Step:
    order = in_turn(search, view)
    # The sort is stable: partitions with equal numbers stay in turn.
    order.sort(key=lambda number: -view.counts.get(number, 0))
    if not settings.regulation or not view.counts:
        return try_first(search, order, settings)
    # A partition that the last look did not see may be tried.
    filled = [number for number in order if view.counts.get(number) != 0]
    if filled or search.found or len(search.tried) >= settings.fanout:
        return try_first(search, filled, settings)
    next_look_ms = max(view.counted_ms + settings.monitor_period_ms, now_ms + 1)
    return park_or_finish(search, next_look_ms, False, now_ms)
