"""The collector of cyclic garbage, told to stay out of the way of a process that runs for long."""

import gc
from typing import Final

ALLOCATIONS: Final = 10_000
"""New objects that may have cycles between two looks for garbage among them."""


def calm_collector() -> None:
    """What is there at start stays: cyclic garbage is looked for seldom, and not in that."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(ALLOCATIONS)
