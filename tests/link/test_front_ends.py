"""Front ends of one cluster with real links: any of them takes any request."""

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Callable
from typing import Final

import pytest

from dovemq.cluster.link import Dialling, LinkListener, PeerLinks, cluster_name
from dovemq.cluster.link.greeting import ClusterIdentity
from dovemq.cluster.link.tls import dialling_context
from dovemq.cluster.membership import FrontEndRefused
from dovemq.cluster.sightings import LeaseTimes
from dovemq.cluster.store import ClusterStore
from dovemq.core.commands import Ask, Draft, Lease, Settlement
from dovemq.core.errors import DoveError
from dovemq.core.ports import Partition
from dovemq.core.queue import Queue
from dovemq.system.clock import SystemClock
from dovemq.testing.memory_database import MemoryDatabase, MemoryDatabaseState
from tests.cluster.shared import Openings
from tests.link.linked import HOST, SECRET, nonces
from tests.link.pairs import new_queue, until, until_async

TIMES: Final = LeaseTimes(heartbeat_ms=200, lease_ms=1_500, margin_ms=300)


class RealFrontEnd:
    """A front end that listens on a port of its own and dials the others."""

    def __init__(
        self, state: MemoryDatabaseState, number: int, secret: bytes = SECRET, *, tls: bool = False
    ) -> None:
        self._secret = secret
        self._context = dialling_context() if tls else None
        self.clock = SystemClock()
        self._state = state
        self._number = number
        self._tokens = itertools.count(1)

    async def start(self) -> "RealFrontEnd":
        loop = asyncio.get_running_loop()
        identity = ClusterIdentity(
            lambda: cluster_name(self.store.receipt_key),
            "1.0",
            lambda: str(self.store.membership.incarnation),
            self._secret,
        )
        self.listener = LinkListener(_Late(self), self.clock, identity, nonces(self._number))
        await self.listener.start(HOST, 0)
        rng, fresh = random.Random(self._number), nonces(100 + self._number)
        self.links = PeerLinks(Dialling(identity, rng, fresh, self._context))
        self.store = ClusterStore(
            MemoryDatabase(self._state),
            Openings(self.clock, []),
            link=self.links,
            address=f"{HOST}:{self.listener.port}",
            release="1",
            clock=self.clock,
            monotonic_ms=lambda: round(loop.time() * 1_000),
            new_token=lambda: f"token-{self._number}-{next(self._tokens)}",
            new_key=lambda: b"receipt key of this cluster",
            times=TIMES,
        )
        await self.store.start()
        return self

    async def partition(self, queue: Queue) -> Partition:
        found = await self.store.catalogue.find(queue.key)
        assert found is not None
        return self.store.partition(found, 0)

    async def send(self, queue: Queue, body: str) -> None:
        draft = Draft(f"id-{body}", body, "0")
        await (await self.partition(queue)).send([draft], self.clock.now_ms())

    async def take(self, queue: Queue, count_max: int = 10) -> list[Lease]:
        partition = await self.partition(queue)
        return (await partition.lease(Ask(count_max, 30_000), self.clock.now_ms())).messages

    def owns(self, queue: Queue) -> bool:
        return (queue.number, 0) in self.store.owned()

    async def stop(self) -> None:
        """Stop as SIGTERM does: hand over first, then answer what has arrived."""
        await self.store.close()
        await self.listener.drain()
        await self.listener.close()

    async def kill(self) -> None:
        """Stop as a killed process does: nothing is handed over."""
        self.store.abandon()
        await self.listener.close()
        await self.links.close()


class _Late:
    """The partitions of a store that is made after its listener."""

    def __init__(self, front_end: RealFrontEnd) -> None:
        self._front_end = front_end

    def partition(self, queue_number: int, partition: int, version: int = 0) -> Partition:
        return self._front_end.store.local.partition(queue_number, partition, version)


@pytest.fixture
async def three() -> AsyncIterator[list[RealFrontEnd]]:
    state = MemoryDatabaseState()
    made = [await RealFrontEnd(state, number).start() for number in range(3)]
    await until(_all_see_all(made))
    yield made
    for front_end in made:
        await front_end.stop()


def _all_see_all(front_ends: list[RealFrontEnd]) -> Callable[[], bool]:
    return lambda: all(
        len(each.store.membership.serving()) == len(front_ends) for each in front_ends
    )


async def _owned_elsewhere(
    front_ends: list[RealFrontEnd],
) -> tuple[Queue, RealFrontEnd, RealFrontEnd]:
    """A queue, its owner, and a front end that does not own it."""
    queue = await front_ends[0].store.catalogue.create(new_queue())

    async def known() -> bool:
        found = [await each.store.catalogue.find(queue.key) for each in front_ends]
        return None not in found

    await until_async(known)
    await front_ends[0].send(queue, "first")
    [owner] = [each for each in front_ends if each.owns(queue)]
    other = next(each for each in front_ends if each is not owner)
    return queue, owner, other


@pytest.mark.parametrize(
    ("secret", "tls", "reason"),
    [(SECRET[::-1], False, "secret"), (SECRET, True, "turn TLS on for all front ends or for none")],
    ids=["secret", "TLS"],
)
async def test_front_end_that_cannot_link_with_the_others_does_not_join(
    secret: bytes, tls: bool, reason: str
) -> None:
    state = MemoryDatabaseState()
    first = await RealFrontEnd(state, 1).start()
    stranger = RealFrontEnd(state, 2, secret, tls=tls)
    with pytest.raises(FrontEndRefused, match=reason):
        await stranger.start()
    assert [each.incarnation for each in first.store.membership.serving()] == [1]
    await stranger.stop()
    await first.stop()


async def test_any_front_end_sends_receives_and_settles(three: list[RealFrontEnd]) -> None:
    queue, _, _ = await _owned_elsewhere(three)
    for number, front_end in enumerate(three):
        await front_end.send(queue, f"{number}")
    taken = [lease for front_end in three for lease in await front_end.take(queue, 2)]
    assert sorted(lease.message.body for lease in taken) == ["0", "1", "2", "first"]
    for lease, front_end in zip(taken, itertools.cycle(three), strict=False):
        partition = await front_end.partition(queue)
        assert await partition.settle([lease.receipt], front_end.clock.now_ms()) == [
            Settlement.SETTLED
        ]
    assert sum(len(each.links.statuses()) for each in three) <= 6


async def test_watch_over_the_link_is_woken_by_a_send(three: list[RealFrontEnd]) -> None:
    queue, owner, other = await _owned_elsewhere(three)
    rung: list[int] = []
    undo = (await other.partition(queue)).watch(lambda: rung.append(1))
    await other.take(queue)
    rung.clear()
    await owner.send(queue, "a")
    await until(lambda: bool(rung))
    undo()


async def test_queue_is_served_again_after_its_owner_was_killed(three: list[RealFrontEnd]) -> None:
    queue, owner, other = await _owned_elsewhere(three)
    rung: list[int] = []
    undo = (await other.partition(queue)).watch(lambda: rung.append(1))
    await owner.kill()
    three.remove(owner)

    async def served() -> bool:
        try:
            return [lease.message.body for lease in await other.take(queue)] == ["first"]
        except DoveError:
            return False

    await until_async(served)
    assert rung
    undo()


async def test_front_ends_that_stop_in_turn_lose_and_refuse_nothing(
    three: list[RealFrontEnd],
) -> None:
    queue, owner, other = await _owned_elsewhere(three)
    sent: list[str] = []

    async def keep_sending() -> None:
        for number in itertools.count():
            await other.send(queue, f"{number}")
            sent.append(f"{number}")
            await asyncio.sleep(0.002)

    sending = asyncio.ensure_future(keep_sending())
    await until(lambda: len(sent) > 20)
    await owner.stop()
    three.remove(owner)
    before = len(sent)
    await until(lambda: len(sent) > before + 20 or sending.done())
    sending.cancel()
    [ended] = await asyncio.gather(sending, return_exceptions=True)
    assert isinstance(ended, asyncio.CancelledError)
    counts = await (await other.partition(queue)).counts(other.clock.now_ms())
    assert counts.visible - 1 - len(sent) in (0, 1)
