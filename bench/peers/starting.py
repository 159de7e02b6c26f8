"""Starts the server of each contestant on loopback, in a directory of its own.

Settings are the server's defaults, except for its address, its directory and a quiet log.
"""

import shutil
import sys
from pathlib import Path
from typing import Final

from bench.peers.processes import (
    LOOPBACK,
    Access,
    Command,
    NotStarted,
    Running,
    free_port,
    launch,
    spawn,
    unprivileged,
)
from dovemq.testing.local_server import LocalServer

POSTGRES_PROGRAMS: Final = Path("/usr/lib/postgresql/15/bin")
RABBITMQ_PROGRAM: Final = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")


class OwnServer(Running):
    """DoveMQ, which announces its port and makes its key by itself."""

    def __init__(self, server: LocalServer) -> None:
        key = server.access_key
        self.pid = server.pid
        self.address = server.endpoint_url.rpartition("/")[2]
        self.access = Access(key.key_id, key.secret, server.region)
        self._server = server

    def stop(self) -> None:
        self.thaw()
        self._server.stop()


def dovemq(_: Path, directory: Path) -> Running:
    return OwnServer(LocalServer(directory / "data").start())


def elasticmq_memory(cache: Path, directory: Path) -> Running:
    return _elasticmq(cache, directory, "")


def elasticmq_h2(cache: Path, directory: Path) -> Running:
    return _elasticmq(cache, directory, _H2.format(directory=directory))


def _elasticmq(cache: Path, directory: Path, storage: str) -> Running:
    port = free_port()
    settings = directory / "elasticmq.conf"
    settings.write_text(_ELASTICMQ.format(host=LOOPBACK, port=port) + storage)
    jars = cache / "elasticmq" / "jars"
    command = ["java", f"-Dconfig.file={settings}", "-cp", f"{jars}/*", "org.elasticmq.server.Main"]
    return launch(command, port, directory)


_ELASTICMQ: Final = """
include classpath("application.conf")
node-address {{ protocol = http, host = "{host}", port = {port}, context-path = "" }}
rest-sqs {{ enabled = true, bind-hostname = "{host}", bind-port = {port} }}
rest-stats {{ enabled = false }}
"""
_H2: Final = """
messages-storage {{ enabled = true, uri = "jdbc:h2:{directory}/messages" }}
"""


def moto(_: Path, directory: Path) -> Running:
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", LOOPBACK, "-p", str(port)]
    return launch(command, port, directory)


def ministack(cache: Path, directory: Path) -> Running:
    port = free_port()
    env = {
        "BIND_HOST": LOOPBACK,
        "GATEWAY_PORT": str(port),
        "LOG_LEVEL": "ERROR",
        "TMPDIR": str(directory),
    }
    return launch([cache / "ministack" / "bin" / "ministack"], port, directory, env=env)


def fauxqs(cache: Path, directory: Path) -> Running:
    port = free_port()
    app = cache / "fauxqs/node_modules/fauxqs/dist/app.js"
    serve = Path(__file__).with_name("fauxqs.mjs")
    return launch(["node", serve, app, str(port)], port, directory)


def nats(_: Path, directory: Path) -> Running:
    port = free_port()
    command: Command = ["nats-server", "-js", "-sd", directory, "-a", LOOPBACK, "-p", str(port)]
    return launch(command, port, directory)


def redis(_: Path, directory: Path) -> Running:
    port = free_port()
    options = {
        "bind": LOOPBACK,
        "port": str(port),
        "dir": str(directory),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
    }
    flags = [text for name, value in options.items() for text in (f"--{name}", value)]
    return launch(["redis-server", *flags], port, directory)


def rabbitmq(_: Path, directory: Path) -> Running:
    """It has its own port mapper, which would otherwise be left behind."""
    user = unprivileged("rabbitmq")
    _give(directory, user)
    port, mapper_port = free_port(), free_port()
    (directory / "plugins").write_text("[].\n")
    env = {
        "ERL_EPMD_ADDRESS": LOOPBACK,
        "ERL_EPMD_PORT": str(mapper_port),
        "HOME": str(directory),
        "RABBITMQ_DIST_PORT": str(free_port()),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(directory / "plugins"),
        "RABBITMQ_LOG_BASE": str(directory),
        "RABBITMQ_MNESIA_BASE": str(directory),
        "RABBITMQ_NODENAME": "bench@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": LOOPBACK,
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
    }
    mapper = spawn(["epmd"], directory, env=env, user=user)
    return launch([RABBITMQ_PROGRAM], port, directory, env=env, user=user, also=[mapper])


def postgres(_: Path, directory: Path) -> Running:
    user = unprivileged("postgres")
    _give(directory, user)
    data, port = directory / "data", free_port()
    initdb: Command = [
        POSTGRES_PROGRAMS / "initdb",
        "-D",
        data,
        "-A",
        "trust",
        "-U",
        "bench",
        "-E",
        "UTF8",
    ]
    made = spawn(initdb, directory, user=user)
    if made.wait() != 0:
        raise NotStarted((directory / "log").read_text())
    server = POSTGRES_PROGRAMS / "postgres"
    command: Command = [server, "-D", data, "-p", str(port), "-h", LOOPBACK, "-k", directory]
    return launch(command, port, directory, user=user)


def _give(directory: Path, user: str | None) -> None:
    if user:
        shutil.chown(directory, user)
