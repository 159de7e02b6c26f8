"""Checks of the numbers that models take. An invalid number is refused with its name.

Every check takes a number or an array and returns an array of floats, which has no dimension for a
number. No check changes a value.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dovemq.models.errors import ModelParameterInvalid, ModelSpecInvalid

Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]

SERVERS_MAX: Final = 100_000
SHARES_ROUNDING: Final = 1e-9
NUMBER_MAX: Final = 1e100
"""Larger numbers, and smaller ones than their inverse, are refused: their products overflow."""


def not_negative(value: ArrayLike, name: str) -> Floats:
    needed = f"a finite number from 0 to {NUMBER_MAX:g}"
    return _checked(name, value, lambda found: (found >= 0) & (found <= NUMBER_MAX), needed)


def positive(value: ArrayLike, name: str) -> Floats:
    needed = f"a finite number above 0, from {1 / NUMBER_MAX:g} to {NUMBER_MAX:g},"

    def allowed(found: Floats) -> Flags:
        return (found >= 1.0 / NUMBER_MAX) & (found <= NUMBER_MAX)

    return _checked(name, value, allowed, needed)


def whole(value: ArrayLike, name: str, least: int, most: int) -> Floats:
    return _checked(
        name,
        value,
        lambda found: (found >= least) & (found == np.floor(found)) & (found <= most),
        f"a whole number from {least} to {most}",
    )


def between(value: ArrayLike, name: str, least: float, most: float) -> Floats:
    needed = f"a number from {least:g} to {most:g}"
    return _checked(name, value, lambda found: (found >= least) & (found <= most), needed)


def servers(value: ArrayLike, name: str = "servers") -> Floats:
    return whole(value, name, 1, SERVERS_MAX)


def share(value: ArrayLike, name: str) -> Floats:
    """Checks a probability; 0 and 1 are valid."""
    return _checked(name, value, lambda found: (found >= 0) & (found <= 1), "a number from 0 to 1")


def reliability(value: ArrayLike) -> Floats:
    """Checks the probability that a get succeeds, which cannot be 0."""
    return positive(share(value, "reliability"), "reliability")


def level(value: ArrayLike, name: str = "level") -> Floats:
    """Checks the level of a quantile or of a confidence interval."""
    return _checked(
        name, value, lambda found: (found > 0) & (found < 1), "a number between 0 and 1"
    )


def shares(values: Sequence[float], place: str) -> None:
    """Checks probabilities that add up to 1."""
    total = float(share(values, f"{place}: share").sum()) if len(values) else 0.0
    if abs(total - 1.0) > SHARES_ROUNDING:
        raise ModelParameterInvalid(f"{place}: sum of the shares", f"{total:g}", "1")


def names(values: Sequence[str], place: str, most: int) -> None:
    """Checks that there are names, that none is empty, and that no two are equal."""
    if not 1 <= len(values) <= most:
        raise ModelSpecInvalid(place, f"{len(values)} were given: 1 to {most:,} are needed")
    if "" in values or len(set(values)) < len(values):
        raise ModelSpecInvalid(place, f"the names {list(values)} must differ and not be empty")


def same_shape(**values: Floats) -> tuple[Floats, ...]:
    """Broadcasts all arrays to one shape; arrays that cannot be combined are refused by name."""
    try:
        shape = np.broadcast_shapes(*(value.shape for value in values.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {value.shape}" for name, value in values.items())
        raise ModelParameterInvalid("the shape of the parameters", shapes, "one shape") from None
    return tuple(np.broadcast_to(value, shape) for value in values.values())


def first_place(found: Flags) -> tuple[int, ...]:
    """Returns the index of the first true flag; it is empty for an array of no dimension."""
    return tuple(int(axis) for axis in np.unravel_index(np.argmax(found), found.shape))


def _checked(name: str, value: Any, allowed: Callable[[Floats], Flags], needed: str) -> Floats:
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ModelParameterInvalid(name, repr(value), needed) from None
    finite = np.isfinite(found)
    good = np.asarray(finite & allowed(np.where(finite, found, 0.0)))
    if good.all() and not isinstance(value, bool):
        return found
    if value is None or isinstance(value, bool):
        raise ModelParameterInvalid(name, repr(value), needed)
    place = first_place(~good)
    spelled = f"{name}[{', '.join(map(str, place))}]" if place else name
    raise ModelParameterInvalid(spelled, f"{found[place]:g}", needed)
