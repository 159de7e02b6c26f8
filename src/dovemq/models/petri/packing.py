"""Markings of a state space as strings of bytes, with a field of one to eight bytes for a place.

    places      Idle   Requests          Clients
    tokens      2      (a, 1) + (b, 1)   empty
    numbers     2      7                 0                kinds_1[7] = {(a, 1): 1, (b, 1): 1}
    bytes       02     07 00             00 00

Read as one integer, a marking changes by a constant when a transition fires. The highest bit of a
field is kept free. An addition can therefore never carry into the next field, and a field that has
become too large is found before it is stored: the markings are then written with a wider field.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Final

from dovemq.models.petri.ceilings import size_of
from dovemq.models.petri.checking import CheckedNet, CheckedPlace
from dovemq.models.petri.errors import NetTooLarge

CODES: Final = {1: "B", 2: "H", 4: "I", 8: "Q"}
"""The widths of a field in bytes, with the codes of `struct`."""
KIND_BYTES: Final = 2
"""The first width of a place of many values, whose multisets are numbered."""
INTEGER_BYTES_MAX: Final = 48
"""Longer markings are stored as bytes: the hash of an integer repeats after 61 bits."""
WIDENINGS_MAX: Final = 8
"""After so many widenings of single fields, a widening widens all fields of that width."""

Stored = int | bytes


def limit_of(width: int) -> int:
    return (1 << (8 * width - 1)) - 1


class Packing:
    """The fields of all places."""

    def __init__(self, widths: Sequence[int]) -> None:
        self.widths = tuple(widths)
        self.size = sum(self.widths)
        ends = accumulate(self.widths, initial=0)
        self.shifts = tuple(8 * end for end in ends)[: len(self.widths)]
        self._fields = struct.Struct("<" + "".join(CODES[width] for width in self.widths))
        self.unpack = self._fields.unpack

    def key(self, numbers: Iterable[int]) -> int:
        return int.from_bytes(self._fields.pack(*numbers), "little")

    def stored(self, numbers: Iterable[int], as_bytes: bool) -> Stored:
        return self._fields.pack(*numbers) if as_bytes else self.key(numbers)

    def numbers(self, stored: Stored) -> tuple[int, ...]:
        if isinstance(stored, int):
            stored = stored.to_bytes(self.size, "little")
        return self.unpack(stored)

    def wider(self, place: int, every: bool) -> "Packing":
        """A packing with a wider field for the place, or for all fields of its width."""
        width = self.widths[place]
        chosen = [every and other == width for other in self.widths]
        chosen[place] = True
        pairs = zip(self.widths, chosen, strict=True)
        return Packing([2 * other if wide else other for other, wide in pairs])


def first_packing(net: CheckedNet) -> Packing:
    """Fields for the initial tokens and for the tokens that one firing puts into a place."""
    most = [0 if place.counted else limit_of(KIND_BYTES) for place in net.places]
    for place in net.places:
        if place.counted:
            most[place.number] = place.initial.size
    for transition in net.transitions:
        puts: dict[int, int] = {}
        for put in transition.puts:
            puts[put.place] = puts.get(put.place, 0) + (size_of(put.bag) or 0)
        for number, count in puts.items():
            most[number] = max(most[number], count)
    return Packing([_width(net, place, most[place.number]) for place in net.places])


def _width(net: CheckedNet, place: CheckedPlace, count: int) -> int:
    for width in CODES:
        if count <= limit_of(width):
            return width
    where = net.net.where.at(place=place.name)
    raise NetTooLarge(where, f"a marking holds at most {limit_of(8)} tokens of a place")


def columns(packing: Packing, states: Sequence[Stored], rows: int) -> Iterator[Iterator[Any]]:
    """Yields the numbers of each place for `rows` markings at a time."""
    for start in range(0, len(states), rows):
        yield zip(*map(packing.numbers, states[start : start + rows]), strict=True)
