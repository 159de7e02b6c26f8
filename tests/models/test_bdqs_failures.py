"""Servers that fail and recover while an experiment runs."""

import asyncio

import pytest

from dovemq.experiments import bdqs_faults
from dovemq.experiments.bdqs_faults import NODES, ServerTroubles


class FakeServers:
    """Keeps what was done."""

    def __init__(self) -> None:
        self.running = set(range(NODES))
        self.front_ends = set(range(NODES))
        self.events: list[str] = []
        self.database = self

    def kill_front_end(self, number: int) -> None:
        self.front_ends.discard(number)

    def kill(self, number: int) -> None:
        self.running.remove(number)
        self.events.append("kill")

    def start_node(self, number: int) -> None:
        assert number not in self.running, "a node is started once for each time it was killed"
        self.running.add(number)
        self.events.append("start")

    def start_front_end(self, number: int) -> None:
        assert number in self.running, "the node comes first"
        self.front_ends.add(number)


async def _until(servers: FakeServers, kills: int) -> None:
    while servers.events.count("kill") < kills:
        await asyncio.sleep(0)


async def test_servers_that_are_down_come_back_before_the_block_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bdqs_faults, "MTTR_S", 1e9)
    servers = FakeServers()
    troubles = ServerTroubles([servers], 1e-6, seed=1)
    async with troubles:
        await _until(servers, NODES)
        assert not servers.running
    assert servers.running == servers.front_ends == set(range(NODES))
    assert len(troubles.down_s) == NODES


async def test_servers_fail_again_after_they_have_recovered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bdqs_faults, "MTTR_S", 0.0)
    servers = FakeServers()
    troubles = ServerTroubles([servers], 1e-6, seed=1)
    async with troubles:
        await _until(servers, 3 * NODES)
    assert servers.running == set(range(NODES))
    assert servers.events.count("start") == servers.events.count("kill") == len(troubles.down_s)


async def test_recovery_that_fails_ends_the_experiment() -> None:
    class Broken(FakeServers):
        asked = asyncio.Event()

        def kill_front_end(self, number: int) -> None:
            self.asked.set()
            raise RuntimeError("no such node")

    servers = Broken()
    with pytest.raises(RuntimeError, match="no such node"):
        async with ServerTroubles([servers], 1e-6, seed=1):
            await servers.asked.wait()
