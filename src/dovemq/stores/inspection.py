"""The interface of a database that is looked at without being served, for `dovemq doctor`."""

from collections.abc import AsyncIterator, Awaitable
from typing import Final, Protocol

from dovemq.core.checks import Check
from dovemq.stores.owned.logged.ports import Records

SCHEMA_MISSING: Final = "none yet; the first server makes it"


class InspectedDatabase(Protocol):
    """A connection that changes nothing: neither data nor schema.

    Every call may raise `StoreUnreachable` or `StoreUnusable`.
    """

    def checks(self) -> AsyncIterator[Check]:
        """Check the servers, their settings, the schema and the rights."""

    @property
    def records(self) -> Records | None:
        """The records for reading, after `checks` has ended; None if there are no tables yet."""

    def close(self) -> Awaitable[None]: ...


def schema_check(version: int | None, known: int) -> Check:
    """Compare the version of the schema, None if there is none, with that of this release."""
    if version is None:
        return Check("schema", "ok", SCHEMA_MISSING)
    if version > known:
        found = f"version {version}, this release knows {known}; use a newer release"
        return Check("schema", "broken", found)
    older = f"; the next start brings it to version {known}" if version < known else ""
    return Check("schema", "ok", f"version {version}{older}")
