"""A real Redis Cluster on this machine: three masters, each with a replica.

Runs Debian's `redis-server`, or `valkey-server` if that is installed.
"""

import contextlib
import shutil
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final, TypeAlias

from dovemq.system.ports import Endpoint, free_ports
from dovemq.testing.local_cluster import HOST, PORTS, LocalCluster, ServerMissing, generator

SLOTS: Final = 16_384
MASTERS: Final = 3
BUS: Final = 10_000
"""The distance from a node's port to the port on which nodes talk to each other."""
NODE_TIMEOUT_MS: Final = 2_000
ANSWER_SECONDS_MAX: Final = 2.0
_PROGRAMS: Final = ("redis-server", "valkey-server")
_FIELDS_BEFORE_SLOTS: Final = 8
"""Fields of a line of CLUSTER NODES."""

Reply: TypeAlias = "str | int | list[Reply] | None"


class RedisRefused(RuntimeError):
    """A node answered a command with an error."""


class LocalRedisCluster(LocalCluster):
    """Six nodes; at first 0, 1, 2 are masters and 3, 4, 5 their replicas.

    `appendfsync` is when a node syncs its file: always, everysec or no. `maxmemory` such as `8mb`
    makes a node refuse writes beyond it.
    """

    kind = "redis"
    nodes_default = 2 * MASTERS

    def __init__(
        self,
        directory: Path,
        port: int | None = None,
        *,
        appendfsync: str = "everysec",
        maxmemory: str | None = None,
    ) -> None:
        super().__init__(directory, 2 * MASTERS, port)
        self._appendfsync = appendfsync
        self._maxmemory = maxmemory

    def check(self) -> None:
        self._program()

    @property
    def url(self) -> str:
        return "redis://" + ",".join(f"{HOST}:{port}" for port in self.ports[:MASTERS])

    def choose_ports(self, port: int | None) -> Sequence[int]:
        if port is not None:
            return range(port, port + self.nodes)
        return free_ports(self.nodes, PORTS, generator(), beside=[BUS])

    def endpoints(self) -> list[Endpoint]:
        return [(HOST, port + distance) for port in self.ports for distance in (0, BUS)]

    def command(self, node: int) -> Sequence[str]:
        settings = {
            "bind": HOST,
            "port": str(self.ports[node]),
            "dir": str(self.node_directory(node)),
            "cluster-enabled": "yes",
            "cluster-config-file": "nodes.conf",
            "cluster-node-timeout": str(NODE_TIMEOUT_MS),
            "appendonly": "yes",
            "appendfsync": self._appendfsync,
            "save": "",
            # A replica that was never synced cannot be promoted, so its first sync must not wait.
            "repl-diskless-sync-delay": "0",
            "maxmemory": self._maxmemory or "0",
            "maxmemory-policy": "noeviction",
        }
        options = (part for name, value in settings.items() for part in (f"--{name}", value))
        return [self._program(), *options]

    def answers(self, node: int) -> bool:
        with contextlib.suppress(OSError, RedisRefused):
            return self.ask(node, "PING") == "PONG"
        return False

    def form(self) -> None:
        """Joins new nodes; those that know all others are left as they are."""
        nodes = range(self.nodes)
        if all(self._knows_all(node) and self._slots_led(node) == SLOTS for node in nodes):
            return
        for node in nodes:
            self.ask(node, "CLUSTER", "RESET", "HARD")
            self.ask(node, "CLUSTER", "SET-CONFIG-EPOCH", str(node + 1))
        for node in range(MASTERS):
            first, last = node * SLOTS // MASTERS, (node + 1) * SLOTS // MASTERS
            self.ask(node, "CLUSTER", "ADDSLOTS", *map(str, range(first, last)))
        for node in nodes[1:]:
            self.ask(0, "CLUSTER", "MEET", HOST, str(self.ports[node]))
        self._await(lambda: all(map(self._knows_all, nodes)), nodes, "the nodes have met")
        for node in nodes[MASTERS:]:
            master = str(self.ask(node - MASTERS, "CLUSTER", "MYID"))
            self.ask(node, "CLUSTER", "REPLICATE", master)

    def settled(self) -> bool:
        """Returns whether all slots are served, and every replica has its master's data."""
        with contextlib.suppress(OSError, RedisRefused):
            return all(map(self._is_settled, self.running))
        return False

    def masters(self) -> dict[int, list[range]]:
        """Returns the slots of each node that leads some, by the newest view of the nodes."""
        views: list[tuple[int, str]] = []
        for node in set(range(self.nodes)) - self._paused:
            with contextlib.suppress(OSError, RedisRefused):
                epoch = self._figures(node, "CLUSTER", "INFO")["cluster_current_epoch"]
                views.append((int(epoch), str(self.ask(node, "CLUSTER", "NODES"))))
        if not views:
            raise ConnectionError(f"no node of {self.url} answers")
        led: dict[int, list[range]] = {}
        for line in max(views)[1].splitlines():
            _, address, flags, *_ = fields = line.split()
            if "master" in flags and "fail" not in flags and len(fields) > _FIELDS_BEFORE_SLOTS:
                port = int(address.partition("@")[0].rpartition(":")[2])
                led[self.ports.index(port)] = [
                    _slots(text) for text in fields[_FIELDS_BEFORE_SLOTS:] if text[0] != "["
                ]
        return dict(sorted(led.items()))

    def ask(self, node: int, *words: str) -> Reply:
        """Sends one command to a node on a connection of its own, and returns the answer."""
        address = (HOST, self.ports[node])
        with socket.create_connection(address, ANSWER_SECONDS_MAX) as connection:
            encoded = "".join(f"${len(word.encode())}\r\n{word}\r\n" for word in words)
            connection.sendall(f"*{len(words)}\r\n{encoded}".encode())
            with connection.makefile("rb") as stream:
                return _reply(stream)

    def _knows_all(self, node: int) -> bool:
        return self._figures(node, "CLUSTER", "INFO")["cluster_known_nodes"] == str(self.nodes)

    def _slots_led(self, node: int) -> int:
        return int(self._figures(node, "CLUSTER", "INFO")["cluster_slots_assigned"])

    def _is_settled(self, node: int) -> bool:
        view = str(self.ask(node, "CLUSTER", "NODES")).splitlines()
        replicas = [line for line in view if "slave" in line and "fail" not in line]
        return (
            self._figures(node, "CLUSTER", "INFO")["cluster_state"] == "ok"
            and self._figures(node, "INFO", "replication").get("master_link_status", "up") == "up"
            and (len(self.running) < self.nodes or len(replicas) == self.nodes - MASTERS)
        )

    def _figures(self, node: int, *words: str) -> dict[str, str]:
        """Returns an answer of lines `name:value`."""
        lines = str(self.ask(node, *words)).splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    @staticmethod
    def _program() -> str:
        for name in _PROGRAMS:
            if (found := shutil.which(name)) is not None:
                return found
        raise ServerMissing(_PROGRAMS[0], "redis-server")


def _slots(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def _reply(stream: IO[bytes]) -> Reply:
    line = stream.readline()
    if not line:
        raise ConnectionError("the node closed the connection")
    kind, text = chr(line[0]), line[1:-2].decode()
    match kind:
        case "+":
            return text
        case "-":
            raise RedisRefused(text)
        case ":":
            return int(text)
        case "$":
            return None if text == "-1" else stream.read(int(text) + 2)[:-2].decode()
        case _:
            return [_reply(stream) for _ in range(int(text))]
