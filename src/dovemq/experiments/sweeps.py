"""Sweeps of the queue service of 000: one parameter moved, several settings and methods each.

Every row of the data is one answer. Each point has chance of its own, so that the intervals of a
curve are independent; at one point, both orders of delivery have the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from dovemq.experiments.figure import Column, Curve, Effort
from dovemq.models.vma.methods import METHODS, VmaAnswer
from dovemq.models.vma.parameters import Order, VmaParameters

UNSWEPT = ("gets_max", "arrival", "sender", "broker", "classes")
"""Parameters that are the same at every point."""
SEEDS = 10_000
"""So many points may a sweep have for one seed."""


@dataclass(frozen=True, slots=True)
class Point:
    """`setting` names the curve that the point is on, `x` where."""

    setting: str
    x: float
    answer: VmaAnswer
    scenario: VmaParameters


def points(
    settings: Mapping[str, Sequence[tuple[float, VmaParameters]]],
    effort: Effort,
    orders: Iterable[Order] = ("out", "in"),
) -> list[Point]:
    """All methods on all points; delivery in order where a method knows it."""
    found = []
    for method, ask in METHODS.items():
        for order in orders:
            if method == "analytic" and order == "in":
                continue
            places = ((name, *place) for name, own in settings.items() for place in own)
            for number, (setting, x, scenario) in enumerate(places):
                asked = replace(scenario, order=order)
                run = effort.run(SEEDS * effort.seed + number)
                found.append(Point(setting, x, ask(asked, run), asked))
    return found


def columns(found: Sequence[Point], x_name: str) -> dict[str, Column]:
    data: dict[str, Column] = {
        "method": [point.answer.method for point in found],
        "setting": [point.setting for point in found],
        x_name: [point.x for point in found],
    }
    for field in fields(VmaParameters):
        if field.name not in (*UNSWEPT, x_name):
            data[field.name] = [getattr(point.scenario, field.name) for point in found]
    data["stable"] = [not point.answer.unstable for point in found]
    for name in found[0].answer.measures:
        for part in ("mean", "low", "high"):
            ending = "" if part == "mean" else f"_{part}"
            data[name + ending] = [_told(point, name, part) for point in found]
    return data


def _told(point: Point, name: str, part: str) -> float | None:
    """Infinite means unstable, which is a gap in the data and not a number."""
    estimate = point.answer.measures[name]
    return getattr(estimate, part) if estimate.known else None


def curves(found: Sequence[Point], measure: str, setting: str | None = None) -> tuple[Curve, ...]:
    """One per setting, method and order: closed forms as points, simulations as lines."""
    keys = dict.fromkeys(
        (point.setting, point.answer.method, point.scenario.order)
        for point in found
        if setting in (None, point.setting)
    )
    return tuple(_curve(found, measure, *key) for key in keys)


def _curve(found: Sequence[Point], measure: str, setting: str, method: str, order: str) -> Curve:
    own = select(found, setting, method, order)
    estimates = [point.answer.measures[measure] for point in own]
    closed = method == "analytic"
    return Curve(
        label=f"{setting}, {method}" + ("" if closed else f", {order} of order"),
        x=tuple(point.x for point in own),
        y=tuple(estimate.mean for estimate in estimates),
        low=() if closed else tuple(estimate.low for estimate in estimates),
        high=() if closed else tuple(estimate.high for estimate in estimates),
        points=closed,
    )


def select(
    found: Sequence[Point], setting: str, method: str = "analytic", order: str = "out"
) -> list[Point]:
    return [
        point
        for point in found
        if (point.setting, point.answer.method, point.scenario.order) == (setting, method, order)
    ]


def means(
    found: Sequence[Point], measure: str, setting: str, method: str = "analytic", order: str = "out"
) -> list[float]:
    own = select(found, setting, method, order)
    return [point.answer.measures[measure].mean for point in own]
