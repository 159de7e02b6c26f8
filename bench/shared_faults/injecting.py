"""The faults: each hits front ends, their links or the store once, while a load runs."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from msgspec import Struct

from bench.shared_faults.front_ends import COUNT, FrontEnds
from dovemq.testing.local_cassandra import LocalCassandra
from dovemq.testing.local_cluster import LocalCluster
from dovemq.testing.local_redis import LocalRedisCluster

PAUSE_SECONDS: Final = 12
"""Longer than a lease with both margins."""
CUT_SECONDS: Final = 10
DOWN_SECONDS: Final = (1, 10)
"""A killed front end is back before its lease has ended, or after that, in turn."""
STORE_DOWN_SECONDS: Final = 2
MASTER_DOWN_SECONDS: Final = 8
"""Long enough for a replica to take over."""


class Scene(Struct, frozen=True):
    """The processes that a fault can hit; `number` is that of the run, and selects the victim."""

    store: LocalCluster
    front_ends: FrontEnds
    number: int

    @property
    def victim(self) -> int:
        return self.number % COUNT


class Fault(Struct, frozen=True):
    """`strike` returns after the harm; what it left behind is put right by `heal` after the load.

    New messages are sent for `seconds`, and longer if clients wait for the service then.
    """

    name: str
    seconds: int
    strike: Callable[[Scene], Awaitable[None]]
    heal: Callable[[Scene], Awaitable[None]]


async def _nothing(_: Scene) -> None:
    pass


async def _kill_front_end(scene: Scene) -> None:
    await scene.front_ends.kill(scene.victim)
    await asyncio.sleep(DOWN_SECONDS[scene.number % len(DOWN_SECONDS)])
    await scene.front_ends.start(scene.victim)


async def _pause_front_end(scene: Scene) -> None:
    scene.front_ends.signal(scene.victim, signal.SIGSTOP)
    await asyncio.sleep(PAUSE_SECONDS)
    scene.front_ends.signal(scene.victim, signal.SIGCONT)


async def _cut_link(scene: Scene) -> None:
    pair = scene.victim, (scene.victim + 1) % COUNT
    scene.front_ends.cut(*pair)
    await asyncio.sleep(CUT_SECONDS)
    scene.front_ends.mend(*pair)


async def _roll(scene: Scene) -> None:
    for number in range(COUNT):
        code = await scene.front_ends.stop(number)
        assert code == 0, f"front end {number} ended with {code}"
        await scene.front_ends.start(number)


async def _kill_node(scene: Scene) -> None:
    """Kills a node of Cassandra, a master of Redis, or PostgreSQL.

    PostgreSQL and Redis are started again: a promoted master has no replica to wait for until then.
    """
    store = scene.store
    node = _victim_node(scene)
    await asyncio.to_thread(store.kill, node)
    if not isinstance(store, LocalCassandra):
        redis = isinstance(store, LocalRedisCluster)
        await asyncio.sleep(MASTER_DOWN_SECONDS if redis else STORE_DOWN_SECONDS)
        await asyncio.to_thread(store.restart, node)


def _victim_node(scene: Scene) -> int:
    store = scene.store
    if isinstance(store, LocalRedisCluster):
        masters = list(store.masters())
        return masters[scene.number % len(masters)]
    return scene.number % store.nodes


async def _restart_nodes(scene: Scene) -> None:
    for node in set(range(scene.store.nodes)) - set(scene.store.running):
        await asyncio.to_thread(scene.store.restart, node)


async def _restart_all(scene: Scene) -> None:
    """Kills the store and all front ends at once, and starts them again."""
    store, front_ends = scene.store, scene.front_ends
    await front_ends.kill(*range(COUNT))
    for node in range(store.nodes):
        await asyncio.to_thread(store.kill, node)
    await asyncio.to_thread(store.stop)
    await asyncio.to_thread(store.start)
    await front_ends.start(*range(COUNT))


FAULTS: Final[Mapping[str, Fault]] = {
    fault.name: fault
    for fault in (
        Fault("none", 12, _nothing, _nothing),
        Fault("kill -9 a front end", 20, _kill_front_end, _nothing),
        Fault("pause a front end for 12 s", 22, _pause_front_end, _nothing),
        Fault("cut the link of a pair for 10 s", 18, _cut_link, _nothing),
        Fault("roll by SIGTERM", 25, _roll, _nothing),
        Fault("kill -9 a node of the store", 18, _kill_node, _restart_nodes),
        Fault("kill -9 everything at once", 25, _restart_all, _nothing),
    )
}


def node_word(store: LocalCluster) -> str:
    if isinstance(store, LocalRedisCluster):
        return "a Redis master"
    return "a Cassandra node" if isinstance(store, LocalCassandra) else "PostgreSQL"
