"""Stores to compare: their database, their front ends, and what both have used so far.

The embedded store is a front end without a database. All processes are on this machine.
"""

import contextlib
import secrets
import tempfile
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.load import Access
from bench.measured import access_of, cpu_seconds
from dovemq.stores.cassandra.location import CassandraLocation, parse_cassandra_url
from dovemq.stores.cassandra.session import open_session
from dovemq.system.ports import free_ports
from dovemq.testing.local_cassandra import LocalCassandra
from dovemq.testing.local_cluster import HOST, PORTS, LocalCluster, generator
from dovemq.testing.local_server import LocalServer
from dovemq.testing.local_stores import LOCAL_STORES

EMBEDDED: Final = "embedded"
SHARED: Final = ("redis", "cassandra", "postgres")
_METRICS_SECONDS_MAX: Final = 30
_LOG_WRITES: Final = (
    "SELECT count FROM system_views.local_write_latency "
    "WHERE keyspace_name = '{}' AND table_name = '{}'"
)


class Used(Struct, frozen=True):
    """Figures since the start of the processes. `store_cpu` is by process, since some may end."""

    front_end_cpu: float
    store_cpu: dict[int, float]
    commits: int
    rows: int | None


class StoreUnderTest:
    """A store with its front ends; `database` is None if it is embedded."""

    def __init__(self, name: str, directory: Path, database: LocalCluster | None) -> None:
        self.name = name
        self.database = database
        self.front_ends: list[LocalServer] = []
        self._directory = directory
        self._ports = free_ports(3, PORTS, generator())

    def add_front_end(self) -> LocalServer:
        arguments: list[str] = []
        if self.database is not None:
            secret = self._directory / "secret"
            if not secret.exists():
                secret.touch(mode=0o600)
                secret.write_text(secrets.token_hex(32))
            address = f"{HOST}:{self._ports[len(self.front_ends)]}"
            arguments = ["--store", self.database.url, "--advertise", address]
            arguments += ["--cluster-secret-file", str(secret), "--leave-seconds", "0"]
        log = self._directory / f"front-end-{len(self.front_ends)}.log"
        server = LocalServer(self._directory / "data", args=arguments, log=log).start()
        self.front_ends.append(server)
        return server

    @property
    def accesses(self) -> list[Access]:
        return [access_of(server) for server in self.front_ends]

    async def used(self) -> Used:
        return Used(
            sum(cpu_seconds(server.pid) for server in self.front_ends),
            self._store_cpu(),
            sum(int(metric(server, "dovemq_commit_items_count")) for server in self.front_ends),
            await self._rows(),
        )

    def _store_cpu(self) -> dict[int, float]:
        if self.database is None:
            return {}
        nodes = range(self.database.nodes)
        found = [each.pid for node in nodes for each in self.database.processes(node)]
        spent: dict[int, float] = {}
        for pid in found:
            # A process of PostgreSQL may have ended since it was listed.
            with contextlib.suppress(OSError):
                spent[pid] = cpu_seconds(pid)
        return spent

    async def _rows(self) -> int | None:
        """Rows of the log that Cassandra has written; each is written by all three nodes."""
        if not isinstance(self.database, LocalCassandra):
            return None
        location = parse_cassandra_url(self.database.url)
        return await cassandra_count(location, _LOG_WRITES, "log") // location.replication

    def close(self) -> None:
        for server in self.front_ends:
            if server.running:
                server.kill()


async def cassandra_count(location: CassandraLocation, statement: str, table: str) -> int:
    """The sum of a count that every node keeps for itself."""
    session = await open_session(location, None)
    try:
        text = statement.format(location.keyspace, table)
        rows = [await session.run(text, host) for host in location.hosts]
        return sum(int(dict(row)["count"]) for found in rows for row in found)
    finally:
        await session.close()


def metric(server: LocalServer, name: str) -> float:
    """The sum of all samples of this name; 0 if there is none yet."""
    key = server.access_key
    login = b64encode(f"{key.key_id}:{key.secret}".encode()).decode()
    request = urllib.request.Request(
        f"{server.admin_url}/metrics", headers={"Authorization": f"Basic {login}"}
    )
    with urllib.request.urlopen(request, timeout=_METRICS_SECONDS_MAX) as answer:
        lines = answer.read().decode().splitlines()
    named = (line for line in lines if line.startswith((f"{name} ", f"{name}{{")))
    return sum(float(line.rpartition(" ")[2]) for line in named)


@contextlib.contextmanager
def store_under_test(name: str) -> Iterator[StoreUnderTest]:
    """A store with its database and one front end. Ends all of it."""
    with contextlib.ExitStack() as ending:
        directory = Path(ending.enter_context(tempfile.TemporaryDirectory()))
        database = None
        if name != EMBEDDED:
            database = ending.enter_context(LOCAL_STORES[name](directory / "database"))
        store = StoreUnderTest(name, directory, database)
        ending.callback(store.close)
        store.add_front_end()
        yield store
