"""Times to four digits, so that a distribution of them is a table of bounded length.

A time below 10 ms is kept to the microsecond; a longer one loses what follows its fourth digit.
Means are taken from the exact times.
"""

from typing import Final

DIGITS: Final = 4
_STEPS: Final = 13
"""Four digits up to 10^17 µs, three thousand years."""


def shortened_sql(name: str) -> str:
    """The text of an expression for a column or expression; Spark and DuckDB read it alike."""
    time = f"({name})"
    steps = [f"WHEN abs({time}) < {10**DIGITS} THEN {time}"]
    for step in range(1, _STEPS):
        steps.append(
            f"WHEN abs({time}) < {10 ** (DIGITS + step)} THEN {time} - {time} % {10**step}"
        )
    return " ".join(["CASE", *steps, f"ELSE {time} - {time} % {10**_STEPS}", "END"])
