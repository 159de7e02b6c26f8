"""Changes of a planning file: any key by its path, all arrival rates, or the result of a plan."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dovemq.models.errors import ModelSpecInvalid
from dovemq.models.jobs import JobNetwork

LOAD: Final = "load"
_GOALS: Final = {"budget": "target_seconds", "target_seconds": "budget"}
"""Goals that exclude each other."""


def changed(text: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a copy with other values of keys such as `topics.A.consumers`."""
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
            if last == "budget":
                table.pop("percentile", None)
        table[last] = value
    return other


def with_network(text: Mapping[str, Any], network: JobNetwork) -> dict[str, Any]:
    """Returns a copy with the consumers of the network's topics and the shares of its routes."""
    other = copy.deepcopy(dict(text))
    for table, topic in zip(_listed(other["topics"]), network.topics, strict=True):
        table["consumers"] = topic.consumers
    for table, job in zip(_listed(other["jobs"]), network.jobs, strict=True):
        for part, route in zip(_listed(table.get("routes", [])), job.routes, strict=False):
            part["share"] = route.share
    return other


def _listed(tables: Any) -> list[dict[str, Any]]:
    return list(tables.values()) if isinstance(tables, Mapping) else tables


def _place(table: dict[str, Any], parts: Sequence[str]) -> tuple[dict[str, Any], str] | None:
    """Finds the table and the key in it. A name may contain dots, as those of FIFO queues do."""
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
