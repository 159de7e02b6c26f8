"""What a store offers its operator beyond the port of the core; only durable stores have it."""

from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any, Protocol


class Verified(Protocol):
    @property
    def findings(self) -> Sequence[str]:
        """One line for each damage; empty when all is well."""
        ...


class StoreCare(Protocol):
    @property
    def statistics(self) -> Any:
        """A `Struct` of counts, whose `state` is "ok" when everything is accepted."""
        ...

    def backup(self, target: Path) -> Awaitable[object]:
        """A consistent copy while the store goes on; `target` is whole or not there."""
        ...

    def verify(self) -> Awaitable[Verified]: ...

    def damage(self) -> Sequence[Any]:
        """A `Struct` for each time that the store was damaged and rebuilt; the oldest first."""
        ...
