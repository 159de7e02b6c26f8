"""Front ends that die, stop, leave and lose each other lose no message that was answered.

A seed decides which front end meets which fault when. Clients send, receive and settle through any
front end. What was answered must hold: an answered send is received, and a message whose settle was
answered is not received again.
"""

import asyncio
import random
from typing import Final

import pytest

from dovemq.core.commands import Ask, Draft
from dovemq.core.errors import UnavailableError
from dovemq.core.queue import Queue
from tests.cluster.world import ACCOUNT, FrontEnds, Member, in_virtual_time

FAULTS: Final = ("pause", "kill", "leave", "cut", "lose answers", "slow")
LEASE_MS: Final = 5_000
RUN_SECONDS: Final = 60
DRAIN_SECONDS: Final = 120


class Clients:
    """Senders and receivers of one queue, and what they were answered."""

    def __init__(self, front_ends: FrontEnds, queue: Queue, rng: random.Random) -> None:
        self.sent: set[str] = set()
        self.received: set[str] = set()
        self.settled: set[str] = set()
        self.again: list[str] = []
        self.failed = 0
        self._front_ends = front_ends
        self._queue = queue
        self._rng = rng
        self._numbers = iter(range(10**9))

    async def send(self, until: float) -> None:
        while self._front_ends.loop.time() < until:
            body = f"m{next(self._numbers)}"
            member = self._member()
            try:
                partition = await member.partition(self._queue)
                await partition.send([Draft(body, body, ACCOUNT)], member.clock.now_ms())
                self.sent.add(body)
            except UnavailableError:
                self.failed += 1
            await asyncio.sleep(self._rng.uniform(0.01, 0.2))

    async def receive(self, until: float) -> None:
        while self._front_ends.loop.time() < until:
            try:
                await self._receive()
            except UnavailableError:
                self.failed += 1
            await asyncio.sleep(self._rng.uniform(0.01, 0.2))

    async def _receive(self) -> None:
        member = self._member()
        partition = await member.partition(self._queue)
        settled = set(self.settled)
        leased = await partition.lease(Ask(5, LEASE_MS), member.clock.now_ms())
        bodies = [each.message.body for each in leased.messages]
        self.again += [body for body in bodies if body in settled]
        self.received.update(bodies)
        if not bodies or self._rng.random() < 0.1:
            return
        await asyncio.sleep(self._rng.uniform(0, 0.1))
        member = self._member()
        partition = await member.partition(self._queue)
        receipts = [each.receipt for each in leased.messages]
        await partition.settle(receipts, member.clock.now_ms())
        self.settled.update(bodies)

    def _member(self) -> Member:
        return self._rng.choice(self._front_ends.living)


class Fate:
    """The faults of one run."""

    def __init__(self, front_ends: FrontEnds, rng: random.Random) -> None:
        self._front_ends = front_ends
        self._rng = rng

    async def strike(self, until: float) -> None:
        while self._front_ends.loop.time() < until:
            await asyncio.sleep(self._rng.uniform(0.5, 4))
            await self._strike(self._rng.choice(FAULTS), self._rng.choice(self._front_ends.living))
        for member in self._front_ends.living:
            self._heal(member)

    async def _strike(self, fault: str, member: Member) -> None:
        if fault == "pause":
            member.faults.pause()
        elif fault == "slow":
            member.faults.delay_ms_max = 400
        elif fault == "lose answers":
            member.faults.lost = 0.2
        elif fault == "cut":
            others = [each.address for each in self._front_ends.living if each is not member]
            self._front_ends.network.cut(str(member.address), str(self._rng.choice(others)))
        elif fault == "kill":
            self._front_ends.kill(member)
            await self._front_ends.start(member.address)
        else:
            await member.store.close()
            await self._front_ends.start(member.address)
        await asyncio.sleep(self._rng.uniform(0.5, 12))
        self._heal(member)

    def _heal(self, member: Member) -> None:
        self._front_ends.network.mend()
        member.faults.resume()
        member.faults.delay_ms_max = 0
        member.faults.lost = 0


@pytest.mark.parametrize("fences", [True, False])
@pytest.mark.parametrize("seed", range(12))
@in_virtual_time
async def test_nothing_that_was_answered_is_lost(
    front_ends: FrontEnds, seed: int, fences: bool
) -> None:
    front_ends.state.fences = fences
    rng = random.Random(seed)
    await front_ends.start_many(3)
    queue = await front_ends.members[0].create()
    clients, fate = Clients(front_ends, queue, rng), Fate(front_ends, rng)
    until = front_ends.loop.time() + RUN_SECONDS
    senders = [clients.send(until) for _ in range(3)]
    receivers = [clients.receive(until + DRAIN_SECONDS) for _ in range(3)]
    await asyncio.gather(fate.strike(until), *senders, *receivers)
    assert len(clients.sent) > 100
    assert clients.sent <= clients.received
    assert not clients.again
    assert len(set(front_ends.opened)) == len(front_ends.opened)
    (owner,) = [each for each in front_ends.living if each.owns(queue)]
    counts = await (await owner.partition(queue)).counts(owner.clock.now_ms())
    assert (counts.visible, counts.leased) == (0, 0)
