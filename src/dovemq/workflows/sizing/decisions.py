"""Decisions of the scheduler: an allocation with its cause, its predictions and a sentence."""

import enum
import math
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct


class SizingCause(enum.Enum):
    """Why consumers change, or why they do not."""

    WATCHING = "watching"
    BOUNDS = "bounds"
    SLOW = "slow"
    OVERLOADED = "overloaded"
    CALM = "calm"
    IDLE = "idle"
    IN_BAND = "in band"
    COOLING_DOWN = "cooling down"
    GETTING_CALM = "getting calm"
    ALREADY_BEST = "already best"
    SMALL_GAIN = "small gain"
    ALL_NEEDED = "all needed"
    FULL = "full"


class Prediction(Struct, frozen=True):
    """Mean response times by the model in milliseconds, of each type and of all jobs.

    They are infinite while a topic on the way is unstable; `unstable` names those topics.
    """

    by_type: Mapping[str, float]
    all_jobs: float
    unstable: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Infinite times are null in documents."""
        return {
            "by_type_ms": {name: _finite(each) for name, each in self.by_type.items()},
            "all_jobs_ms": _finite(self.all_jobs),
            "unstable": list(self.unstable),
        }


class SizingDecision(Struct, frozen=True):
    """`after` differs from `before` only where consumers change; `note` is that of the planner.

    `missing` are the consumers that a topic lacks to be stable, beyond what is allowed.
    """

    now_ms: int
    cause: SizingCause
    before: Mapping[str, int]
    after: Mapping[str, int]
    measured_ms: float | None
    predicted_before: Prediction | None
    predicted_after: Prediction | None
    reason: str
    note: str = ""
    missing: Mapping[str, int] = {}

    @property
    def changes(self) -> bool:
        return self.before != self.after

    @property
    def text(self) -> str:
        """A line for people: the change, and the sentence that gives the reason."""
        if not self.changes:
            return f"no change: {self.reason}"
        moved = ", ".join(
            f"{topic} {self.before[topic]} → {count}"
            for topic, count in self.after.items()
            if count != self.before[topic]
        )
        return f"{moved}: {self.reason}"

    def as_dict(self) -> dict[str, Any]:
        """The record of the decision."""
        return {
            "ms": self.now_ms,
            "cause": self.cause.value,
            "changes": self.changes,
            "before": dict(self.before),
            "after": dict(self.after),
            "measured_ms": self.measured_ms,
            "predicted_before": self.predicted_before and self.predicted_before.as_dict(),
            "predicted_after": self.predicted_after and self.predicted_after.as_dict(),
            "reason": self.reason,
            "note": self.note,
            "missing": dict(self.missing),
        }

    def line(self) -> bytes:
        return msgspec.json.encode(self.as_dict()) + b"\n"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
