"""A diagnosis of a Cassandra cluster for `dovemq doctor`: data and schema stay as they are."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final

from msgspec import Struct

from dovemq.core.checks import Check, clock_check
from dovemq.core.errors import StoreUnreachable
from dovemq.stores.cassandra.location import CassandraLocation
from dovemq.stores.cassandra.records import SCHEMA_KIND, CassandraRecords, shelf_of
from dovemq.stores.cassandra.schema import (
    DOWN_LOOKS,
    LOOK_SECONDS,
    VERSION_NAME,
    load_migrations,
)
from dovemq.stores.cassandra.session import (
    CassandraSession,
    CassandraStatements,
    StatementRefused,
    open_session,
)
from dovemq.stores.inspection import SCHEMA_MISSING, schema_check
from dovemq.stores.owned.logged.ports import Records

OF_RECORDS: Final = frozenset({"get", "all", "put"})
"""The statements that read records, and the one that would write one."""
IMPOSSIBLE_VERSION: Final = -1
"""No record has it, so that a compare-and-set with it is checked and changes nothing."""
_LOOK: Final = "SELECT release_version, toUnixTimestamp(now()) AS now_ms FROM system.local"
_SYNC: Final = "SELECT value FROM system_views.settings WHERE name = 'commitlog_sync'"


class _Node(Struct, frozen=True):
    """A node that answers. `sync` is its commitlog_sync, None if it does not tell."""

    address: str
    datacenter: str
    release: str
    sync: str | None
    clock: Check


class InspectedCassandra:
    """A client of the cluster, for `location.keyspace` if there is one."""

    def __init__(self, location: CassandraLocation, now_ms: Callable[[], int]) -> None:
        self.records: Records | None = None
        self._location, self._now_ms = location, now_ms
        self._session: CassandraSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def checks(self) -> AsyncIterator[Check]:
        session, has_keyspace = await self._opened()
        nodes, silent = await self._nodes(session)
        releases = ", ".join(sorted({node.release for node in nodes}))
        yield Check(f"database {self._location}", "ok", f"Cassandra {releases}")
        yield _nodes_check(nodes, silent)
        copies = await self._copies(session) if has_keyspace else {}
        if has_keyspace:
            yield self._replication(copies, nodes)
        yield _durability(nodes, sum(copies.values()) or self._location.replication)
        for check in await self._schema(session, has_keyspace):
            yield check
        for node in nodes:
            yield node.clock

    async def _opened(self) -> tuple[CassandraSession, bool]:
        """The session, and whether the keyspace is there."""
        try:
            self._session = await open_session(self._location, self._location.keyspace)
        except StatementRefused:
            self._session = await open_session(self._location, None)
            return self._session, False
        return self._session, True

    async def _nodes(self, session: CassandraSession) -> tuple[list[_Node], list[str]]:
        """The nodes that answer, and the addresses of the others."""
        found, silent = [], []
        ring = "SELECT rpc_address, data_center FROM system."
        own = (await session.run(f"{ring}local")).first().as_tuple()
        # The others must come from the same node, which does not list itself.
        peers = await session.run(f"{ring}peers", str(own[0]))
        for address, datacenter in [own, *(row.as_tuple() for row in peers)]:
            node = await self._patiently(session, str(address), str(datacenter))
            if node is None:
                silent.append(str(address))
            else:
                found.append(node)
        return found, silent

    async def _patiently(
        self, session: CassandraSession, address: str, datacenter: str
    ) -> _Node | None:
        """The node, or None. A new session connects to its nodes one after the other."""
        for _ in range(DOWN_LOOKS):
            try:
                return await self._node(session, address, datacenter)
            except StoreUnreachable:
                await asyncio.sleep(LOOK_SECONDS)
        return None

    async def _node(self, session: CassandraSession, address: str, datacenter: str) -> _Node:
        before_ms = self._now_ms()
        told = (await session.run(_LOOK, address)).first()
        clock = clock_check(address, told.now_ms, before_ms, self._now_ms())
        try:
            row = (await session.run(_SYNC, address)).first()
        except StatementRefused:
            row = None
        sync = None if row is None else str(row.value)
        return _Node(address, datacenter, str(told.release_version), sync, clock)

    async def _copies(self, session: CassandraSession) -> dict[str, int]:
        """The number of copies in each datacenter; one name if the strategy knows none."""
        keyspace = self._location.keyspace
        find = "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name ="
        row = (await session.run(f"{find} '{keyspace}'")).first()
        told = {str(name): str(value) for name, value in dict(row.replication).items()}
        return {name: int(value) for name, value in told.items() if value.isdigit()}

    def _replication(self, copies: dict[str, int], nodes: list[_Node]) -> Check:
        written = ", ".join(f"{name}: {count}" for name, count in copies.items())
        level = self._location.consistency
        found = f"copies {written}; consistency={level}"
        count = sum(copies.values())
        if len(nodes) < count // 2 + 1:
            text = f"{found}; {len(nodes)} nodes answer, too few for a majority"
            return Check("replication", "broken", text)
        if count < 3:
            return Check("replication", "weak", f"{found}: the loss of a node stops the service")
        if level == "one":
            text = f"{found}: the loss of a node may lose what it alone had"
            return Check("replication", "weak", text)
        return Check("replication", "ok", found)

    async def _schema(self, session: CassandraSession, has_keyspace: bool) -> list[Check]:
        find = "SELECT table_name FROM system_schema.tables WHERE keyspace_name ="
        tables = await session.run(f"{find} '{self._location.keyspace}'")
        if not has_keyspace or "records" not in {row.table_name for row in tables}:
            found = f"{SCHEMA_MISSING}, as a user that may create tables"
            return [Check("schema", "ok", found)]
        try:
            statements = await session.prepare(OF_RECORDS)
            records = CassandraRecords(session, statements)
            stored = await records.get(SCHEMA_KIND, VERSION_NAME)
            rights = await _writes(session, statements)
        except StatementRefused as error:
            return [Check("rights", "broken", f"{error.found}")]
        self.records = records
        version = int(stored.value) if stored else None
        return [schema_check(version, len(load_migrations())), rights]


async def _writes(session: CassandraSession, statements: CassandraStatements) -> Check:
    """Ask for a compare-and-set that cannot apply, which needs the right and a majority."""
    key = (shelf_of(SCHEMA_KIND, VERSION_NAME), SCHEMA_KIND, VERSION_NAME)
    values = (b"", IMPOSSIBLE_VERSION + 1, *key, IMPOSSIBLE_VERSION)
    if await session.swap(statements.put, values) is None:
        return Check("rights", "broken", "a compare-and-set got no answer: is there a majority?")
    return Check("rights", "ok", "enough to serve: a compare-and-set is answered")


def _nodes_check(nodes: list[_Node], silent: list[str]) -> Check:
    places: dict[str, list[str]] = {}
    for node in nodes:
        places.setdefault(node.datacenter, []).append(node.address)
    up = "; ".join(f"{name}: {', '.join(addresses)}" for name, addresses in places.items())
    if silent:
        return Check("nodes", "weak", f"{up}; no answer: {', '.join(silent)}")
    return Check("nodes", "ok", up)


def _durability(nodes: list[_Node], copies: int) -> Check:
    syncs = sorted({node.sync for node in nodes if node.sync})
    found = f"commitlog_sync is {', '.join(syncs)}" if syncs else "commitlog_sync is not told"
    if not syncs or "periodic" not in syncs:
        return Check("durability", "ok", found)
    if copies < 3:
        found += ": a power cut may lose the last seconds of what was answered"
        return Check("durability", "weak", found)
    found += ": an answered message survives the power cut of a minority of the nodes"
    return Check("durability", "ok", found)
