"""A Redis Cluster fails over, refuses writes beyond its memory, and joins a paused node again."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dovemq.testing.local_redis import SLOTS, LocalRedisCluster, RedisRefused
from tests.real_stores import running

LOOKS_MAX = 100_000


def await_that(holds: Callable[[], bool]) -> None:
    """Looks again and again; each look asks a server, which takes its time."""
    assert any(holds() for _ in range(LOOKS_MAX))


def test_masters_lead_all_slots_once(redis_cluster: LocalRedisCluster) -> None:
    slots = [slot for led in redis_cluster.masters().values() for part in led for slot in part]
    assert sorted(slots) == list(range(SLOTS))


def test_replica_takes_over_from_a_paused_master_which_becomes_its_replica(tmp_path: Path) -> None:
    with running(LocalRedisCluster(tmp_path)) as cluster:
        led = cluster.masters()[1]
        cluster.pause(1)
        assert 1 not in cluster.running
        await_that(lambda: led in [slots for node, slots in cluster.masters().items() if node > 2])
        cluster.resume(1)
        await_that(cluster.settled)
        assert 1 not in cluster.masters()


def fill(cluster: LocalRedisCluster, leader: int) -> None:
    for number in range(10):
        cluster.ask(leader, "SET", f"{{note}}{number}", "x" * 1_000_000)


def test_node_refuses_writes_beyond_its_memory_and_takes_deletes(tmp_path: Path) -> None:
    with running(LocalRedisCluster(tmp_path, maxmemory="8mb", appendfsync="always")) as cluster:
        slot = cluster.ask(0, "CLUSTER", "KEYSLOT", "{note}")
        masters = cluster.masters().items()
        leader = next(node for node, led in masters if any(slot in part for part in led))
        with pytest.raises(RedisRefused, match="OOM"):
            fill(cluster, leader)
        assert cluster.ask(leader, "DEL", "{note}0") == 1
        assert cluster.ask(leader, "CONFIG", "GET", "appendfsync") == ["appendfsync", "always"]
