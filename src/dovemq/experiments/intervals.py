"""Intervals as data, as curves, and as quotients of each other."""

from collections.abc import Mapping, Sequence
from math import hypot

from dovemq.experiments.figure import Column, Curve
from dovemq.models.estimates import Estimate, Interval


def ratio(one: Interval, other: Interval) -> Interval:
    """The quotient, with an interval as if both were independent."""
    mean = one.mean / other.mean
    width = hypot(one.mean - one.low, mean * (other.mean - other.low)) / other.mean
    return Interval(mean, mean - width, mean + width)


def interval_columns(name: str, values: Sequence[Estimate | Interval]) -> dict[str, Column]:
    """Three columns: the means by the name itself, and both bounds."""
    parts = (("mean", ""), ("low", "_low"), ("high", "_high"))
    return {name + ending: [getattr(each, part) for each in values] for part, ending in parts}


def interval_curve(
    label: str, values: Mapping[float, Interval], family: str = "", dashed: bool = False
) -> Curve:
    """A line with a band; `values` are intervals by x."""
    intervals = list(values.values())
    mean, low, high = (
        tuple(getattr(each, name) for each in intervals) for name in ("mean", "low", "high")
    )
    return Curve(label, tuple(values), mean, low, high, dashed=dashed, family=family)
