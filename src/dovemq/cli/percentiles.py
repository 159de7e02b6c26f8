"""The option --percentile, and the columns and texts that answer it; for the commands on models."""

import argparse
from typing import Final

from dovemq.cli.command import Options, WrongUse
from dovemq.cli.modelling import reals

DEFAULT_LEVEL: Final = 0.95
_SMALLEST: Final = 1.0
"""A smaller percentile is taken for a share, which is written in per cent."""


def add_percentiles(parser: Options, text: str, default: str = "") -> None:
    """Adds the option; its value is a list of levels between 0 and 1."""
    found = f"{text}, in per cent, such as 95,99{f' (default: {default})' if default else ''}"
    parser.option("--percentile", "P,…", found, percentiles)


def add_percentile(parser: Options, text: str) -> None:
    """Adds the option for a single percentile; its value is a level between 0 and 1.

    Without it the mean is meant.
    """
    found = f"{text}, in per cent, such as 95 (default: the mean)"
    parser.option("--percentile", "P", found, percentile)


def percentiles(text: str) -> list[float]:
    levels = []
    for value in reals(text):
        if not 0.0 < value < 100.0:
            reason = f"{value:g} is not a number between 0 and 100"
            raise argparse.ArgumentTypeError(reason)
        if value < _SMALLEST:
            reason = f"{value:g} is below {_SMALLEST:g} per cent: write {100.0 * value:g} for it"
            raise argparse.ArgumentTypeError(reason)
        levels.append(value / 100.0)
    return levels


def percentile(text: str) -> float:
    levels = percentiles(text)
    if len(levels) > 1:
        raise argparse.ArgumentTypeError(f"{text!r} has {len(levels)} percentiles; name one")
    return levels[0]


def level_of(args: argparse.Namespace) -> float | None:
    """The one percentile that --target bounds, or None for the mean."""
    levels: list[float] = args.percentile or []
    if len(levels) > 1:
        raise WrongUse(f"--target bounds one percentile, and {len(levels)} were given")
    return levels[0] if levels else None


def per_cent(level: float | None) -> float | None:
    """The percentile of a level, for JSON documents and planning files."""
    return None if level is None else round(100.0 * level, 10)


def in_per_cent(level: float) -> str:
    """`95` for 0.95."""
    return f"{100.0 * level:.10g}"


def column(figure: str, level: float, unit: str = "") -> str:
    """`sojourn_p95`, or `delivery_p95_s` with a unit."""
    return f"{figure}_p{in_per_cent(level)}{f'_{unit}' if unit else ''}"
