"""Refusals of what no model can mean: each names the place, what was given, what is expected."""

import math
import numbers
from collections.abc import Sequence
from typing import NoReturn

SHARES_SLACK = 1e-9


def refuse(place: str, found: object, expected: str) -> NoReturn:
    raise ValueError(f"{place}: {found!r} was given, {expected} is expected")


def _is_number(value: object) -> bool:
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    return math.isfinite(value)


def positive(place: str, value: float) -> None:
    if not _is_number(value) or value <= 0:
        refuse(place, value, "a number above 0")


def not_negative(place: str, value: float) -> None:
    if not _is_number(value) or value < 0:
        refuse(place, value, "a number of at least 0")


def whole(place: str, value: int, least: int, most: int) -> None:
    if not _is_number(value) or value != int(value) or not least <= value <= most:
        refuse(place, value, f"a whole number from {least} to {most:,}")


def shares(place: str, values: Sequence[float]) -> None:
    if not values:
        refuse(place, values, "at least one share")
    for at, value in enumerate(values):
        positive(f"{place}[{at}]", value)
    if abs(math.fsum(values) - 1.0) > SHARES_SLACK:
        refuse(place, tuple(values), "shares that sum to 1")
