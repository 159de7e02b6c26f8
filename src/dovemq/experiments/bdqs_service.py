"""The real service of the figures of bdqs: a Cassandra cluster and front ends, on this machine.

Every server of the paper runs Cassandra and a front end. A server here is a node and a front end,
each a process of its own; with a limit, both get their share of a core once they have started.
"""

import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from dovemq.experiments.figure import Effort
from dovemq.experiments.service_runs import RAM_DISK
from dovemq.load.costs import tree_cpu_seconds
from dovemq.load.plan import Endpoint
from dovemq.testing.cpu_quota import CpuQuota
from dovemq.testing.local_cassandra import LocalCassandra
from dovemq.testing.local_cluster import ServerMissing
from dovemq.testing.local_elasticmq import LocalElasticMq
from dovemq.testing.local_front_ends import LocalFrontEnds
from dovemq.testing.maven_jars import JarsMissing

SERVERS_PAPER: Final = 50
SPACE_BYTES_MIN: Final = 4 << 30
"""Free memory of the file system that holds the nodes' files."""


class BdqsServers:
    """Servers with the numbers 0, 1, …; they store messages with one consistency."""

    def __init__(self, database: LocalCassandra, front_ends: LocalFrontEnds) -> None:
        self.database = database
        self.front_ends = front_ends

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        return tuple(map(Endpoint, self.front_ends.urls))

    @property
    def count(self) -> int:
        return len(self.front_ends.servers)

    def front_end_cpu_s(self) -> float:
        return sum(self.front_ends.cpu_seconds())

    def database_cpu_s(self) -> float:
        return sum(map(tree_cpu_seconds, self.database.pids.values()))

    def kill_front_end(self, number: int) -> None:
        if self.front_ends.servers[number].running:
            self.front_ends.servers[number].kill()

    def start_node(self, number: int) -> None:
        """Starts the node again if it does not run; returns when it serves."""
        if number not in self.database.running:
            self.database.restart(number)

    def start_front_end(self, number: int) -> None:
        if not self.front_ends.servers[number].running:
            self.front_ends.restart(number)


@contextlib.contextmanager
def bdqs_database(nodes: int) -> Iterator[LocalCassandra]:
    place = RAM_DISK if _has_room(RAM_DISK) else None
    with contextlib.ExitStack() as ending:
        folder = tempfile.TemporaryDirectory(
            prefix="dovemq-bdqs-", dir=place, ignore_cleanup_errors=True
        )
        directory = Path(ending.enter_context(folder))
        yield ending.enter_context(LocalCassandra(directory / "cassandra", nodes))


@contextlib.contextmanager
def bdqs_servers(
    database: LocalCassandra, consistency: str, count: int | None = None
) -> Iterator[BdqsServers]:
    """Front ends on a keyspace of their own, one for each node unless `count` says otherwise."""
    number = count or database.nodes
    url = f"{database.url_of(f'{consistency}_{number}')}&consistency={consistency}"
    folder = database.directory.parent / f"front-ends-{consistency}-{number}"
    with LocalFrontEnds(folder, url, number, number) as front_ends:
        yield BdqsServers(database, front_ends)


@contextlib.contextmanager
def plain_queues(effort: Effort) -> Iterator[Sequence[Endpoint]]:
    """An ElasticMQ server; nothing if it cannot be had."""
    with contextlib.ExitStack() as ending:
        folder = tempfile.TemporaryDirectory(prefix="dovemq-bdqs-", ignore_cleanup_errors=True)
        server = LocalElasticMq(Path(ending.enter_context(folder)) / "elasticmq")
        try:
            server.check()
        except (JarsMissing, ServerMissing) as error:
            effort.tell(f"ElasticMQ is left out: {error}")
            yield ()
            return
        yield (Endpoint(ending.enter_context(server).url),)


@contextlib.contextmanager
def limited(servers: BdqsServers, share: float | None) -> Iterator[str]:
    """Gives each server so much of a core: its node and its front end together. Yields a text."""
    if share is None:
        yield "no limit"
        return
    with contextlib.ExitStack() as ending:
        text = ""
        for number, pid in servers.database.pids.items():
            quota = CpuQuota(share)
            ending.callback(quota.stop)
            quota.start()
            quota.add(pid)
            if number < servers.count:
                quota.add(servers.front_ends.servers[number].pid)
            text = quota.text
        yield text


def _has_room(place: Path) -> bool:
    if not os.access(place, os.W_OK):
        return False
    free = os.statvfs(place)
    return free.f_bavail * free.f_frsize >= SPACE_BYTES_MIN
