"""Reads files that describe closed networks and open networks with random routing.

    [classes]                            # closed: a fixed number circulates
    orders.population = 20
    [stations]
    think = { kind = "delay", service_time = 5.0 }
    workers = { service_time = 0.1, servers = 2 }
    store = { service_time = 0.02, visits = { orders = 3 }, speeds = [1, 1.5, 1.7] }

    [stations.front]                     # open
    arrival_rate = 10
    service_rate = 8
    servers = 2
    next = { back = 0.7 }                # the rest leaves
    [stations.back]
    rates = [5, 9, 12]                   # with 1, 2, 3 and more present

A `service_time` or `visits` is one number for all classes, or a table by class. Times and rates
share one unit. Unknown keys and values of a wrong type are refused with their place.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dovemq.models.analytic.open import OpenNetwork, OpenStation
from dovemq.models.closed import ClosedClass, ClosedNetwork, ClosedStation, StationKind
from dovemq.models.errors import ModelSpecInvalid
from dovemq.models.specs import SpecTable, read_table, read_tables


class _NetworkFile(SpecTable, frozen=True):
    stations: Any
    classes: Any = None


class _Population(SpecTable, frozen=True):
    population: int


class _ClosedTable(SpecTable, frozen=True):
    service_time: float | dict[str, float]
    visits: float | dict[str, float] = 1.0
    kind: StationKind = "fcfs"
    servers: int = 1
    speeds: tuple[float, ...] = ()


class _OpenTable(SpecTable, frozen=True, rename={"after": "next"}):
    service_rate: float | None = None
    servers: int = 1
    rates: tuple[float, ...] = ()
    arrival_rate: float = 0.0
    after: dict[str, float] = msgspec.field(default_factory=dict)


def read_closed(content: Mapping[str, Any]) -> ClosedNetwork:
    file = read_table(content, _NetworkFile)
    if file.classes is None:
        reason = "missing: a closed network needs [classes] with a population each"
        raise ModelSpecInvalid("classes", reason)
    classes = tuple(
        ClosedClass(name, each.population)
        for name, each in read_tables(file.classes, _Population, "classes")
    )
    names = [each.name for each in classes]
    stations = tuple(
        ClosedStation(
            name,
            _by_class(each.service_time, names, f"stations.{name}.service_time"),
            _by_class(each.visits, names, f"stations.{name}.visits"),
            each.kind,
            each.servers,
            each.speeds,
        )
        for name, each in read_tables(file.stations, _ClosedTable, "stations")
    )
    return ClosedNetwork(stations, classes)


def read_open(content: Mapping[str, Any]) -> OpenNetwork:
    file = read_table(content, _NetworkFile)
    if file.classes is not None:
        reason = "an open network has none; dovemq model closed reads closed networks"
        raise ModelSpecInvalid("classes", reason)
    return OpenNetwork(
        tuple(
            OpenStation(
                name, each.service_rate, each.servers, each.rates, each.arrival_rate, each.after
            )
            for name, each in read_tables(file.stations, _OpenTable, "stations")
        )
    )


def _by_class(
    value: float | Mapping[str, float], classes: Sequence[str], place: str
) -> tuple[float, ...]:
    """A table may leave out classes that do not visit the station: they have 0."""
    if not isinstance(value, Mapping):
        return (float(value),) * len(classes)
    if unknown := sorted(set(value) - set(classes)):
        raise ModelSpecInvalid(place, f"no class is named {unknown[0]!r}")
    return tuple(float(value.get(name, 0.0)) for name in classes)
