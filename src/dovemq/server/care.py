"""The port for operators of a store: backup, verification, damage. Only durable stores have it."""

from collections.abc import Awaitable, Sequence
from typing import Any, BinaryIO, Protocol


class Verified(Protocol):
    @property
    def findings(self) -> Sequence[str]:
        """One line for each damage; empty when nothing is damaged."""


class StoreCare(Protocol):
    @property
    def statistics(self) -> Any:
        """A `Struct` of counts; its `state` is "ok" while the store accepts everything."""

    def backup(self) -> Awaitable[BinaryIO]:
        """A consistent copy while the store goes on: an open file without a name."""

    def verify(self) -> Awaitable[Verified]: ...

    def damage(self) -> Sequence[Any]:
        """A `Struct` for each time that the store was rebuilt after damage, oldest first."""


class ClusterView(Protocol):
    """A store that several front ends share, as one of them sees it."""

    def unready_reason(self) -> str | None:
        """Why this front end should get no requests now; None if it should."""

    def status(self) -> Awaitable[dict[str, Any]]:
        """Front ends, owners of partitions, links and recoveries, as a document."""
