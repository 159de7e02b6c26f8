"""One Redis server that is not part of a cluster, with the settings that a test needs."""

import contextlib
import shutil
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from dovemq.system.ports import free_ports
from dovemq.testing.local_cluster import HOST, PORTS, LocalCluster, ServerMissing, generator

ANSWER_SECONDS_MAX = 2.0


class LoneRedis(LocalCluster):
    """`settings` are those of redis.conf. The port after `ports[0]` is free for TLS."""

    kind = "redis-server"

    def __init__(self, directory: Path, settings: Mapping[str, str]) -> None:
        super().__init__(directory, 1)
        self._settings = settings

    def check(self) -> None:
        if shutil.which("redis-server") is None:
            raise ServerMissing("redis-server", "redis-server")

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.ports[0]}"

    @property
    def tls_address(self) -> str:
        return f"{HOST}:{self.ports[1]}"

    def choose_ports(self, port: int | None) -> Sequence[int]:
        return free_ports(2, PORTS, generator(), beside=[])

    def command(self, node: int) -> Sequence[str]:
        usual = {"bind": HOST, "port": f"{self.ports[0]}", "save": "", "appendonly": "yes"}
        settings = usual | {"tls-port": f"{self.ports[1]}"} | dict(self._settings)
        if "tls-cert-file" not in settings:
            del settings["tls-port"]
        options = (part for name, value in settings.items() for part in (f"--{name}", value))
        return ["redis-server", *options]

    def answers(self, node: int) -> bool:
        """Also a server that wants a password first."""
        with (
            contextlib.suppress(OSError),
            socket.create_connection((HOST, self.ports[0]), ANSWER_SECONDS_MAX) as connection,
        ):
            connection.sendall(b"PING\r\n")
            return connection.recv(1) in (b"+", b"-")
        return False
