"""A planning file with other values: any key by its path, or `load` for all arrival rates."""

import copy
from collections.abc import Mapping
from typing import Any, Final

from dovemq.models.errors import NetworkInvalid

LOAD: Final = "load"
_GOALS: Final = {"budget": "target_seconds", "target_seconds": "budget"}
"""Which excludes which."""


def changed(text: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """`topics.A.consumers` is a key; the tables on its way must be there."""
    other = copy.deepcopy(dict(text))
    for key, value in values.items():
        if key == LOAD:
            _multiply(other, value)
            continue
        *folders, last = key.split(".")
        table: Any = other
        for folder in folders:
            table = table.get(folder) if isinstance(table, dict) else None
        if not isinstance(table, dict):
            raise NetworkInvalid(key, f"the file has no table {'.'.join(folders)}")
        if folders == ["goal"]:
            table.pop(_GOALS.get(last, ""), None)
        table[last] = value
    return other


def _multiply(text: dict[str, Any], factor: Any) -> None:
    jobs = text.get("jobs")
    if not isinstance(factor, int | float) or not isinstance(jobs, dict):
        raise NetworkInvalid(LOAD, "a factor is needed, and jobs in the file")
    for job in jobs.values():
        if isinstance(job, dict) and isinstance(job.get("arrival_rate"), int | float):
            job["arrival_rate"] *= factor
