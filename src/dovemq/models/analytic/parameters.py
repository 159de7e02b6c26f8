"""Numbers that a model may be given: each is checked once, and named when it is refused.

Every check takes a number or an array and answers an array of floats, of no dimension for a
number. No check mends a value.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dovemq.models.errors import ParameterInvalid

Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]

SERVERS_MAX: Final = 100_000


def not_negative(value: ArrayLike, name: str) -> Floats:
    return _checked(name, value, lambda found: found >= 0, "a finite number of at least 0")


def arrival_rate(value: ArrayLike, name: str = "arrival_rate") -> Floats:
    return not_negative(value, name)


def positive(value: ArrayLike, name: str) -> Floats:
    return _checked(name, value, lambda found: found > 0, "a finite number above 0")


def service_rate(value: ArrayLike, name: str = "service_rate") -> Floats:
    return positive(value, name)


def duration(value: ArrayLike, name: str) -> Floats:
    return _checked(name, value, lambda found: found >= 0, "a finite time of at least 0")


def scv(value: ArrayLike, name: str) -> Floats:
    """A squared coefficient of variation."""
    return not_negative(value, name)


def servers(value: ArrayLike, name: str = "servers") -> Floats:
    return _checked(
        name,
        value,
        lambda found: (found >= 1) & (found == np.floor(found)) & (found <= SERVERS_MAX),
        f"a whole number from 1 to {SERVERS_MAX}",
    )


def share(value: ArrayLike, name: str) -> Floats:
    """A probability, 0 and 1 included."""
    return _checked(name, value, lambda found: (found >= 0) & (found <= 1), "a number from 0 to 1")


def level(value: ArrayLike, name: str = "level") -> Floats:
    """The level of a quantile."""
    return _checked(
        name, value, lambda found: (found > 0) & (found < 1), "a number between 0 and 1"
    )


def whole(value: ArrayLike, name: str, most: int) -> Floats:
    return _checked(
        name,
        value,
        lambda found: (found >= 0) & (found == np.floor(found)) & (found <= most),
        f"a whole number from 0 to {most}",
    )


def same_shape(**values: Floats) -> tuple[Floats, ...]:
    """All as arrays of one shape; arrays that cannot be combined are named."""
    try:
        shape = np.broadcast_shapes(*(value.shape for value in values.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {value.shape}" for name, value in values.items())
        raise ParameterInvalid("the shape of the parameters", shapes, "one shape") from None
    return tuple(np.broadcast_to(value, shape) for value in values.values())


def first_place(found: Flags) -> tuple[int, ...]:
    """Where the first true one lies; of an array of no dimension, nowhere in it."""
    return tuple(int(axis) for axis in np.unravel_index(np.argmax(found), found.shape))


def _checked(
    name: str, value: ArrayLike, allowed: Callable[[Floats], Flags], needed: str
) -> Floats:
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterInvalid(name, repr(value), needed) from None
    finite = np.isfinite(found)
    good = np.asarray(finite & allowed(np.where(finite, found, 0.0)))
    if good.all():
        return found
    place = first_place(~good)
    spelled = f"{name}[{', '.join(map(str, place))}]" if place else name
    raise ParameterInvalid(spelled, f"{found[place]:g}", needed)
