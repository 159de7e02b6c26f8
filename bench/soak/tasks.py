"""The tasks of the soak's jobs: short, each execution with another result, and some that fail.

Of every hundred executions two fail. The task of topic B fails each attempt but the last of every
tenth job until it is retried by hand, so that its job fails and goes on.
"""

import random
import time
import uuid
from typing import Final

from dovemq.workflows import TaskCall, task

SECONDS_MAX: Final = 0.02
FAILING: Final = 0.02
STUBBORN_EVERY: Final = 10
ATTEMPTS_MAX: Final = 3
"""Attempts of a task before its job fails."""


def _execute(call: TaskCall) -> dict[str, object]:
    # Each process has another seed: executions of one task must differ.
    rng = random.Random(uuid.uuid4().int)
    time.sleep(rng.uniform(0.0, SECONDS_MAX))
    if rng.random() < FAILING:
        raise RuntimeError("a task fails now and then")
    return {"token": uuid.uuid4().hex, "before": call.results}


@task("A")
def first(call: TaskCall) -> dict[str, object]:
    return _execute(call)


@task("B")
def stubborn(call: TaskCall) -> dict[str, object]:
    if call.input % STUBBORN_EVERY == 0 and call.attempt <= ATTEMPTS_MAX:
        raise RuntimeError("a task that needs to be retried by hand")
    return _execute(call)


@task("C")
def beside(call: TaskCall) -> dict[str, object]:
    return _execute(call)


@task("D")
def last(call: TaskCall) -> dict[str, object]:
    return _execute(call)
