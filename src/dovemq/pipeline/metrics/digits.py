"""Times to four digits, so that a distribution of them is a table of bounded length.

A time below 10 ms is kept to the microsecond; a longer one loses what follows its fourth digit.
SQL and numpy do the same to the last microsecond, and means are taken from the whole times.
"""

from typing import Final

import numpy as np

from dovemq.models.consistency.columns import Integers

DIGITS: Final = 4
_STEPS: Final = 13
"""Four digits up to 10^17 µs, three thousand years."""
_BOUNDS: Final = tuple(10 ** (DIGITS + step) for step in range(_STEPS))


def shortened_sql(name: str) -> str:
    """Of a column or expression; null stays null. Read alike by Spark and DuckDB."""
    steps = [f"WHEN abs({name}) < {_BOUNDS[0]} THEN {name}"]
    for step, bound in enumerate(_BOUNDS[1:], 1):
        steps.append(f"WHEN abs({name}) < {bound} THEN {name} - {name} % {10**step}")
    return " ".join(["CASE", *steps, f"ELSE {name} - {name} % {10**_STEPS}", "END"])


def shortened(times: Integers) -> Integers:
    steps = np.searchsorted(np.array(_BOUNDS), np.abs(times), side="right")
    units = 10 ** steps.astype(np.int64)
    return times - np.fmod(times, units)
