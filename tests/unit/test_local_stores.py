"""The settings of local stores: addresses, ports, URLs and the programs that run them."""

import os
import random
import socket
from pathlib import Path

import pytest

from dovemq.system.ports import HeldPorts, PortsTaken, free_ports
from dovemq.testing.cluster_record import ClusterRecord, ClusterUnfit, write_record
from dovemq.testing.local_cassandra import VERSION, LocalCassandra, find_java
from dovemq.testing.local_cluster import ServerMissing
from dovemq.testing.local_postgres import LocalPostgres
from dovemq.testing.local_redis import LocalRedisCluster
from dovemq.testing.maven_jars import jar_cache


def java(folder: Path, version: str) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return program


def recorded(directory: Path, kind: str, nodes: int, *ports: int) -> Path:
    write_record(directory, ClusterRecord(kind, "", nodes, ports, 15))
    return directory


def test_cassandra_nodes_share_a_port_and_divide_the_ring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path / "java", "17.0.1").parents[1]))
    jars = tmp_path / "jars"
    (jars / f"cassandra-{VERSION}").mkdir(parents=True)
    (jars / f"cassandra-{VERSION}" / "jamm-1.jar").touch()
    cluster = LocalCassandra(recorded(tmp_path, "cassandra", 3, 20_001, 20_002), jars=jars)
    settings = []
    for node in range(3):
        cluster.node_directory(node).mkdir()
        command = cluster.command(node)
        assert command[-1].endswith("CassandraDaemon")
        settings.append((cluster.node_directory(node) / "conf" / "cassandra.yaml").read_text())
    for node, text in enumerate(settings):
        assert f"\nlisten_address: 127.0.0.{node + 1}\n" in text
        assert "\nnative_transport_port: 20001\nstart_native" in text
        assert '\n      - seeds: "127.0.0.1,127.0.0.2,127.0.0.3"\n' in text
        assert "$" not in text
    tokens = [int(text.partition("initial_token: ")[2].splitlines()[0]) for text in settings]
    assert tokens == [-(2**63) + 1, -(2**63) + 2**64 // 3, -(2**63) + 2 * (2**64 // 3)]


@pytest.mark.parametrize(
    ("port", "url"),
    [
        (9042, "cassandra://127.0.0.1,127.0.0.2/dovemq?replication=2"),
        (20_001, "cassandra://127.0.0.1:20001,127.0.0.2:20001/dovemq?replication=2"),
    ],
)
def test_cassandra_url_has_a_port_unless_it_is_the_usual_one(
    tmp_path: Path, port: int, url: str
) -> None:
    cluster = LocalCassandra(recorded(tmp_path, "cassandra", 2, port, 20_002))
    assert cluster.url == url
    assert cluster.url_of("other") == url.replace("dovemq", "other")


def test_redis_url_names_the_first_masters(tmp_path: Path) -> None:
    cluster = LocalRedisCluster(recorded(tmp_path, "redis", 6, *range(20_001, 20_007)))
    assert cluster.url == "redis://127.0.0.1:20001,127.0.0.1:20002,127.0.0.1:20003"
    assert list(cluster.choose_ports(21_000)) == list(range(21_000, 21_006))


def test_postgres_url_names_user_and_database(tmp_path: Path) -> None:
    server = LocalPostgres(recorded(tmp_path, "postgres", 1, 20_001))
    assert server.url == "postgresql://dovemq@127.0.0.1:20001/dovemq"


def test_directory_of_another_cluster_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalCassandra, "check", lambda self: None)
    recorded(tmp_path, "cassandra", 3, 20_001, 20_002)
    with pytest.raises(ClusterUnfit, match="holds cassandra with 3 node"):
        LocalCassandra(tmp_path, nodes=1).start()


def test_cassandra_gets_the_first_java_that_it_can_run_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer, older = java(tmp_path / "newer", "25.0.1"), java(tmp_path / "older", "17.0.9")
    monkeypatch.setenv("JAVA_HOME", str(newer.parents[1]))
    monkeypatch.setenv("PATH", f"{older.parent}{os.pathsep}/bin")
    assert find_java() == older


def test_missing_java_is_reported_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServerMissing, match="openjdk-17-jre-headless"):
        find_java(tmp_path)


def test_jars_are_kept_in_the_cache_of_the_user() -> None:
    assert jar_cache({"XDG_CACHE_HOME": "/var/cache"}) == Path("/var/cache/dovemq/jars")
    assert jar_cache({"XDG_CACHE_HOME": "relative"}) == Path.home() / ".cache" / "dovemq" / "jars"


def test_free_ports_differ_and_leave_out_taken_ones() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        among = [port, port - 2_000, port - 4_000]
        found = free_ports(1, among, random.Random(1))
        assert found[0] in among[1:]
        with pytest.raises(PortsTaken, match="3 free ports between"):
            free_ports(3, among, random.Random(1))
        with pytest.raises(PortsTaken):
            free_ports(1, [port - 10], random.Random(1), beside=[10])


def test_held_port_is_not_chosen_while_its_server_is_down_and_yet_the_server_can_listen() -> None:
    port = free_ports(1, range(20_000, 22_700), random.Random(os.getpid()))[0]
    endpoint, held = ("127.0.0.1", port), HeldPorts()
    assert held.hold([endpoint], new=True)
    for _ in range(2):
        with pytest.raises(PortsTaken):
            free_ports(1, [port], random.Random(1))
        with socket.create_server(endpoint):
            assert not HeldPorts().hold([endpoint], new=True)
    assert not HeldPorts().hold([("127.0.0.1", 0), endpoint], new=True)
    held.release()
    assert free_ports(1, [port], random.Random(1)) == [port]
