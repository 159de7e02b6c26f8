"""The findings of a diagnosis: one line for each thing that was looked at."""

from typing import Final, Literal

from msgspec import Struct

CheckState = Literal["ok", "weak", "absent", "broken"]

CLOCKS_APART_MS_MAX: Final = 5_000
"""Nothing of ours depends on the clock of a database; a larger difference is worth knowing."""
UNCERTAIN_MS_SHOWN: Final = 100


class Check(Struct, frozen=True):
    """A thing that was looked at, and what was found.

    `weak` works, and promises less than it could. `absent` is for optional parts alone: they are
    not there, and nothing is wrong.
    """

    name: str
    state: CheckState
    found: str


def clock_check(server: str, server_ms: float, before_ms: int, after_ms: int) -> Check:
    """Compare the clock of a server with the times here before and after it was asked."""
    off_ms = server_ms - (before_ms + after_ms) / 2
    uncertain_ms = (after_ms - before_ms) / 2
    found = f"{off_ms / 1_000:+.1f} s from the clock of this machine"
    if uncertain_ms >= UNCERTAIN_MS_SHOWN:
        found += f", give or take {uncertain_ms / 1_000:.1f} s"
    is_far = abs(off_ms) - uncertain_ms > CLOCKS_APART_MS_MAX
    return Check(f"clock of {server}", "weak" if is_far else "ok", found)
