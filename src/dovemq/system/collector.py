"""Settings of Python's garbage collector for a process that runs for long."""

import gc
from typing import Final

ALLOCATIONS: Final = 10_000
"""Number of new container objects between two collections of the youngest generation."""
YOUNG_COLLECTIONS: Final = 10
OLD_COLLECTIONS: Final = 100
"""Number of collections of a younger generation before the next older one is collected too. Old
objects are nearly all in use, long queues of messages among them: a collection of a million of them
takes 20 to 70 ms."""


def calm_collector() -> None:
    """Makes collections rare, and excludes all objects that exist at start from them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(ALLOCATIONS, YOUNG_COLLECTIONS, OLD_COLLECTIONS)
