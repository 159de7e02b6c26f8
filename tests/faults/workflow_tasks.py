"""The tasks of the jobs under faults: short, and each execution returns another token."""

import random
import time
import uuid

from dovemq.workflows import TaskCall, task

SECONDS_MAX = 0.05


def _execute(call: TaskCall) -> dict[str, object]:
    time.sleep(random.uniform(0.0, SECONDS_MAX))
    return {"token": uuid.uuid4().hex, "before": call.results, "number": call.input}


@task("A")
def unpack(call: TaskCall) -> dict[str, object]:
    return _execute(call)


@task("B")
def metadata(call: TaskCall) -> dict[str, object]:
    return _execute(call)


@task("C")
def image(call: TaskCall) -> dict[str, object]:
    return _execute(call)


@task("D")
def classify(call: TaskCall) -> dict[str, object]:
    return _execute(call)
