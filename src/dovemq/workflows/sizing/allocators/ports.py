"""The port of allocators."""

from collections.abc import Mapping, Sequence
from typing import Protocol


class Allocator(Protocol):
    """Gives topics their consumers. Topics that it was never asked about are left alone.

    `allocate` is idempotent and wants whole numbers, not differences: the manager repeats it in
    every round, so that consumers that died come back, and a call that was lost does no harm. It
    returns sentences about what could not be done, for each topic on its own; the next round tries
    again. Fewer consumers finish the tasks that they have; `allocate` does not wait for them.
    """

    name: str

    async def consumers(self, topics: Sequence[str]) -> Mapping[str, int]:
        """The present consumers; topics whose consumers cannot be read are absent."""
        ...

    async def allocate(self, wanted: Mapping[str, int]) -> Sequence[str]: ...

    async def close(self) -> None:
        """Ends what this process alone keeps alive."""
        ...
