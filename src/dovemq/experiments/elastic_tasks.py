"""The four tasks of elastic's case study as sleeps, for workers of the figures on real processes.

A sleep needs no processor, so that many consumers fit on a small machine, and its length has
exactly the distribution of the paper's table. `examples/` has the same tasks doing real work.
"""

import asyncio
import random
from collections.abc import Mapping
from typing import Final

from dovemq.workflows import TaskCall, TopicTask, task

SERVICES: Final[Mapping[str, tuple[float, float]]] = {
    "A": (4.2, 0.33),
    "B": (3.7, 0.5),
    "C": (6.7, 0.4),
    "D": (5.1, 0.5),
}
"""Rate a minute and scv of the services of each topic (elastic, fig. 3)."""


def _sleeping(topic: str, rate: float, scv: float) -> TopicTask:
    @task(topic)
    async def sleep(call: TaskCall) -> None:
        """Sleeps a gamma time. The same task of the same job always takes the same time."""
        rng = random.Random(f"{call.input['seed']}/{call.input['number']}/{call.task}")
        await asyncio.sleep(rng.gammavariate(1.0 / scv, scv / rate) * call.input["minute_s"])

    return sleep


tasks: Final = [_sleeping(topic, *service) for topic, service in SERVICES.items()]
