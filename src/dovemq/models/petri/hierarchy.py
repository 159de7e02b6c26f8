"""Flattening: every instance of every page becomes part of one flat net.

A substitution transition represents an instance of its page. A port of that page *is* the socket
that it is assigned to, and the places of a fusion set are one place.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from dovemq.models.petri.errors import NetInvalid, Where
from dovemq.models.petri.nets import Arc, Net, Page, Place, Substitution, Transition

INSTANCES_MAX: Final = 10_000
DEPTH_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance of a page; its path leads from the root, whose own path is empty."""

    page: Page
    path: str

    def named(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name


@dataclass(frozen=True, slots=True)
class FlatPlace:
    """A place of the flat net: all places that are one. The first of them gives the name."""

    name: str
    place: Place
    page: str
    members: tuple[str, ...]
    capacity: int | None = None


@dataclass(frozen=True, slots=True)
class FlatTransition:
    """A transition of the flat net. Its arcs name places as its page does."""

    name: str
    transition: Transition
    page: Page
    arcs: tuple[tuple[Arc, int], ...]


@dataclass(slots=True)
class Flat:
    places: list[FlatPlace] = field(default_factory=list)
    transitions: list[FlatTransition] = field(default_factory=list)
    number_of: dict[str, int] = field(default_factory=dict)
    """Maps the full name of each place, for every instance, to the number of the flat place."""


def flattened(net: Net) -> Flat:
    found = list(instances(net))
    union = _Union(each.named(name) for each in found for name in each.page.places)
    for instance in found:
        _join_sockets(net, instance, union)
    _join_fusions(net, found, union)
    flat = Flat()
    _add_places(net, found, union, flat)
    for instance in found:
        arcs: dict[str, list[tuple[Arc, int]]] = {name: [] for name in instance.page.transitions}
        for arc in instance.page.arcs:
            arcs[arc.transition].append((arc, flat.number_of[instance.named(arc.place)]))
        flat.transitions += [
            FlatTransition(instance.named(name), made, instance.page, tuple(arcs[name]))
            for name, made in instance.page.transitions.items()
        ]
    return flat


def instances(net: Net) -> Iterator[Instance]:
    """All instances, each before the instances below it."""
    count = 0
    waiting: list[tuple[str, str, tuple[str, ...]]] = [(net.root_page, "", ())]
    while waiting:
        name, path, above = waiting.pop(0)
        if name not in net.pages:
            raise NetInvalid(net.where, f"no page is named {name!r}")
        if name in above:
            chain = " → ".join((*above[above.index(name) :], name))
            raise NetInvalid(net.where.at(page=name), f"the hierarchy is cyclic: {chain}")
        count += 1
        if count > INSTANCES_MAX or len(above) > DEPTH_MAX:
            raise NetInvalid(net.where, f"more than {INSTANCES_MAX} instances of pages")
        instance = Instance(net.pages[name], path)
        yield instance
        for below in instance.page.substitutions.values():
            if below.page not in net.pages:
                where = instance.page.where.at(transition=below.name)
                raise NetInvalid(where, f"no page is named {below.page!r}")
            waiting.append((below.page, instance.named(below.name), (*above, name)))


def _join_sockets(net: Net, instance: Instance, union: "_Union") -> None:
    for below in instance.page.substitutions.values():
        page = net.pages[below.page]
        where = instance.page.where.at(transition=below.name)
        ports = {name for name, place in page.places.items() if place.port is not None}
        if missing := sorted(ports - set(below.sockets)):
            raise NetInvalid(where, f"port {missing[0]} of page {page.name} has no socket")
        for port, socket in below.sockets.items():
            _check_socket(net, instance.page, below, port, socket)
            inner = Instance(page, instance.named(below.name)).named(port)
            union.join(instance.named(socket), inner)


def _check_socket(net: Net, page: Page, below: Substitution, port: str, socket: str) -> None:
    where = page.where.at(transition=below.name)
    inner = net.pages[below.page].places.get(port)
    if inner is None or inner.port is None:
        raise NetInvalid(where, f"page {below.page} has no port {port!r}")
    outer = page.places.get(socket)
    if outer is None:
        raise NetInvalid(
            where, f"socket {socket!r} of port {port} is not a place of page {page.name}"
        )
    _check_alike(net, outer, inner, f"socket {socket} and port {port}", page)


def _join_fusions(net: Net, instances: list[Instance], union: "_Union") -> None:
    first: dict[str, tuple[str, Place]] = {}
    for instance in instances:
        for name, place in instance.page.places.items():
            if not place.fusion:
                continue
            known = first.setdefault(place.fusion, (instance.named(name), place))
            if known[1] is not place:
                _check_alike(net, known[1], place, f"fusion set {place.fusion}", instance.page)
            union.join(known[0], instance.named(name))


def _check_alike(net: Net, one: Place, other: Place, what: str, page: Page) -> None:
    where = page.where.at(place=other.name)
    ours, theirs = net.colours.get(one.colour), net.colours.get(other.colour)
    for place, colour in ((one, ours), (other, theirs)):
        if colour is None:
            raise NetInvalid(where, f"place {place.name}: unknown colour {place.colour!r}")
    if ours != theirs or (ours and ours.timed) != (theirs and theirs.timed):
        raise NetInvalid(where, f"{what} differ: {one.colour} and {other.colour}")


def _add_places(net: Net, instances: list[Instance], union: "_Union", flat: Flat) -> None:
    members: dict[int, list[tuple[str, Place, str]]] = {}
    for instance in instances:
        for name, place in instance.page.places.items():
            full = instance.named(name)
            members.setdefault(union.root(full), []).append((full, place, instance.page.name))
    for same in members.values():
        full, place, page = same[0]
        with_tokens = [other for _, other, _ in same if other.initial != "none"]
        if len({(other.initial, other.at) for other in with_tokens}) > 1:
            raise NetInvalid(
                net.where.at(page=page, place=full),
                "places that are the same place have different initial markings: "
                + ", ".join(f"{other.name} {other.initial}" for other in with_tokens),
            )
        chosen = with_tokens[0] if with_tokens else place
        for name, _, _ in same:
            flat.number_of[name] = len(flat.places)
        names = tuple(name for name, _, _ in same)
        capacity = _capacity(net.where.at(page=page, place=full), [other for _, other, _ in same])
        flat.places.append(FlatPlace(full, chosen, page, names, capacity))


def _capacity(where: Where, same: list[Place]) -> int | None:
    """The capacity of places that are one place; those that name none accept the others'."""
    known = {place.capacity for place in same if place.capacity is not None}
    if len(known) > 1:
        raise NetInvalid(where, "places that are the same place have different capacities")
    capacity = next(iter(known), None)
    if capacity is not None and capacity < 1:
        raise NetInvalid(where, f"a capacity is at least 1, not {capacity}")
    return capacity


class _Union:
    """Sets of places that are one; the first place represents its set."""

    def __init__(self, names: Iterable[str]) -> None:
        self._number = {name: number for number, name in enumerate(names)}
        self._parent = list(self._number.values())

    def root(self, name: str) -> int:
        number = self._number[name]
        while self._parent[number] != number:
            number = self._parent[number]
        return number

    def join(self, one: str, other: str) -> None:
        first, second = sorted((self.root(one), self.root(other)))
        self._parent[second] = first
