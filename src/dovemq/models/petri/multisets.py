"""Multisets of token values: the marking of a place, as a value that can be compared and printed.

The simulator and the state space hold tokens in faster forms and make multisets on request.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def totals(parts: Iterable[tuple[Any, int]]) -> dict[Any, int]:
    """The sum of the counts of each value."""
    found: dict[Any, int] = {}
    for value, count in parts:
        found[value] = found.get(value, 0) + count
    return found


class Multiset(Mapping[Any, int]):
    """Values and how often each occurs; an absent value occurs 0 times."""

    __slots__ = ("_counts",)

    def __init__(self, values: Iterable[Any] | Mapping[Any, int] = ()) -> None:
        pairs = values.items() if isinstance(values, Mapping) else ((value, 1) for value in values)
        counts = totals(pairs)
        if any(count < 0 for count in counts.values()):
            raise ValueError("a multiset cannot hold a value fewer than 0 times")
        self._counts = {value: count for value, count in counts.items() if count}

    def __getitem__(self, value: Any) -> int:
        return self._counts.get(value, 0)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._counts)

    def __len__(self) -> int:
        """The number of different values; `size` also counts repetitions."""
        return len(self._counts)

    def __contains__(self, value: object) -> bool:
        return value in self._counts

    @property
    def size(self) -> int:
        return sum(self._counts.values())

    def __add__(self, other: "Multiset") -> "Multiset":
        return Multiset({value: self[value] + other[value] for value in {**self, **other}})

    def __sub__(self, other: "Multiset") -> "Multiset":
        return Multiset({value: self[value] - other[value] for value in {**self, **other}})

    def __le__(self, other: "Multiset") -> bool:
        return all(count <= other[value] for value, count in self.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Multiset) and self._counts == other._counts

    def __hash__(self) -> int:
        return hash(frozenset(self._counts.items()))

    def elements(self) -> Iterator[Any]:
        for value, count in self._counts.items():
            for _ in range(count):
                yield value

    def __repr__(self) -> str:
        return f"Multiset({self})"

    def __str__(self) -> str:
        """The text ``2`(1, 'a') + 1`(2, 'b')``, sorted where the values have an order."""
        if not self._counts:
            return "empty"
        values = sorted(self._counts, key=_key)
        return " + ".join(f"{self._counts[value]}`{_text(value)}" for value in values)


def _key(value: Any) -> tuple[str, Any]:
    if isinstance(value, int | float):
        return ("", value)
    return (type(value).__name__, value if isinstance(value, str) else repr(value))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)
