"""Place and transition invariants of a P/T net.

A place invariant weighs places so that every firing keeps the weighted sum of tokens. A transition
invariant counts firings that together restore the marking. `place_basis` and `transition_basis`
span all of them (an exact nullspace over the integers); `semi_positive` returns the minimal ones
without negative weights. Every vector is checked against the incidence matrix.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from dovemq.models.petri.checking import CheckedNet, checked
from dovemq.models.petri.errors import NetInvalid, NetTooLarge
from dovemq.models.petri.exploring import constant_effect
from dovemq.models.petri.nets import Net

ROWS_MAX: Final = 20_000
"""The most rows that the search for minimal invariants holds at a time."""

Matrix = list[list[int]]
Kind = Literal["place", "transition"]


@dataclass(frozen=True, slots=True)
class Invariant:
    kind: Kind
    weights: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        parts = [
            ("−" if weight < 0 else "+", name if abs(weight) == 1 else f"{abs(weight)}·{name}")
            for name, weight in self.weights
        ]
        return " ".join(f"{sign} {text}" for sign, text in parts).removeprefix("+ ")


def incidence(net: CheckedNet) -> Matrix:
    """Returns the change of each place (row) by each transition (column)."""
    matrix = [[0] * len(net.transitions) for _ in net.places]
    for transition in net.transitions:
        if transition.resets:
            raise NetInvalid(
                transition.where, "a net with reset arcs has no incidence matrix, so no invariants"
            )
        change = constant_effect(transition, net)
        if change is None or not net.is_pt:
            raise NetInvalid(
                transition.where, "only a P/T net has invariants: unfold this net first"
            )
        for place, amount in change.items():
            matrix[place][transition.number] = amount
    return matrix


def place_basis(net: Net | CheckedNet) -> list[Invariant]:
    return _invariants(net, "place", positive=False)


def transition_basis(net: Net | CheckedNet) -> list[Invariant]:
    return _invariants(net, "transition", positive=False)


def semi_positive(net: Net | CheckedNet, kind: Kind) -> list[Invariant]:
    return _invariants(net, kind, positive=True)


def _invariants(net: Net | CheckedNet, kind: Kind, *, positive: bool) -> list[Invariant]:
    net = checked(net)
    rows = incidence(net)
    if kind == "transition":
        rows = [list(column) for column in zip(*rows, strict=True)]
        names = [transition.name for transition in net.transitions]
    else:
        names = [place.name for place in net.places]
    found = _farkas(rows, net) if positive else nullspace(rows)
    return [_invariant(vector, rows, names, kind) for vector in found]


def _invariant(vector: Sequence[int], rows: Matrix, names: list[str], kind: Kind) -> Invariant:
    columns = range(len(rows[0])) if rows else range(0)
    for column in columns:
        if sum(weight * row[column] for weight, row in zip(vector, rows, strict=True)):
            raise AssertionError("a computed vector is not an invariant")
    pairs = zip(names, vector, strict=True)
    return Invariant(kind, tuple((name, weight) for name, weight in pairs if weight))


def nullspace(rows: Matrix) -> Matrix:
    """Returns a basis of all x with x · rows = 0, in whole numbers without a common factor."""
    count = len(rows)
    joined = [[*row, *(int(at == own) for at in range(count))] for own, row in enumerate(rows)]
    width = len(rows[0]) if rows else 0
    done = 0
    for column in range(width):
        pivot = next((at for at in range(done, count) if joined[at][column]), None)
        if pivot is None:
            continue
        joined[done], joined[pivot] = joined[pivot], joined[done]
        head = joined[done]
        for at in range(done + 1, count):
            if joined[at][column]:
                joined[at] = _eliminated(joined[at], head, column)
        done += 1
    return [_signed(row[width:]) for row in joined[done:]]


def _eliminated(row: list[int], head: list[int], column: int) -> list[int]:
    ours, theirs = row[column], head[column]
    mixed = [theirs * own - ours * other for own, other in zip(row, head, strict=True)]
    return _reduced(mixed)


def _reduced(row: list[int]) -> list[int]:
    common = math.gcd(*row)
    return [value // common for value in row] if common > 1 else row


def _signed(row: list[int]) -> list[int]:
    """Changes signs so that the first weight is positive."""
    row = _reduced(row)
    first = next((value for value in row if value), 1)
    return row if first > 0 else [-value for value in row]


def _farkas(rows: Matrix, net: CheckedNet) -> Matrix:
    """Makes each column 0 by adding rows of opposite signs, and keeps minimal rows only."""
    count, width = len(rows), len(rows[0]) if rows else 0
    joined = [[*row, *(int(at == own) for at in range(count))] for own, row in enumerate(rows)]
    for column in range(width):
        plus = [row for row in joined if row[column] > 0]
        minus = [row for row in joined if row[column] < 0]
        kept = [row for row in joined if not row[column]]
        if len(kept) + len(plus) * len(minus) > ROWS_MAX:
            raise NetTooLarge(net.net.where, f"minimal invariants need more than {ROWS_MAX} rows")
        for up in plus:
            for down in minus:
                mixed = [-down[column] * a + up[column] * b for a, b in zip(up, down, strict=True)]
                kept.append(_reduced(mixed))
        joined = _minimal(kept, width)
    return [row[width:] for row in joined if any(row[width:])]


def _minimal(rows: Matrix, width: int) -> Matrix:
    """Removes rows whose support contains the support of another row."""
    supports = [frozenset(at for at, v in enumerate(row[width:]) if v) for row in rows]
    order = sorted(range(len(rows)), key=lambda at: len(supports[at]))
    kept: list[int] = []
    for at in order:
        if not any(supports[other] <= supports[at] for other in kept):
            kept.append(at)
    return [rows[at] for at in sorted(kept)]
