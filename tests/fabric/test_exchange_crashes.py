"""A front end that dies in any step of draining: no message is lost, few are there twice."""

from collections import Counter
from typing import Any

import pytest

from dovemq.core.commands import Peek
from dovemq.core.errors import StoreUnreachable
from dovemq.core.partitions import Layout
from dovemq.core.ports import Partition, Store
from dovemq.core.queue import Queue
from dovemq.fabric.draining import DRAINED_MS
from dovemq.fabric.exchange import EXCHANGE_LEASE_MS
from dovemq.fabric.store import FabricStore
from tests.fabric.spread import SpreadWorld

STEPS = 12
"""More than the calls of one exchange and the change of the layout after it."""
MESSAGES = 8


class DyingStore:
    """A store whose process dies in its `last` call, before or after that was done."""

    def __init__(self, store: Store, last: int, *, done: bool) -> None:
        self.receipt_key = store.receipt_key
        self.coordinations = store.coordinations
        self.left = last
        self._store = store
        self._done = done

    @property
    def catalogue(self) -> Any:
        return Dying(self, self._store.catalogue)

    @property
    def ledger(self) -> Any:
        return Dying(self, self._store.ledger)

    def partition(self, queue: Queue, number: int) -> Partition:
        dying: Any = Dying(self, self._store.partition(queue, number))
        return dying  # type: ignore[no-any-return]

    async def close(self) -> None:
        await self._store.close()

    async def call(self, verb: Any, *args: Any, **options: Any) -> Any:
        self.left -= 1
        if self.left > 0 or (self.left == 0 and self._done):
            answer = await verb(*args, **options)
            if self.left > 0:
                return answer
        raise StoreUnreachable("of the test", "its process has died")


class Dying:
    def __init__(self, store: DyingStore, inner: Any) -> None:
        self._store = store
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._inner, name)
        return lambda *args, **options: self._store.call(verb, *args, **options)


async def ids(world: SpreadWorld) -> Counter[str]:
    found: Counter[str] = Counter()
    for number in range(world.queue.settings.layout.highest + 1):
        peeked = await world.part(number).peek(Peek(1_000), world.clock.now_ms())
        found.update(each.message.message_id for each in peeked)
    return found


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("last", range(1, STEPS + 1))
async def test_death_in_any_step_loses_nothing(last: int, done: bool) -> None:
    world = await SpreadWorld(partitions=3).start()
    await world.send_to(2, *map(str, range(MESSAGES)))
    before = set(await ids(world))
    await world.change(partitions=2)
    dying = DyingStore(world.memory, last, done=done)
    await _kept_up(FabricStore(dying, world.clock), world)
    copies = await ids(world)
    assert set(copies) == before

    survivor = FabricStore(world.memory, world.clock)
    for pause_ms in (EXCHANGE_LEASE_MS, 0, DRAINED_MS, DRAINED_MS):
        world.manual.advance(pause_ms)
        await _kept_up(survivor, world)
        assert set(await ids(world)) == before
    await world.refresh()
    left = await world.counts(2)
    # Messages that the dead front end had leased look received, and wait for a receiver here.
    drained = Layout((0, 1), (), 2)
    assert world.queue.settings.layout == drained or left.visible > 0


async def _kept_up(fabric: FabricStore, world: SpreadWorld) -> None:
    try:
        for _ in range(3):
            await fabric.keep_up(leads=True, scan=True)
            world.manual.advance(DRAINED_MS)
    except StoreUnreachable:
        return


async def test_answered_exchange_leaves_one_copy() -> None:
    world = await SpreadWorld(partitions=2).start()
    await world.send_to(1, *map(str, range(MESSAGES)))
    assert await world.fabric.exchange.move(world.queue, 1, (0,), 100) == MESSAGES
    assert max((await ids(world)).values()) == 1


async def test_death_before_the_settle_leaves_two_copies() -> None:
    world = await SpreadWorld(partitions=2).start()
    await world.send_to(1, "a")
    # The third call is the settle at the source, whose answer is lost before it is done.
    dying = FabricStore(DyingStore(world.memory, 3, done=False), world.clock)
    with pytest.raises(StoreUnreachable):
        await dying.exchange.move(world.queue, 1, (0,), 100)
    assert set((await ids(world)).values()) == {2}


async def test_death_during_a_move_counts_as_one_receive() -> None:
    world = await SpreadWorld(partitions=2).start()
    await world.send_to(1, "a")
    # The second call is the adoption at the target.
    dying = FabricStore(DyingStore(world.memory, 2, done=False), world.clock)
    with pytest.raises(StoreUnreachable):
        await dying.exchange.move(world.queue, 1, (0,), 100)
    assert not await world.take()
    world.manual.advance(EXCHANGE_LEASE_MS)
    (lease,) = await world.take()
    assert lease.receive_count == 2
