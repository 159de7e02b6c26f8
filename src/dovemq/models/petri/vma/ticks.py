"""The unit of time of the VMA net, which counts whole ticks.

A tick is a millisecond, as in the paper, or a tenth of it, a hundredth, …: the longest for which
rounding changes nothing that matters. An exponential time of mean m ticks has a mean of about
m · (1 − 1/24m²) after rounding, so TICKS_MIN ticks cost less than 1 in 10,000. A time without
chance must be whole ticks, or so many that half a tick is less than 1 in 2,000.
"""

from typing import Final

from dovemq.models.distributions import (
    Deterministic,
    Distribution,
    Empirical,
    HyperExponential,
)
from dovemq.models.errors import ModelParameterInvalid
from dovemq.models.vma.parameters import VmaParameters

TICKS_MIN: Final = 25
"""The least mean of a random time, in ticks."""
FIXED_TICKS_MIN: Final = 1_000
"""The least time without chance that may be rounded, in ticks."""
PER_SECOND: Final[tuple[int, ...]] = tuple(10**power for power in range(3, 13))
"""The units to choose from: from milliseconds to picoseconds."""
TICKS_MAX: Final = 2**53
"""The longest run, in ticks, in which every time is exact."""


def ticks_per_second(given: VmaParameters) -> int:
    times = [given.arrival_time, given.sender_time, given.broker_time]
    times += [each for kind in given.classes for each in (kind.sender, kind.broker) if each]
    drawn, fixed = _split(times)
    fixed += [float(given.link_delay), float(given.visibility_timeout)]
    for ticks in PER_SECOND:
        if all(mean * ticks >= TICKS_MIN for mean in drawn) and all(
            _whole(each, ticks) for each in fixed if each > 0
        ):
            return ticks
    shortest = min(each for each in (*drawn, *fixed) if each > 0)
    needed = f"a time of at least {FIXED_TICKS_MIN / PER_SECOND[-1]:g} s for the Petri net"
    raise ModelParameterInvalid("the shortest time", f"{shortest:g} s", needed)


def _split(times: list[Distribution]) -> tuple[list[float], list[float]]:
    """The means of random times, and the values of the others."""
    drawn: list[float] = []
    fixed: list[float] = []
    for each in times:
        if isinstance(each, Deterministic):
            fixed.append(each.mean)
        elif isinstance(each, Empirical):
            fixed += each.values
        elif isinstance(each, HyperExponential):
            drawn += each.means
        else:
            drawn.append(each.mean)
    return drawn, fixed


def _whole(seconds: float, ticks: int) -> bool:
    length = seconds * ticks
    return length >= FIXED_TICKS_MIN or (length >= 1 and abs(length - round(length)) < 1e-6)


def run_ticks(seconds: float, ticks: int, name: str) -> int:
    """The length of a run in ticks; one that is too long to be counted exactly is refused."""
    if seconds * ticks > TICKS_MAX:
        needed = f"a time of at most {TICKS_MAX / ticks:g} s for the Petri net"
        raise ModelParameterInvalid(name, f"{seconds:g}", needed)
    return round(seconds * ticks)
