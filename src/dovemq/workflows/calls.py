"""The call of a task, and the exception by which it says that another attempt is useless."""

from typing import Any

from msgspec import Struct


class TaskCall(Struct, frozen=True):
    """`input` is that of the job; `results` are those of the tasks before this one, by name."""

    job_id: str
    type: str
    task: str
    topic: str
    attempt: int = 1
    input: Any = None
    results: dict[str, Any] = {}


class GiveUp(Exception):
    """Raised by a task: it has failed, and another attempt would fail as well."""
