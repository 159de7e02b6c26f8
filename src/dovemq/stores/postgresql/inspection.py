"""A diagnosis of a PostgreSQL database for `dovemq doctor`, which changes nothing in it."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Final

import asyncpg
from msgspec import Struct

from dovemq.core.checks import Check, clock_check
from dovemq.stores.inspection import schema_check
from dovemq.stores.owned.logged.ports import Records
from dovemq.stores.postgresql.connections import PostgresqlConnections
from dovemq.stores.postgresql.database import PostgresqlRecords
from dovemq.stores.postgresql.location import PostgresqlLocation
from dovemq.stores.postgresql.schema import (
    check_server,
    load_migrations,
    load_sections,
    load_statements,
)

REPLICATED: Final = ("on", "remote_apply", "remote_write")
"""The values of synchronous_commit with which a commit waits for the synchronous standbys."""


class _Statements(Struct, frozen=True):
    find_facts: str
    find_time: str
    find_missing_rights: str
    may_create: str


class InspectedPostgresql:
    def __init__(
        self, location: PostgresqlLocation, call_s_max: float, now_ms: Callable[[], int]
    ) -> None:
        self.records: Records | None = None
        self._location, self._now_ms = location, now_ms
        self._connections = PostgresqlConnections(location, call_s_max)
        self._sql = _Statements(**load_sections("inspection.sql"))
        self._known = load_statements()

    async def close(self) -> None:
        await self._connections.close()

    async def checks(self) -> AsyncIterator[Check]:
        await self._connections.start(self._require_fit)
        [facts] = await self._connections.fetch(self._sql.find_facts)
        yield Check(f"database {self._location}", "ok", f"PostgreSQL {facts[0]}")
        for check in _durability(*facts[1:]):
            yield check
        version = await self._version()
        yield schema_check(version, len(load_migrations()))
        yield await self._rights(version)
        if version is not None:
            self.records = PostgresqlRecords(self._connections, self._known)
        yield await self._clock()

    async def _require_fit(self, line: asyncpg.Connection) -> None:
        check_server(line, self._location)

    async def _version(self) -> int | None:
        fetch, schema = self._connections.fetch, self._location.schema
        [(_, has_tables)] = await fetch(self._known.find_schema, schema)
        return (await fetch(self._known.find_version))[0][0] if has_tables else None

    async def _rights(self, version: int | None) -> Check:
        fetch, schema = self._connections.fetch, self._location.schema
        [(may_create,)] = await fetch(self._sql.may_create, schema)
        missing = [row[0] for row in await fetch(self._sql.find_missing_rights, schema)]
        if missing:
            return Check("rights", "broken", f"{self._location.user} lacks {', '.join(missing)}")
        if version is None and not may_create:
            found = f"{self._location.user} may not create the schema {schema} or its tables"
            return Check("rights", "broken", found)
        if not may_create:
            return Check(
                "rights", "ok", "enough to serve; an upgrade of the schema needs its owner"
            )
        return Check("rights", "ok", "enough to serve, and to make tables")

    async def _clock(self) -> Check:
        before_ms = self._now_ms()
        [(server_ms,)] = await self._connections.fetch(self._sql.find_time)
        return clock_check("the server", server_ms, before_ms, self._now_ms())


def _durability(
    fsync: str, full_pages: str, commit: str, standbys: str, replicas: int
) -> Iterator[Check]:
    """Tell what an answered send survives, by the settings of the server."""
    if fsync != "on":
        yield Check("durability", "broken", "fsync is off: a crash may lose everything")
    elif full_pages != "on":
        found = "full_page_writes is off: a power cut may damage pages"
        yield Check("durability", "weak", found)
    elif commit == "off":
        found = "synchronous_commit is off: a crash loses the last moments of what was answered"
        yield Check("durability", "weak", found)
    else:
        found = f"synchronous_commit is {commit}: an answered message survives a power cut"
        yield Check("durability", "ok", found)
    yield _replication(commit, standbys, replicas)


def _replication(commit: str, standbys: str, replicas: int) -> Check:
    found = f"{replicas} standbys connected"
    if standbys and commit in REPLICATED:
        if replicas:
            return Check("replication", "ok", f"{found}; commits wait for {standbys}")
        found += f", and commits wait for {standbys}: they do not end"
        return Check("replication", "broken", found)
    if replicas:
        return Check("replication", "weak", f"{found}; a fail-over may lose the newest commits")
    return Check("replication", "ok", f"{found}: the disk of the server holds the only copy")
