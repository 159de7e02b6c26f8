"""Colour sets: the values that a token may have.

    unit ()            int 3             bool True        string 'a'       real 0.5
    enum 'visible'     product (1, 'a')  record m.id      list [1, 2] (a tuple inside)

Values are hashable Python values; a record is a named tuple. `fits` compares two colour sets and
is the basis for checking expressions.
"""

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import IntEnum
from operator import itemgetter
from typing import Any, Final, Self

VALUES_MAX: Final = 100_000
"""A colour set with more values than this is not enumerated."""


class ColourFit(IntEnum):
    NO = 0
    MAYBE = 1
    YES = 2


@dataclass(frozen=True, slots=True)
class Colour:
    """A set of values. `timed` says that tokens carry the time from which they can be taken."""

    timed: bool = field(default=False, kw_only=True, compare=False)

    def with_time(self) -> Self:
        return replace(self, timed=True)

    def admits(self, value: Any) -> bool:
        return True

    def values(self) -> tuple[Any, ...] | None:
        """All values, in order; None if there are too many."""
        return None

    def __str__(self) -> str:
        return type(self).__name__.lower()


@dataclass(frozen=True, slots=True)
class Unit(Colour):
    def admits(self, value: Any) -> bool:
        return isinstance(value, tuple) and not value

    def values(self) -> tuple[Any, ...]:
        return ((),)


@dataclass(frozen=True, slots=True)
class Int(Colour):
    least: int | None = None
    most: int | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest value, infinite where there is none."""
        least = -math.inf if self.least is None else self.least
        return least, math.inf if self.most is None else self.most

    def admits(self, value: Any) -> bool:
        if not isinstance(value, int) or isinstance(value, bool):
            return False
        return (self.least is None or value >= self.least) and (
            self.most is None or value <= self.most
        )

    def values(self) -> tuple[Any, ...] | None:
        if self.least is None or self.most is None or self.most - self.least >= VALUES_MAX:
            return None
        return tuple(range(self.least, self.most + 1))

    def __str__(self) -> str:
        if self.least is None and self.most is None:
            return "int"
        if self.least == self.most:
            return f"int {self.least}"
        ends = ("" if end is None else str(end) for end in (self.least, self.most))
        return f"int {'..'.join(ends)}"


@dataclass(frozen=True, slots=True)
class Bool(Colour):
    def admits(self, value: Any) -> bool:
        return isinstance(value, bool)

    def values(self) -> tuple[Any, ...]:
        return (False, True)


@dataclass(frozen=True, slots=True)
class String(Colour):
    def admits(self, value: Any) -> bool:
        return isinstance(value, str)


@dataclass(frozen=True, slots=True)
class Real(Colour):
    def admits(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return math.isfinite(value)


@dataclass(frozen=True, slots=True)
class Enum(Colour):
    names: tuple[str, ...] = ()

    def admits(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.names

    def values(self) -> tuple[Any, ...]:
        return self.names

    def __str__(self) -> str:
        return f"enum {' | '.join(self.names)}"


@dataclass(frozen=True, slots=True)
class Product(Colour):
    parts: tuple[Colour, ...] = ()

    def admits(self, value: Any) -> bool:
        return _admits_all(self.parts, value)

    def values(self) -> tuple[Any, ...] | None:
        sets = [part.values() for part in self.parts]
        known = [values for values in sets if values is not None]
        if len(known) < len(sets) or math.prod(map(len, known)) > VALUES_MAX:
            return None
        return tuple(itertools.product(*known))

    def __str__(self) -> str:
        return f"({' * '.join(map(str, self.parts))})"


@dataclass(frozen=True, slots=True)
class Record(Colour):
    fields: tuple[tuple[str, Colour], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.fields)

    @property
    def parts(self) -> tuple[Colour, ...]:
        return tuple(part for _, part in self.fields)

    @property
    def maker(self) -> type[Any]:
        return record_class(self.names)

    def admits(self, value: Any) -> bool:
        return getattr(value, "_fields", None) == self.names and _admits_all(self.parts, value)

    def values(self) -> tuple[Any, ...] | None:
        found = Product(self.parts).values()
        return None if found is None else tuple(self.maker(*value) for value in found)

    def __str__(self) -> str:
        return f"record({', '.join(f'{name}: {part}' for name, part in self.fields)})"


@dataclass(frozen=True, slots=True)
class List(Colour):
    element: Colour = field(default_factory=Colour)
    length_max: int | None = None

    def admits(self, value: Any) -> bool:
        if not isinstance(value, tuple):
            return False
        if self.length_max is not None and len(value) > self.length_max:
            return False
        return all(map(self.element.admits, value))

    def values(self) -> tuple[Any, ...] | None:
        element = self.element.values()
        if element is None or self.length_max is None:
            return None
        lengths = range(self.length_max + 1)
        if sum(len(element) ** length for length in lengths) > VALUES_MAX:
            return None
        return tuple(v for length in lengths for v in itertools.product(element, repeat=length))

    def __str__(self) -> str:
        return f"list of {self.element}"


@dataclass(frozen=True, slots=True)
class Anything(Colour):
    """The colour of a Python function that declares none; its values are checked at run time."""


@dataclass(frozen=True, slots=True)
class Nothing(Colour):
    """The colour of the elements of an empty list; it fits every colour."""

    def admits(self, value: Any) -> bool:
        return False


@functools.lru_cache(maxsize=1_024)
def record_class(names: tuple[str, ...]) -> type[Any]:
    """A class of named tuples; records with equal fields share it, so that they can be equal."""
    body: dict[str, Any] = {name: property(itemgetter(at)) for at, name in enumerate(names)}
    body |= {
        "__slots__": (),
        "_fields": names,
        "__new__": lambda cls, *values: tuple.__new__(cls, values),
        "__repr__": _record_text,
    }
    return type("record", (tuple,), body)


def one_value(colour: Colour) -> bool:
    """Whether the colour has a single value, so that tokens need only be counted."""
    if isinstance(colour, Unit) or (isinstance(colour, Enum) and len(colour.names) == 1):
        return True
    return isinstance(colour, Int) and colour.least is not None and colour.least == colour.most


def fits(found: Colour, wanted: Colour) -> ColourFit:
    """Whether every value of `found` belongs to `wanted` (YES), some may (MAYBE) or none (NO)."""
    if isinstance(found, Nothing):
        return ColourFit.YES
    if isinstance(found, Anything) or isinstance(wanted, Anything):
        return ColourFit.MAYBE if isinstance(found, Anything) else ColourFit.YES
    if isinstance(wanted, Real):
        return ColourFit.YES if isinstance(found, Int | Real) else ColourFit.NO
    if isinstance(wanted, String):
        return ColourFit.YES if isinstance(found, String | Enum) else ColourFit.NO
    if isinstance(found, Enum) and isinstance(wanted, Enum):
        return _fit_of_sets(set(found.names), set(wanted.names))
    if isinstance(found, String) and isinstance(wanted, Enum):
        return ColourFit.MAYBE
    if type(found) is not type(wanted):
        return ColourFit.NO
    if isinstance(found, Int) and isinstance(wanted, Int):
        return _fit_of_ranges(found, wanted)
    return _fit_of_compounds(found, wanted)


def joined(one: Colour, other: Colour) -> Colour | None:
    """The smallest colour set known to hold both, or None."""
    if isinstance(one, Int) and isinstance(other, Int):
        return Int(known(min, one.least, other.least), known(max, one.most, other.most))
    if isinstance(one, Enum) and isinstance(other, Enum):
        return Enum(tuple(dict.fromkeys(one.names + other.names)))
    for wide, narrow in ((one, other), (other, one)):
        if fits(narrow, wide) is ColourFit.YES:
            return wide
    return _joined_compounds(one, other)


def known(compute: Callable[..., int], *ends: int | None) -> int | None:
    """Computes the end of a range from other ends; without one of them there is no end."""
    return None if None in ends else compute(*ends)


def _joined_compounds(one: Colour, other: Colour) -> Colour | None:
    if isinstance(one, Anything) or isinstance(other, Anything):
        return Anything()
    if isinstance(one, List) and isinstance(other, List):
        element = joined(one.element, other.element)
        return None if element is None else List(element)
    if not isinstance(one, Product | Record) or not isinstance(other, Product | Record):
        return None
    parts = [part for part in map(joined, one.parts, other.parts) if part is not None]
    if type(one) is not type(other) or not len(one.parts) == len(other.parts) == len(parts):
        return None
    if isinstance(one, Record) and isinstance(other, Record):
        same = one.names == other.names
        return Record(tuple(zip(one.names, parts, strict=True))) if same else None
    return Product(tuple(parts))


def _fit_of_sets(found: set[str], wanted: set[str]) -> ColourFit:
    if found <= wanted:
        return ColourFit.YES
    return ColourFit.MAYBE if found & wanted else ColourFit.NO


def _fit_of_ranges(found: Int, wanted: Int) -> ColourFit:
    (least, most), (wanted_least, wanted_most) = found.ends, wanted.ends
    if wanted_least <= least and most <= wanted_most:
        return ColourFit.YES
    return ColourFit.MAYBE if least <= wanted_most and most >= wanted_least else ColourFit.NO


def _fit_of_compounds(found: Colour, wanted: Colour) -> ColourFit:
    if isinstance(found, List) and isinstance(wanted, List):
        inner = fits(found.element, wanted.element)
        if inner is ColourFit.NO:
            return ColourFit.MAYBE  # An empty list still fits.
        bounded = wanted.length_max is not None and found.length_max != wanted.length_max
        return min(inner, ColourFit.MAYBE) if bounded else inner
    if isinstance(found, Record) and isinstance(wanted, Record) and found.names != wanted.names:
        return ColourFit.NO
    if isinstance(found, Product | Record) and isinstance(wanted, Product | Record):
        if len(found.parts) != len(wanted.parts):
            return ColourFit.NO
        return min(map(fits, found.parts, wanted.parts), default=ColourFit.YES)
    return ColourFit.YES


def _admits_all(parts: tuple[Colour, ...], value: Any) -> bool:
    if not isinstance(value, tuple) or len(value) != len(parts):
        return False
    return all(part.admits(item) for part, item in zip(parts, value, strict=True))


def _record_text(record: Any) -> str:
    return f"({', '.join(f'{n}={v!r}' for n, v in zip(record._fields, record, strict=True))})"
