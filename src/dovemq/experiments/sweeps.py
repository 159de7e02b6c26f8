"""Sweeps of the queue service of the paper vma: one parameter varies, by every method.

Each point has its own random numbers, so that the intervals of a curve are independent. Both
orders of delivery at one point share them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from dovemq.experiments.figure import Column, Curve, Effort
from dovemq.experiments.intervals import interval_columns, ratio
from dovemq.models.estimates import Interval
from dovemq.models.vma.methods import METHODS, VmaAnswer
from dovemq.models.vma.parameters import Order, VmaParameters

UNSWEPT = ("gets_max", "arrival", "sender", "broker", "classes")
"""Parameters that are the same at every point."""
POINTS_MAX = 10_000
"""Seeds that one seed of a user has for the points of a sweep."""
_ORDER_WORDS = {"out": "out of order", "in": "in order"}


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """The answer of one method at `x` of the curve named by `setting`."""

    setting: str
    x: float
    answer: VmaAnswer
    scenario: VmaParameters


@dataclass(frozen=True, slots=True)
class VmaSweep:
    x_name: str
    points: tuple[SweepPoint, ...]

    @property
    def settings(self) -> list[str]:
        return list(dict.fromkeys(point.setting for point in self.points))

    @property
    def simulations(self) -> list[str]:
        methods = dict.fromkeys(point.answer.method for point in self.points)
        return [method for method in methods if method != "analytic"]

    def select(
        self, setting: str, method: str = "analytic", order: str = "out"
    ) -> list[SweepPoint]:
        key = setting, method, order
        return [point for point in self.points if _key(point) == key]

    def values(
        self, measure: str, setting: str, method: str = "analytic", order: str = "out"
    ) -> list[Interval]:
        points = self.select(setting, method, order)
        return [point.answer.measures[measure].interval for point in points]

    def means(self, measure: str, setting: str) -> list[float]:
        """Values of the closed form."""
        return [estimate.mean for estimate in self.values(measure, setting)]

    def order_ratios(self, measure: str, method: str) -> list[Interval]:
        """Returns the ratio of in order to out of order, at every point of all settings."""
        return [
            ratio(one, other)
            for setting in self.settings
            for one, other in zip(
                self.values(measure, setting, method, "in"),
                self.values(measure, setting, method, "out"),
                strict=True,
            )
            if other.mean
        ]

    def columns(self) -> dict[str, Column]:
        """One row for each answer."""
        data: dict[str, Column] = {
            "method": [point.answer.method for point in self.points],
            "setting": [point.setting for point in self.points],
            self.x_name: [point.x for point in self.points],
        }
        for field in fields(VmaParameters):
            if field.name not in (*UNSWEPT, self.x_name):
                data[field.name] = [getattr(point.scenario, field.name) for point in self.points]
        data["stable"] = [not point.answer.unstable for point in self.points]
        for name in self.points[0].answer.measures:
            estimates = [point.answer.measures[name] for point in self.points]
            data |= interval_columns(name, estimates)
        return data

    def curves(self, measure: str, labels: Mapping[str, str]) -> tuple[Curve, ...]:
        """Closed forms as points and simulations as lines, of the settings that have a label.

        Unstable points are left out: a simulation's numbers grow there with the length of its run.
        """
        keys = dict.fromkeys(_key(point) for point in self.points if point.setting in labels)
        return tuple(self._curve(measure, labels[key[0]], *key) for key in keys)

    def _curve(self, measure: str, label: str, setting: str, method: str, order: str) -> Curve:
        stable = [
            point for point in self.select(setting, method, order) if not point.answer.unstable
        ]
        estimates = [point.answer.measures[measure] for point in stable]
        closed = method == "analytic"
        words = [label, method, _ORDER_WORDS[order]]
        return Curve(
            label=", ".join(word for word in words if word),
            x=tuple(point.x for point in stable),
            y=tuple(each.mean for each in estimates),
            low=() if closed else tuple(each.low for each in estimates),
            high=() if closed else tuple(each.high for each in estimates),
            points=closed,
            dashed=method == "petri",
            family=f"{label} {order}",
        )


def _key(point: SweepPoint) -> tuple[str, str, str]:
    return point.setting, point.answer.method, point.scenario.order


def sweep(
    x_name: str,
    settings: Mapping[str, Sequence[tuple[float, VmaParameters]]],
    effort: Effort,
    orders: Iterable[Order] = ("out", "in"),
) -> VmaSweep:
    """Answers of all methods at all points; the closed form knows no delivery in order."""
    found = []
    for method, ask in METHODS.items():
        for order in orders:
            if method == "analytic" and order == "in":
                continue
            places = ((name, *place) for name, own in settings.items() for place in own)
            for number, (setting, x, scenario) in enumerate(places):
                effort.tell(f"{method}, {_ORDER_WORDS[order]}, {setting}, {x_name} = {x:g}")
                asked = replace(scenario, order=order)
                run = effort.run(POINTS_MAX * effort.seed + number)
                found.append(SweepPoint(setting, x, ask(asked, run), asked))
    return VmaSweep(x_name, tuple(found))
