"""Lists of values that a parameter takes: `FROM:TO` or `FROM:TO:STEP`.

Needs no package, so that a command line can be read without one.
"""

import math
from typing import Final

from dovemq.models.errors import ModelParameterInvalid

POINTS_MAX: Final = 10_000
_DIGITS: Final = 12
"""Points are rounded to so many digits, so that three times 0.1 is 0.3."""


def spaced(name: str, text: str) -> list[int | float]:
    """Reads `4:10` (in steps of 1) or `0.5:0.9:0.1`; the points are whole if all parts are."""
    parts = [_number(name, part) for part in text.split(":")]
    if not 2 <= len(parts) <= 3:
        raise ModelParameterInvalid(name, repr(text), "FROM:TO or FROM:TO:STEP")
    first, last = parts[:2]
    step = parts[2] if len(parts) == 3 else 1
    if step <= 0 or not math.isfinite(first + last + step) or last < first:
        raise ModelParameterInvalid(name, repr(text), "FROM ≤ TO and a STEP above 0")
    count = int((last - first) / step + 1e-9) + 1
    if count > POINTS_MAX:
        raise ModelParameterInvalid(name, repr(text), f"a grid of at most {POINTS_MAX} points")
    points = (first + place * step for place in range(count))
    return [point if isinstance(point, int) else float(f"{point:.{_DIGITS}g}") for point in points]


def _number(name: str, text: str) -> int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise ModelParameterInvalid(name, repr(text), "a number")
