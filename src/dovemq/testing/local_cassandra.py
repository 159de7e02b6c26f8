"""A real Cassandra cluster on this machine, from the jars of Maven's repository.

Node i listens on 127.0.0.(i+1); all nodes have the same ports, as drivers expect. Settings are in
the folder `cassandra` beside this module. Everybody on this machine can use it.
"""

import contextlib
import os
import shutil
import socket
import struct
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from string import Template
from typing import Final

from dovemq.pipeline.errors import JavaUnfit
from dovemq.pipeline.session import java_version
from dovemq.system.ports import Endpoint, free_ports
from dovemq.testing.local_cluster import PORTS, LocalCluster, ServerMissing, generator
from dovemq.testing.maven_jars import Dependency, Report, jar_cache, maven_jars

VERSION: Final = "5.0.9"
NATIVE_PORT: Final = 9042
NODES_MAX: Final = 3
JAVA_VERSIONS: Final = (17, 11)
"""Versions that Cassandra runs on, the best first."""
ANSWER_SECONDS_MAX: Final = 12.0
_JAVA_PLACES: Final = Path("/usr/lib/jvm")
_SETTINGS: Final = ("cassandra.yaml", "java.options", "logback.xml")
_DAEMON: Final = "org.apache.cassandra.service.CassandraDaemon"
_TOKENS: Final = 1 << 64

ONE: Final = 1
QUORUM: Final = 4
ALL: Final = 5
"""Consistencies of the native protocol."""
_PROTOCOL: Final = 4
_HEAD: Final = struct.Struct(">BBhBi")
_ERROR, _STARTUP, _OPTIONS, _SUPPORTED, _QUERY = 0, 1, 5, 6, 7
_STARTUP_BODY: Final = b"\0\1\0\x0bCQL_VERSION\0\x053.0.0"
_PROBE: Final = (
    "SELECT coordinator FROM system_distributed.repair_history "
    "WHERE keyspace_name = 'dovemq' AND columnfamily_name = 'none'"
)
"""A read of a keyspace that has a copy on every node."""


class CassandraRefused(RuntimeError):
    """A node answered a request with an error."""


def cassandra_jars(cache: Path, report: Report = lambda _: None) -> list[Path]:
    """Returns the jars of `LocalCassandra` (67 MB)."""
    server: Dependency = ("org.apache.cassandra", "cassandra-all", VERSION, ())
    return maven_jars(cache / f"cassandra-{VERSION}", [server], report)


class LocalCassandra(LocalCluster):
    """One to three nodes. A node takes about 350 MB beside its heap.

    `jars` is the directory in which fetched jars are kept.
    """

    kind = "cassandra"
    nodes_default = NODES_MAX

    def __init__(
        self,
        directory: Path,
        nodes: int | None = None,
        port: int | None = None,
        *,
        jars: Path | None = None,
        heap: str = "512M",
    ) -> None:
        super().__init__(directory, nodes, port)
        assert 1 <= self.nodes <= NODES_MAX, "a cluster has one to three nodes"
        self._jars = (jars or jar_cache()).absolute()
        self._heap = heap

    def check(self) -> None:
        find_java()
        cassandra_jars(self._jars, self.report)

    @property
    def url(self) -> str:
        return self.url_of("dovemq")

    def url_of(self, keyspace: str) -> str:
        """Returns the URL of a store in another keyspace; keyspaces share nothing."""
        native = self.ports[0]
        port = "" if native == NATIVE_PORT else f":{native}"
        hosts = ",".join(f"{address}{port}" for address in self.addresses)
        return f"cassandra://{hosts}/{keyspace}?replication={self.nodes}"

    @property
    def addresses(self) -> list[str]:
        return [f"127.0.0.{node + 1}" for node in range(self.nodes)]

    def choose_ports(self, port: int | None) -> Sequence[int]:
        """Returns the port for clients and the port that nodes use among themselves."""
        if port is None:
            return free_ports(2, PORTS, generator(), hosts=self.addresses)
        return [port, *free_ports(1, PORTS, generator(), hosts=self.addresses)]

    def endpoints(self) -> list[Endpoint]:
        return [(address, port) for address in self.addresses for port in self.ports]

    def command(self, node: int) -> Sequence[str]:
        place = self.node_directory(node)
        for name in ("conf", "tmp"):
            (place / name).mkdir(exist_ok=True)
        self._write_settings(node)
        options = {
            "java.io.tmpdir": place / "tmp",
            "jna.tmpdir": place / "tmp",
            "logback.configurationFile": (place / "conf" / "logback.xml").as_uri(),
            "cassandra.config": (place / "conf" / "cassandra.yaml").as_uri(),
            "cassandra.storagedir": place,
            "cassandra.logdir": place,
            "cassandra.triggers_dir": place / "triggers",
            "cassandra.system_distributed.default_rf": self.nodes,
        }
        jars = cassandra_jars(self._jars)
        agent = next(jar for jar in jars if jar.name.startswith("jamm-"))
        return [
            str(find_java()),
            f"@{place / 'conf' / 'java.options'}",
            *(f"-Xms{self._heap}", f"-Xmx{self._heap}", f"-javaagent:{agent}"),
            *(f"-D{name}={value}" for name, value in options.items()),
            *("-cp", os.pathsep.join(map(str, jars)), _DAEMON),
        ]

    def _write_settings(self, node: int) -> None:
        native, storage = self.ports
        share = _TOKENS // self.nodes
        filled = {
            "address": self.addresses[node],
            "directory": self.node_directory(node),
            "native_port": native,
            "storage_port": storage,
            "seeds": ",".join(self.addresses),
            # The least token itself is not allowed.
            "token": -_TOKENS // 2 + share * node + (node == 0),
        }
        for name in _SETTINGS:
            text = resources.files(__package__).joinpath("cassandra", name).read_text("utf-8")
            text = Template(text).substitute(filled) if name.endswith(".yaml") else text
            (self.node_directory(node) / "conf" / name).write_text(text, encoding="utf-8")

    def answers(self, node: int) -> bool:
        with contextlib.suppress(OSError, CassandraRefused), self._connected(node) as connection:
            return _asked(connection, _OPTIONS, b"")[0] == _SUPPORTED
        return False

    def settled(self) -> bool:
        """Returns whether every running node reads from all nodes, or from those that must run."""
        running = self.running
        consistency = QUORUM if len(running) > self.nodes // 2 else ONE
        if len(running) == self.nodes:
            consistency = ALL
        with contextlib.suppress(OSError, CassandraRefused):
            for node in running:
                self.ask(node, _PROBE, consistency)
            return True
        return False

    def ask(self, node: int, statement: str, consistency: int = QUORUM) -> bytes:
        """Runs a statement on a connection of its own and returns the body of the result."""
        text = statement.encode()
        query = struct.pack(">i", len(text)) + text + struct.pack(">HB", consistency, 0)
        with self._connected(node) as connection:
            _asked(connection, _STARTUP, _STARTUP_BODY)
            return _asked(connection, _QUERY, query)[1]

    def _connected(self, node: int) -> socket.socket:
        address = (self.addresses[node], self.ports[0])
        return socket.create_connection(address, ANSWER_SECONDS_MAX)


def _asked(connection: socket.socket, opcode: int, body: bytes) -> tuple[int, bytes]:
    """Sends one frame of the native protocol and returns the kind and the body of the answer."""
    connection.sendall(_HEAD.pack(_PROTOCOL, 0, 0, opcode, len(body)) + body)
    with connection.makefile("rb") as stream:
        head = stream.read(_HEAD.size)
        if len(head) < _HEAD.size:
            raise ConnectionError("the node closed the connection")
        kind, length = _HEAD.unpack(head)[3:]
        answer = stream.read(length)
    if kind == _ERROR:
        # A code of four bytes and a length of two come before the text.
        raise CassandraRefused(answer[6:].decode(errors="replace"))
    return int(kind), answer


def find_java(places: Path = _JAVA_PLACES) -> Path:
    """Returns a Java for Cassandra: of JAVA_HOME, of the path, or any installed in `places`."""
    home, first = os.environ.get("JAVA_HOME"), shutil.which("java")
    named = [f"{home}/bin/java" if home else None, first]
    candidates = [*map(Path, filter(None, named)), *sorted(places.glob("*/bin/java"))]
    found: dict[int, Path] = {}
    for program in candidates:
        with contextlib.suppress(JavaUnfit):
            found.setdefault(java_version(program), program)
        if JAVA_VERSIONS[0] in found:
            break
    for version in JAVA_VERSIONS:
        if version in found:
            return found[version].resolve()
    raise ServerMissing("Java 17 or 11, which Cassandra needs,", "openjdk-17-jre-headless")
