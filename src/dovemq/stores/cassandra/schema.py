"""The keyspace, its tables, and the version of both.

Step n is the file `migrations/000n_*.cql` and leads from version n - 1 to n. Nothing is changed if
the version is the newest, so a front end may run as a user that cannot create tables.

Two nodes that create the same table at the same time give it different ids and then disagree, so
all front ends ask the same node: the one with the lowest address that answers. A node does one
change of the schema after the other. It also says when all others have followed, but its word comes
a little after the change itself, so whoever finds a new table may still meet a node that does not
know it, and tries again. The version is noted when all nodes have followed.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from importlib import resources
from typing import Any, Final, TypeVar

from msgspec import Struct

from dovemq.core.errors import StoreUnreachable, StoreUnusable
from dovemq.stores.cassandra.records import SCHEMA_KIND, CassandraRecords
from dovemq.stores.cassandra.session import CassandraSession, StatementRefused

LOOKS_MAX: Final = 50
LOOK_SECONDS: Final = 0.2
"""The time between two looks at a schema that is not yet known to all nodes."""
DOWN_LOOKS: Final = 5
"""A node that has not answered so often is down."""
OF_VERSIONS: Final = frozenset({"get", "put"})
"""The statements that read and write the version of the schema."""
_OPTIONAL: Final = "-- optional"
VERSION_NAME: Final = "version"
"""The name of the record that holds the version."""
_RING: Final = "SELECT rpc_address, data_center, schema_version FROM"

Known = TypeVar("Known")

_log = logging.getLogger(__name__)


class RingNode(Struct, frozen=True):
    address: str
    datacenter: str
    schema_version: str


class SchemaNode:
    """The node that all front ends ask about the schema and for its changes."""

    def __init__(self, session: CassandraSession, address: str) -> None:
        self.session = session
        self._address = address

    async def run(self, cql: str) -> list[tuple[Any, ...]]:
        return [row.as_tuple() for row in await self.session.run(cql, self._address)]

    async def ring(self) -> list[RingNode]:
        """All nodes of the cluster, this one first."""
        rows = await self.run(f"{_RING} system.local") + await self.run(f"{_RING} system.peers")
        return [RingNode(*map(str, row)) for row in rows]

    async def await_agreement(self) -> None:
        """Wait until all nodes that answer have the same schema, for two looks in a row.

        A node may not answer yet since the session is new; after a few looks it counts as down.
        """
        addresses = [node.address for node in await self.ring()]
        in_a_row = 0
        for look in range(LOOKS_MAX):
            versions = [await self._version_of(address) for address in addresses]
            agree = len({*versions} - {None}) == 1
            in_a_row = in_a_row + 1 if agree and (None not in versions or look > DOWN_LOOKS) else 0
            if in_a_row == 2:
                return
            await asyncio.sleep(LOOK_SECONDS)
        _log.warning("%s: the nodes do not agree on the schema", self.session.name)

    async def _version_of(self, address: str) -> str | None:
        try:
            rows = await self.session.run("SELECT schema_version FROM system.local", address)
        except StoreUnreachable:
            return None
        return str(rows.first().schema_version)

    async def apply(self, step: str) -> None:
        for part in step.split(";"):
            lines = part.strip().splitlines()
            cql = " ".join(line for line in lines if not line.startswith("--"))
            try:
                if cql:
                    await self.run(cql)
            except StatementRefused as error:
                if _OPTIONAL not in lines:
                    remedy = "let the user of the store create tables"
                    found = f"a table cannot be created ({error})"
                    raise StoreUnusable(self.session.name, found, remedy) from None
                _log.info("%s: left as it is: %s", self.session.name, error)


async def find_schema_node(session: CassandraSession) -> SchemaNode:
    own = (await session.run(f"{_RING} system.local")).first().as_tuple()
    # The others must come from the same node, which does not list itself.
    ring = await SchemaNode(session, str(own[0])).ring()
    addresses = sorted(node.address for node in ring)
    for address in addresses:
        if await _answers(node := SchemaNode(session, address)):
            return node
    raise StoreUnreachable(session.name, f"none of {', '.join(addresses)} answers")


async def _answers(node: SchemaNode) -> bool:
    """Whether the node can be asked. A new session connects to its nodes one after the other."""
    for _ in range(DOWN_LOOKS):
        try:
            await node.ring()
        except StoreUnreachable as error:
            _log.info("%s: the schema cannot be asked for yet: %s", node.session.name, error)
            await asyncio.sleep(LOOK_SECONDS)
        else:
            return True
    return False


async def create_keyspace(session: CassandraSession) -> None:
    """Create the keyspace if it is missing; warn if its datacenter has too few nodes for it."""
    node = await find_schema_node(session)
    keyspaces = await node.run("SELECT keyspace_name FROM system_schema.keyspaces")
    if (session.location.keyspace,) not in keyspaces:
        datacenter = _datacenter(session, await node.ring())
        copies = {"class": "NetworkTopologyStrategy", datacenter: session.location.replication}
        keyspace = session.location.keyspace
        try:
            await node.run(f"CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = {copies}")
        except StatementRefused as error:
            remedy = f"let the user of the store create it, or create it: {keyspace}"
            found = f"the keyspace cannot be created ({error})"
            raise StoreUnusable(session.name, found, remedy) from None
        await node.await_agreement()


async def create_tables(session: CassandraSession) -> int:
    """Create the tables if there are none yet; returns the version that they have then, or 0."""
    keyspace = session.location.keyspace
    find = f"SELECT table_name FROM system_schema.tables WHERE keyspace_name = '{keyspace}'"
    if "records" in {row.table_name for row in await session.run(find)}:
        return 0
    node = await find_schema_node(session)
    steps = load_migrations()
    for step in steps:
        await node.apply(step)
    await node.await_agreement()
    return len(steps)


async def bring_up_to_date(session: CassandraSession, records: CassandraRecords, done: int) -> None:
    """Do the steps that are missing, and note the new version; refuse that of a newer release.

    `done` is the version up to which this process has done the steps already.
    """
    steps = load_migrations()
    for _ in range(len(steps) + 1):
        stored = await records.get(SCHEMA_KIND, VERSION_NAME)
        version = int(stored.value) if stored else 0
        if version > len(steps):
            raise StoreUnusable(
                session.name,
                f"the schema has version {version}, this release knows {len(steps)}",
                "use the release that wrote it, or a newer one",
            )
        if version == len(steps):
            return
        if version >= done:
            node = await find_schema_node(session)
            await node.apply(steps[version])
            await node.await_agreement()
            done = version + 1
        await records.put(
            SCHEMA_KIND, VERSION_NAME, f"{done}".encode(), stored.version if stored else 0
        )
    raise StoreUnreachable(session.name, "other front ends change the schema")


async def patiently(call: Callable[[], Awaitable[Known]]) -> Known:
    """Call again while a node does not know the keyspace or a table, for a while."""
    for _ in range(LOOKS_MAX):
        with contextlib.suppress(StatementRefused):
            return await call()
        await asyncio.sleep(LOOK_SECONDS)
    return await call()


def load_migrations() -> list[str]:
    files = resources.files(__package__).joinpath("migrations").iterdir()
    return [file.read_text("utf-8") for file in sorted(files, key=lambda file: file.name)]


def _datacenter(session: CassandraSession, ring: list[RingNode]) -> str:
    """The datacenter for the copies. A session exists only if it has a node there."""
    name, copies = session.location.datacenter or ring[0].datacenter, session.location.replication
    nodes = sum(node.datacenter == name for node in ring)
    if nodes < copies:
        text = "%s: replication=%d, but datacenter %s has %d node(s); sends fail without a majority"
        _log.warning(text, session.name, copies, name, nodes)
    return name
