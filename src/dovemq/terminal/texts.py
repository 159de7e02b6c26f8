"""Numbers, ages and curves as short texts, and texts of others without control characters."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from dovemq.core import limits

_BARS: Final = "▁▂▃▄▅▆▇█"
_UNITS: Final = ("", "k", "M", "G", "T")
_KILO: Final = 1_000
NOTHING: Final = "-"


def count_text(count: float) -> str:
    """A count in at most five characters, such as `999`, `12.3k` or `1.2M`."""
    amount, units = float(count), iter(_UNITS)
    unit = next(units)
    while round(amount) >= _KILO and (larger := next(units, None)):
        amount, unit = amount / _KILO, larger
    return f"{amount:.1f}{unit}" if unit and round(amount, 1) < 100 else f"{amount:.0f}{unit}"


def rate_text(rate: float) -> str:
    """Messages per second, with one decimal below ten."""
    return f"{rate:.1f}" if 0 < rate < 9.95 else count_text(rate)


def age_text(age_ms: int | None) -> str:
    """An age in its two largest units, such as `3m12s`."""
    if age_ms is None:
        return NOTHING
    seconds = age_ms // limits.SECOND_MS
    if seconds < 60:
        return f"{seconds}s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes}m{seconds:02}s"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours}h{minutes:02}m"
    days, hours = divmod(hours, 24)
    return f"{days}d{hours:02}h"


def curve(values: Sequence[float], width: int) -> str:
    """Bars that begin at zero; the highest value has a full bar.

    Values that do not fit are joined: a bar is the highest of its values.
    """
    if not values or width < 1:
        return ""
    bars = min(len(values), width)
    bounds = [index * len(values) // bars for index in range(bars + 1)]
    peaks = [max(values[start:end]) for start, end in pairwise(bounds)]
    most = max(peaks)
    if most <= 0:
        return _BARS[0] * bars
    last = len(_BARS) - 1
    return "".join(_BARS[min(round(peak / most * last), last)] for peak in peaks)


def plain(text: str, length_max: int) -> str:
    """A text that a client chose, fit for a terminal: printable characters, and not too long."""
    shown = "".join(each if each.isprintable() else "?" for each in text[: length_max + 1])
    return shown if len(shown) <= length_max else f"{shown[: length_max - 1]}…"
