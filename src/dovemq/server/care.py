"""The interface of durable stores for their operator: copies, checks and reports."""

from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any, Protocol


class Verified(Protocol):
    @property
    def findings(self) -> Sequence[str]:
        """One line for each damage; empty if there is none."""
        ...


class StoreCare(Protocol):
    @property
    def statistics(self) -> Any:
        """A `Struct` of counts; its `state` is "ok" while the store accepts everything."""
        ...

    def backup(self, target: Path) -> Awaitable[object]:
        """Make a consistent copy while the store is in use; `target` is complete or absent."""
        ...

    def verify(self) -> Awaitable[Verified]: ...

    def damage(self) -> Sequence[Any]:
        """A `Struct` for each time that the store was rebuilt after damage, oldest first."""
        ...
