"""Closed networks: a fixed number of customers of each class circulates between stations.

    ClosedNetwork(
        (ClosedStation("think", (5.0,), kind="delay"), ClosedStation("workers", (0.1,), servers=2)),
        (ClosedClass("orders", 20),),
    )

A `fcfs` station serves in the order of arrival, with exponential times that are the same for all
classes; a `ps` station shares its speed among all present; at a `delay` station nobody waits. For
these the network has product form (Baskett, Chandy, Muntz and Palacios 1975): `ps` and `delay`
need only the means of any service times. `analytic/mva.py`, `analytic/convolution.py` and
`analytic/schweitzer.py` solve it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
from scipy import special

from dovemq.models import checks
from dovemq.models.checks import Floats
from dovemq.models.errors import ModelParameterInvalid, ModelSpecInvalid

StationKind: TypeAlias = Literal["fcfs", "ps", "delay"]

STATIONS_MAX: Final = 1_000
CLASSES_MAX: Final = 100
POPULATION_MAX: Final = 1_000_000_000
SPEEDS_MAX: Final = 100_000


@dataclass(frozen=True, slots=True)
class ClosedClass:
    name: str
    population: int


@dataclass(frozen=True, slots=True)
class ClosedStation:
    """`service_times` and `visits` have one number for each class, in the order of the network.

    A class with a service time of 0 does not come to the station. `visits` are per cycle of a
    customer; empty means one of every class. `speeds` are those of the
    station with 1, 2, … present, relative to one server; the last holds for more. They are given by
    `servers` if `speeds` is empty.
    """

    name: str
    service_times: tuple[float, ...]
    visits: tuple[float, ...] = ()
    kind: StationKind = "fcfs"
    servers: int = 1
    speeds: tuple[float, ...] = ()

    @property
    def demands(self) -> Floats:
        """The work of a class in one cycle: visits times service time."""
        times = np.asarray(self.service_times, dtype=np.float64)
        return times * self.visited

    @property
    def visited(self) -> Floats:
        return np.asarray(self.visits or (1.0,) * len(self.service_times), dtype=np.float64)

    @property
    def waits(self) -> bool:
        return self.kind != "delay"

    @property
    def exponential(self) -> bool:
        """Says whether the services of all that come are exponential, in order, and of one speed.

        The times of other stations depend on more than means, which are all that a network of
        product form has.
        """
        return self.kind == "fcfs" and len(set(self.speeds)) < 2

    @property
    def service_rate(self) -> float:
        """The rate of one server at a station whose service time is the same for all classes."""
        return (self.speeds[0] if self.speeds else 1.0) / max(self.service_times)

    @property
    def load_dependent(self) -> bool:
        """Says whether the speed changes with the number present, other than at a delay."""
        return self.waits and (self.servers > 1 or len(set(self.speeds)) > 1)

    def speed(self, count: Floats) -> Floats:
        """Returns the speed with so many present, in units of one server; it is 0 with none."""
        if not self.waits:
            return count
        if not self.speeds:
            return np.minimum(count, float(self.servers))
        listed = np.asarray((0.0, *self.speeds))
        return np.asarray(listed[np.minimum(count, len(self.speeds)).astype(np.intp)])

    def log_factors(self, most: int) -> Floats:
        """Returns log f(j) for j = 0 … most, where f(j) is the product of 1/speed(i), i ≤ j."""
        counts = np.arange(1.0, most + 1.0)
        if not self.waits:
            return np.asarray(-special.gammaln(np.arange(most + 1.0) + 1.0))
        return np.concatenate(([0.0], -np.cumsum(np.log(self.speed(counts)))))


@dataclass(frozen=True)
class ClosedNetwork:
    """It is checked when it is made."""

    stations: tuple[ClosedStation, ...]
    classes: tuple[ClosedClass, ...]

    def __post_init__(self) -> None:
        checks.names([each.name for each in self.stations], "stations", STATIONS_MAX)
        checks.names([each.name for each in self.classes], "classes", CLASSES_MAX)
        for each in self.classes:
            most = POPULATION_MAX
            checks.whole(each.population, f"class {each.name}: population", 0, most)
        if not self.populations.sum():
            raise ModelSpecInvalid("classes", "nobody is in the network: one needs a population")
        for station in self.stations:
            _check_station(station, [each.name for each in self.classes])
        for place, each in enumerate(self.classes):
            if each.population and not self.demands[:, place].sum() > 0.0:
                reason = "takes no time in its cycle: one station needs a service_time above 0"
                raise ModelSpecInvalid(f"class {each.name}", reason)

    @cached_property
    def demands(self) -> Floats:
        """Work by station and class."""
        return np.stack([station.demands for station in self.stations])

    @cached_property
    def populations(self) -> Floats:
        return np.array([each.population for each in self.classes], dtype=np.float64)


def _check_station(station: ClosedStation, classes: Sequence[str]) -> None:
    place = f"station {station.name}"
    if station.kind not in get_args(StationKind):
        raise ModelParameterInvalid(f"{place}: kind", station.kind, f"{get_args(StationKind)}")
    for name, values in (("service_time", station.service_times), ("visits", station.visits)):
        checks.not_negative(values, f"{place}: {name}")
        if len(values) != len(classes) and (values or name == "service_time"):
            reason = f"{name} has {len(values)} numbers for {len(classes)} classes"
            raise ModelSpecInvalid(place, reason)
    checks.servers(station.servers, f"{place}: servers")
    checks.positive(station.speeds, f"{place}: speeds")
    if len(station.speeds) > SPEEDS_MAX:
        needed = f"at most {SPEEDS_MAX}, since the last holds for more present,"
        raise ModelParameterInvalid(f"{place}: number of speeds", len(station.speeds), needed)
    if station.speeds and station.servers > 1:
        raise ModelSpecInvalid(place, "servers and speeds exclude each other")
    if not station.waits and (station.speeds or station.servers > 1):
        raise ModelSpecInvalid(place, "nobody waits at a delay: leave out servers and speeds")
    if station.kind == "fcfs" and len(set(station.service_times) - {0.0}) > 1:
        reason = (
            "first come first served needs one service_time for all classes that visit it; with "
            'several, kind = "ps" has an exact answer'
        )
        raise ModelSpecInvalid(place, reason)
