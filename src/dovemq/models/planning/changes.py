"""A planning file with other values: any key by its path, or `load` for all arrival rates."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dovemq.models.errors import ModelSpecInvalid

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
        table, last = _place(other, key.split(".")) or (None, "")
        if table is None:
            raise ModelSpecInvalid(key, f"the file has no table {key.rpartition('.')[0]}")
        if key == f"goal.{last}":
            table.pop(_GOALS.get(last, ""), None)
        table[last] = value
    return other


def _place(table: dict[str, Any], parts: Sequence[str]) -> tuple[dict[str, Any], str] | None:
    """The table and the key in it. A name may have dots itself, as those of FIFO queues do."""
    if len(parts) == 1:
        return table, parts[0]
    for count in range(1, len(parts)):
        inner = table.get(".".join(parts[:count]))
        if isinstance(inner, dict) and (found := _place(inner, parts[count:])):
            return found
    return None


def _multiply(text: dict[str, Any], factor: Any) -> None:
    jobs = text.get("jobs")
    if not isinstance(factor, int | float) or not isinstance(jobs, dict):
        raise ModelSpecInvalid(LOAD, "a factor is needed, and jobs in the file")
    for job in jobs.values():
        if isinstance(job, dict) and isinstance(job.get("arrival_rate"), int | float):
            job["arrival_rate"] *= factor
