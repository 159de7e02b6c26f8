"""Each kind of store runs on this machine, keeps its data, and leaves no process behind."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from dovemq.testing.local_cassandra import ALL, CassandraRefused, LocalCassandra
from dovemq.testing.local_cluster import LocalCluster
from dovemq.testing.local_postgres import LocalPostgres
from dovemq.testing.local_postgres import program as server_program
from dovemq.testing.local_redis import LocalRedisCluster, RedisRefused
from tests.pipeline.test_cluster import processes_in
from tests.real_stores import JARS, checked, new_directory

pytestmark = pytest.mark.timeout(900)
ATTEMPTS_MAX = 1_000


def ask_redis(cluster: Any, *words: str) -> object:
    """Asks the masters in turn, since each refuses keys of another."""
    for node in cluster.masters():
        try:
            return cluster.ask(node, *words)
        except RedisRefused as error:
            if not str(error).startswith("MOVED"):
                raise
    raise AssertionError("no master has the key")


def ask_postgres(cluster: Any, statement: str) -> str:
    command = [server_program("psql"), cluster.url, "-At", "-c", statement]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def write_to_cassandra(cluster: Any) -> None:
    replication = "{'class': 'NetworkTopologyStrategy', 'datacenter1': 3}"
    cluster.ask(0, f"CREATE KEYSPACE kept WITH replication = {replication}")
    cluster.ask(0, "CREATE TABLE kept.notes (id int PRIMARY KEY, note text)")
    insert = "INSERT INTO kept.notes (id, note) VALUES (1, 'before')"
    assert any(is_written(cluster, insert) for _ in range(ATTEMPTS_MAX))


def is_written(cluster: LocalCassandra, insert: str) -> bool:
    """Fails as long as a node does not know of the new table."""
    with contextlib.suppress(CassandraRefused):
        cluster.ask(0, insert, ALL)
        return True
    return False


class Kind(NamedTuple):
    make: Callable[[Path], LocalCluster]
    write: Callable[[Any], object]
    read: Callable[[Any], object]
    options: tuple[str, ...] = ()


KINDS = {
    "redis": Kind(
        LocalRedisCluster,
        lambda cluster: ask_redis(cluster, "SET", "note", "before"),
        lambda cluster: ask_redis(cluster, "GET", "note"),
    ),
    "postgres": Kind(
        LocalPostgres,
        lambda cluster: ask_postgres(cluster, "CREATE TABLE notes AS SELECT 'before' AS note"),
        lambda cluster: ask_postgres(cluster, "SELECT note FROM notes"),
    ),
    "cassandra": Kind(
        lambda directory: LocalCassandra(directory, jars=JARS),
        write_to_cassandra,
        lambda cluster: cluster.ask(1, "SELECT note FROM kept.notes WHERE id = 1", ALL),
        ("--jars", str(JARS)),
    ),
}


def dev(kind: str, action: str, directory: Path, *options: str) -> str:
    command = [sys.executable, "-m", "dovemq", "dev", kind, action, "--data", str(directory)]
    ran = subprocess.run([*command, *options], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("name", KINDS)
def test_data_outlives_a_killed_node_and_a_new_start_by_the_command_line(
    name: str,
) -> None:
    kind, directory = KINDS[name], new_directory(name)
    cluster = checked(kind.make(directory))
    with cluster:
        url = cluster.url
        kind.write(cluster)
        node = cluster.nodes // 2
        cluster.kill(node)
        assert node not in cluster.running
        cluster.restart(node)
        assert cluster.running == list(range(cluster.nodes))
        assert "before" in str(kind.read(cluster))
    assert not processes_in(directory)
    announced = msgspec.json.decode(
        dev(name, "up", directory, "--detach", "--json", *kind.options), type=dict[str, Any]
    )
    assert announced["url"] == url
    assert dev(name, "url", directory) == f"{url}\n"
    assert "before" in str(kind.read(kind.make(directory)))
    assert "ended" in dev(name, "down", directory)
    assert not processes_in(directory)
    assert "not running" in dev(name, "down", directory)


@pytest.mark.parametrize("name", ["redis", "postgres"])
def test_store_in_the_foreground_ends_with_its_command(name: str, tmp_path: Path) -> None:
    checked(KINDS[name].make(tmp_path))
    command = [sys.executable, "-m", "dovemq", "dev", name, "up", "--json"]
    with subprocess.Popen([*command, "--data", tmp_path], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        announced = msgspec.json.decode(process.stdout.readline())
        assert dev(name, "url", tmp_path) == f"{announced['url']}\n"
        assert len(processes_in(tmp_path)) >= len(announced["pids"])
        process.send_signal(signal.SIGTERM)
        assert process.wait(300) == 0
    assert not processes_in(tmp_path)


def test_command_in_the_foreground_ends_when_another_one_ends_its_store(tmp_path: Path) -> None:
    checked(LocalPostgres(tmp_path))
    command = [sys.executable, "-m", "dovemq", "dev", "postgres", "up"]
    with subprocess.Popen([*command, "--data", tmp_path], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"url")
        dev("postgres", "down", tmp_path)
        assert process.wait(300) == 0
