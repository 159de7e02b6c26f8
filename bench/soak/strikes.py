"""Faults of front ends on a shared store, none of which ends the first front end."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from bench.shared_faults.front_ends import COUNT
from bench.shared_faults.injecting import FAULTS, Scene
from dovemq.load.faults.shim import SkewedClock

STEADY: Final = 0
"""The front end that lives for the whole run."""
JUMP_MS: Final = 2_000
NODE_SECONDS: Final = 6
JUMP_SECONDS: Final = 4


class SoakScene(Struct, frozen=True):
    """`scene.number` selects the victim; `clocks` are those of the front ends."""

    scene: Scene
    clocks: Sequence[SkewedClock]
    rng: random.Random

    @property
    def mortal(self) -> Scene:
        """The scene with a victim that may die: each of the others in turn."""
        rounds, place = divmod(self.scene.number, COUNT - 1)
        return replace(self.scene, number=COUNT * rounds + 1 + place)


def _of_shared_faults(name: str) -> Callable[[SoakScene], Awaitable[None]]:
    async def strike(soak: SoakScene) -> None:
        await FAULTS[name].strike(soak.mortal)

    return strike


async def _roll(soak: SoakScene) -> None:
    for number in set(range(COUNT)) - {STEADY}:
        code = await soak.scene.front_ends.stop(number)
        assert code == 0, f"front end {number} ended with {code}"
        await soak.scene.front_ends.start(number)


async def _pause_steady(soak: SoakScene) -> None:
    """Pauses the front end that is never killed, for longer than its lease."""
    await FAULTS["pause a front end for 12 s"].strike(replace(soak.scene, number=STEADY))


async def _kill_node(soak: SoakScene) -> None:
    store = soak.scene.store
    node = soak.scene.number % store.nodes
    await asyncio.to_thread(store.kill, node)
    await asyncio.sleep(NODE_SECONDS)
    await asyncio.to_thread(store.restart, node)


async def _pause_node(soak: SoakScene) -> None:
    store = soak.scene.store
    node = soak.scene.number % store.nodes
    store.pause(node)
    await asyncio.sleep(NODE_SECONDS)
    store.resume(node)


async def _restart_store(soak: SoakScene) -> None:
    """Kills all nodes at once, and starts them again; the front ends go on."""
    store = soak.scene.store
    for node in range(store.nodes):
        await asyncio.to_thread(store.kill, node)
    await asyncio.to_thread(store.stop)
    await asyncio.to_thread(store.start)


async def _jump(soak: SoakScene) -> None:
    for clock in soak.clocks:
        clock.set(soak.rng.randint(-JUMP_MS, JUMP_MS))
    await asyncio.sleep(JUMP_SECONDS)


STRIKES: Final[Mapping[str, Callable[[SoakScene], Awaitable[None]]]] = {
    "kill": _of_shared_faults("kill -9 a front end"),
    "kill node": _kill_node,
    "cut link": _of_shared_faults("cut the link of a pair for 10 s"),
    "pause": _of_shared_faults("pause a front end for 12 s"),
    "roll": _roll,
    "pause node": _pause_node,
    "pause steady": _pause_steady,
    "jump": _jump,
    "restart store": _restart_store,
}
