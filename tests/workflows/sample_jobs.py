"""Types of jobs for tests: the three of the paper elastic, and one with a fork and a join."""

from typing import Any

FLOW = {"start": ["A"], "A": ["B", "C"], "B": ["D"], "C": ["D"]}
TYPES: dict[str, dict[str, Any]] = {
    "1": {"path": ["A", "B", "D"]},
    "2": {"path": ["A", "D", "D"]},
    "3": {"path": ["C", "D"]},
    "fork": {"flow": FLOW, "joins": ["D"]},
}
