"""Values that a parameter takes one after another: `FROM:TO:STEP` or a list.

Needs no package, so that a command line can be read without one.
"""

import math
from typing import Final

from dovemq.models.errors import ParameterInvalid

POINTS_MAX: Final = 10_000
_DIGITS: Final = 12
"""To which a point is rounded, so that 0.1 three times is 0.3."""


def spaced(name: str, text: str) -> list[int | float]:
    """`4:10` by 1, or `0.5:0.9:0.1`; whole where all parts are."""
    parts = [_number(name, part) for part in text.split(":")]
    if not 2 <= len(parts) <= 3:
        raise ParameterInvalid(name, repr(text), "FROM:TO or FROM:TO:STEP")
    first, last = parts[:2]
    step = parts[2] if len(parts) == 3 else 1
    if step <= 0 or not math.isfinite(first + last + step) or last < first:
        raise ParameterInvalid(name, repr(text), "a step above 0 from the least to the most: it")
    count = int((last - first) / step + 1e-9) + 1
    if count > POINTS_MAX:
        raise ParameterInvalid(name, repr(text), f"at most {POINTS_MAX} points: it")
    points = (first + place * step for place in range(count))
    return [point if isinstance(point, int) else _rounded(point) for point in points]


def _number(name: str, text: str) -> int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise ParameterInvalid(name, repr(text), "a number")


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
