"""The broker's table: (type of job, from) → to.

The paper elastic asks it for the first task of a job and, after each task, for the next ones.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final

from dovemq.core.workflows.specification import TaskSpec, WorkflowRoute, WorkflowSpec

_HASH_BITS: Final = 53


def route_of(spec: WorkflowSpec, job_id: str) -> int:
    """The number of the job's route; the same for the same id, and by the shares over many ids."""
    digest = hashlib.sha256(job_id.encode()).digest()
    point = (int.from_bytes(digest[:8], "big") >> (64 - _HASH_BITS)) / (1 << _HASH_BITS)
    reached = 0.0
    chosen = 0
    for number, route in enumerate(spec.routes):
        if route.share > 0.0:
            chosen = number
            reached += route.share
            if point < reached:
                break
    return chosen


def table_of(route: WorkflowRoute) -> Mapping[str, tuple[str, ...]]:
    """The tasks after each task; those of "" are the first ones."""
    table: dict[str, list[str]] = {"": []}
    for task in route.tasks:
        table.setdefault(task.name, [])
        for name in task.after or ("",):
            table.setdefault(name, []).append(task.name)
    return {name: tuple(each) for name, each in table.items()}


def ready_tasks(route: WorkflowRoute, ended: Iterable[str], begun: Iterable[str]) -> list[TaskSpec]:
    """The tasks that may start: all tasks before them have ended, and they have not begun."""
    over, known = set(ended), set(begun)
    return [task for task in route.tasks if task.name not in known and over.issuperset(task.after)]


def last_tasks(route: WorkflowRoute) -> list[str]:
    """The tasks after which nothing comes; the job's result is theirs."""
    table = table_of(route)
    return [task.name for task in route.tasks if not table[task.name]]
