"""The table of the strategies by the value of the attribute `DequeueStrategy`."""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from dovemq.fabric.dequeue.conventional import conventional_step
from dovemq.fabric.dequeue.pms import pms_step
from dovemq.fabric.dequeue.rds import rds_step
from dovemq.fabric.dequeue.search import DequeueSettings, PartitionsView, Search, Step

NextStep: TypeAlias = Callable[[Search, PartitionsView, DequeueSettings, int], Step]

STRATEGIES: Final[Mapping[str, NextStep]] = {
    "conventional": conventional_step,
    "pms": pms_step,
    "rds": rds_step,
}


def next_step(search: Search, view: PartitionsView, settings: DequeueSettings, now_ms: int) -> Step:
    """The next step of a receive by the strategy of its queue."""
    return STRATEGIES[settings.strategy](search, view, settings, now_ms)
