"""Shortens times to four digits, so that their distribution is a bounded table.

A time below 10 ms keeps its microseconds. Means use the exact times.
"""

from typing import Final

DIGITS: Final = 4
_STEPS: Final = 13
"""Four digits up to 10^17 µs, three thousand years."""


def shortened_sql(name: str) -> str:
    """Returns the SQL of the shortened expression, for Spark and DuckDB."""
    time = f"({name})"
    steps = [f"WHEN abs({time}) < {10**DIGITS} THEN {time}"]
    for step in range(1, _STEPS):
        steps.append(
            f"WHEN abs({time}) < {10 ** (DIGITS + step)} THEN {time} - {time} % {10**step}"
        )
    return " ".join(["CASE", *steps, f"ELSE {time} - {time} % {10**_STEPS}", "END"])
