"""A real ElasticMQ server on this machine, in memory, from the jars of Maven's repository.

It speaks the SQS protocol, accepts any credentials, and serves experiments as another system.
"""

import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dovemq.system.ports import free_ports
from dovemq.testing.local_cassandra import find_java
from dovemq.testing.local_cluster import HOST, PORTS, LocalCluster, generator
from dovemq.testing.maven_jars import Dependency, Report, jar_cache, maven_jars

VERSION: Final = "1.7.1"
ANSWER_SECONDS_MAX: Final = 5.0
_SERVER: Final = "org.elasticmq.server.Main"
_SETTINGS: Final = """\
include classpath("application.conf")
node-address {{ protocol = http, host = "{host}", port = {port}, context-path = "" }}
rest-sqs {{ enabled = true, bind-hostname = "{host}", bind-port = {port} }}
rest-stats {{ enabled = false }}
"""


def elasticmq_folder(cache: Path) -> Path:
    """Returns the directory of its jars, which is there once they were fetched."""
    return cache / f"elasticmq-{VERSION}"


def elasticmq_jars(cache: Path, report: Report = lambda _: None) -> list[Path]:
    """Returns the jars of `LocalElasticMq` (60 MB)."""
    server: Dependency = ("org.elasticmq", "elasticmq-server_2.13", VERSION, ())
    return maven_jars(elasticmq_folder(cache), [server], report)


class LocalElasticMq(LocalCluster):
    """One server, which forgets its queues when it ends. `url` is its endpoint."""

    kind = "elasticmq"

    def check(self) -> None:
        find_java()
        elasticmq_jars(jar_cache(), self.report)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.ports[0]}"

    def choose_ports(self, port: int | None) -> Sequence[int]:
        return free_ports(1, PORTS, generator()) if port is None else [port]

    def command(self, node: int) -> Sequence[str]:
        settings = self.node_directory(node) / "elasticmq.conf"
        settings.write_text(_SETTINGS.format(host=HOST, port=self.ports[0]), encoding="utf-8")
        jars = elasticmq_folder(jar_cache()) / "*"
        return [str(find_java()), f"-Dconfig.file={settings}", "-cp", str(jars), _SERVER]

    def answers(self, node: int) -> bool:
        try:
            socket.create_connection((HOST, self.ports[0]), ANSWER_SECONDS_MAX).close()
        except OSError:
            return False
        return True
