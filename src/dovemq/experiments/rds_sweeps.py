"""Sweeps of the simulated queue system of `rds`: one parameter varies, for several methods."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

from dovemq.experiments.figure import Column, Curve, Effort
from dovemq.experiments.intervals import interval_columns, interval_curve, ratio
from dovemq.experiments.sweeps import POINTS_MAX
from dovemq.models.estimates import Estimate, Interval
from dovemq.models.simulation import RdsParameters, RdsResult, simulate_dequeues

MEASURES: Final[Mapping[str, str]] = {
    "throughput": "messages received a second",
    "hit_rate": "share of accesses that find messages",
    "messages_per_hit": "messages found by a hit",
    "sojourn": "mean time from send to receive, s",
    "busy": "share of time in which the queues' servers work",
    "miss_cost": "share of the servers' time for misses",
    "stored": "messages in the queues",
    "parked": "parked requests",
}
"""The measures of every point, in words."""


@dataclass(frozen=True, slots=True)
class RdsPoint:
    """One result at `x` of the curve named by `setting`."""

    setting: str
    x: float
    found: RdsResult

    def measure(self, name: str) -> Estimate:
        estimate: Estimate = getattr(self.found, name)
        return estimate


@dataclass(frozen=True, slots=True)
class RdsSweep:
    x_name: str
    points: tuple[RdsPoint, ...]

    def values(self, measure: str, setting: str) -> dict[float, Interval]:
        """Intervals of a curve by x."""
        return {
            point.x: point.measure(measure).interval
            for point in self.points
            if point.setting == setting
        }

    def ratios(
        self, measure: str, one: str, other: str, x: Sequence[float] | None = None
    ) -> list[Interval]:
        """The quotient of two curves, at the given x or at all that both have."""
        above, below = self.values(measure, one), self.values(measure, other)
        chosen = [each for each in above if each in below] if x is None else x
        return [ratio(above[each], below[each]) for each in chosen]

    def columns(self) -> dict[str, Column]:
        data: dict[str, Column] = {
            "setting": [point.setting for point in self.points],
            self.x_name: [point.x for point in self.points],
        }
        for field in fields(RdsParameters):
            if field.name != self.x_name:
                data[field.name] = [
                    getattr(point.found.system, field.name) for point in self.points
                ]
        for name in MEASURES:
            estimates = [point.measure(name) for point in self.points]
            data |= interval_columns(name, estimates)
        return data

    def curves(self, measure: str, labels: Mapping[str, str]) -> tuple[Curve, ...]:
        """The curves of the settings that have a label."""
        return tuple(
            interval_curve(label, self.values(measure, setting))
            for setting, label in labels.items()
        )


def by_request_rate(
    systems: Mapping[str, RdsParameters], rates: Sequence[float]
) -> dict[str, list[tuple[float, RdsParameters]]]:
    """Each system with each rate of requests."""
    return {
        name: [(rate, replace(system, request_rate=rate)) for rate in rates]
        for name, system in systems.items()
    }


def rds_sweep(
    x_name: str,
    settings: Mapping[str, Sequence[tuple[float, RdsParameters]]],
    effort: Effort,
) -> RdsSweep:
    """Simulates all points; each has random numbers of its own."""
    places = [(name, *place) for name, own in settings.items() for place in own]
    points = []
    for number, (setting, x, system) in enumerate(places):
        effort.tell(f"{setting}, {x_name} = {x:g}, {number + 1} of {len(places)}")
        run = effort.run(POINTS_MAX * effort.seed + number)
        points.append(RdsPoint(setting, x, simulate_dequeues(system, run)))
    return RdsSweep(x_name, tuple(points))
