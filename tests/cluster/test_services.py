"""Use cases over several front ends: long polls, move tasks, accounts."""

import asyncio
from typing import Any

from dovemq.cluster.catalogue import CatalogueChange
from dovemq.core.commands import Draft, Move, MoveStatus
from dovemq.core.queue import Queue, QueueKey, Redrive
from dovemq.service import HOUSEKEEPING_SECONDS, Service, build_service
from tests.cluster.world import ACCOUNT, FAILOVER_SECONDS, FrontEnds, Member, in_virtual_time

WAIT_MS = 20_000
SEEN_SECONDS = 1.1
"""Long enough for all front ends to see a change of the catalogue."""


class Served:
    """The service of one front end, put together as a server does it."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self.service: Service = build_service(
            member.store, member.clock, self._new_id, leads=member.store.leads
        )
        self._count = 0
        self._following: set[asyncio.Task[None]] = set()
        member.store.watch_catalogue(self._follow)

    async def queue(self, name: str, **changes: Any) -> Queue:
        return await self.service.queues.create(QueueKey(ACCOUNT, name), changes, {})

    async def send(self, queue: Queue, count: int) -> None:
        drafts = [Draft(self._new_id(), f"m{number}", ACCOUNT) for number in range(count)]
        for start in range(0, count, 10):
            await self.service.messages.send(queue, drafts[start : start + 10])

    async def poll(self, queue: Queue) -> list[str]:
        found = await self.service.messages.receive(queue, 1, wait_ms=WAIT_MS)
        return [each.lease.message.body for each in found]

    async def moves(self, source: Queue) -> list[Move]:
        return await self.service.moves.listing(source.key, 10)

    async def stop(self) -> None:
        await self.service.drain()
        await self.member.store.close()

    def _new_id(self) -> str:
        self._count += 1
        return f"{self.member.address}-{self._count}"

    def _follow(self, change: CatalogueChange) -> None:
        numbers = [queue.number for queue in (*change.queues, *change.removed)]
        following = self.service.catalogue_changed(numbers, accounts=change.accounts)
        task = asyncio.ensure_future(following)
        self._following.add(task)
        task.add_done_callback(self._following.discard)


async def _served(front_ends: FrontEnds, count: int) -> list[Served]:
    services = [Served(member) for member in await front_ends.start_many(count)]
    for each in services:
        await each.service.start()
    return services


async def _with_dead_letters(one: Served, count: int) -> tuple[Queue, Queue]:
    dead = await one.queue("dead")
    work = await one.queue("work", redrive=Redrive(dead.key, 3))
    await one.send(dead, count)
    await asyncio.sleep(SEEN_SECONDS)
    return work, dead


async def _seen_by_all(one: Served, name: str) -> Queue:
    queue = await one.queue(name)
    await asyncio.sleep(SEEN_SECONDS)
    return queue


@in_virtual_time
async def test_poll_is_woken_by_a_send_through_another_front_end(front_ends: FrontEnds) -> None:
    services = await _served(front_ends, 3)
    queue = await _seen_by_all(services[0], "jobs")
    await services[0].send(queue, 1)
    assert await services[0].poll(queue) == ["m0"]
    polls = [asyncio.ensure_future(each.poll(queue)) for each in services]
    await asyncio.sleep(1)
    began = front_ends.loop.time()
    for each in services:
        await each.send(queue, 1)
    assert await asyncio.gather(*polls) == [["m0"]] * 3
    assert front_ends.loop.time() - began < 1
    await _stop(services)


@in_virtual_time
async def test_arrival_that_a_poll_of_its_owner_takes_wakes_no_other_front_end(
    front_ends: FrontEnds,
) -> None:
    services = await _served(front_ends, 3)
    queue = await _seen_by_all(services[0], "jobs")
    assert await services[0].service.messages.receive(queue, 1) == []
    owner = next(each for each in services if each.member.owns(queue))
    polls = {each: asyncio.ensure_future(each.poll(queue)) for each in services}
    await asyncio.sleep(1)
    before = front_ends.network.hops
    await owner.send(queue, 1)
    assert await polls.pop(owner) == ["m0"]
    await asyncio.sleep(1)
    assert front_ends.network.hops == before
    await owner.send(queue, 2)
    assert sorted(await asyncio.gather(*polls.values())) == [["m0"], ["m1"]]
    await _stop(services)


@in_virtual_time
async def test_poll_stays_while_the_owner_hands_the_queue_over(front_ends: FrontEnds) -> None:
    services = await _served(front_ends, 3)
    queue = await _seen_by_all(services[0], "jobs")
    assert await services[0].service.messages.receive(queue, 1) == []
    owner = next(each for each in services if each.member.owns(queue))
    others = [each for each in services if each is not owner]
    polls = [asyncio.ensure_future(each.poll(queue)) for each in others]
    await asyncio.sleep(1)
    await owner.stop()
    await asyncio.sleep(1)
    for each in others:
        await each.send(queue, 1)
    assert await asyncio.gather(*polls) == [["m0"]] * 2
    await _stop(others)


@in_virtual_time
async def test_polls_of_a_queue_that_another_front_end_removes_end(front_ends: FrontEnds) -> None:
    services = await _served(front_ends, 2)
    queue = await _seen_by_all(services[0], "jobs")
    polls = [asyncio.ensure_future(services[1].poll(queue)) for _ in range(3)]
    await asyncio.sleep(1)
    await services[0].service.queues.remove(queue.key)
    await asyncio.sleep(SEEN_SECONDS)
    assert [type(poll.exception()).__name__ for poll in polls] == ["QueueMissing"] * 3
    await _stop(services)


@in_virtual_time
async def test_move_started_anywhere_is_run_once_and_seen_by_all(front_ends: FrontEnds) -> None:
    services = await _served(front_ends, 3)
    work, dead = await _with_dead_letters(services[0], 95)
    await services[2].service.moves.start(dead.key, work.key, 20)
    # Seen by the leading one, run by it, and seen by the others: a second each.
    await asyncio.sleep(3.5)
    progress = [(await each.moves(dead))[0].moved for each in services]
    assert all(10 <= moved <= 70 for moved in progress)
    await asyncio.sleep(6)
    for each in services:
        [move] = await each.moves(dead)
        assert (move.status, move.moved) == (MoveStatus.COMPLETED, 95)
    counts = await services[1].service.queues.counts(work)
    assert counts.visible == 95
    await _stop(services)


@in_virtual_time
async def test_move_goes_on_when_the_leading_front_end_dies(front_ends: FrontEnds) -> None:
    services = await _served(front_ends, 3)
    work, dead = await _with_dead_letters(services[0], 60)
    await services[1].service.moves.start(dead.key, work.key, 10)
    await asyncio.sleep(3)
    front_ends.kill(services[0].member)
    await services[0].service.drain()
    await asyncio.sleep(FAILOVER_SECONDS + 90)
    for each in services[1:]:
        [move] = await each.moves(dead)
        assert move.status is MoveStatus.COMPLETED
    counts = await services[1].service.queues.counts(work)
    assert (counts.visible, counts.leased) == (60, 0)
    await _stop(services[1:])


@in_virtual_time
async def test_move_is_cancelled_through_a_front_end_that_does_not_run_it(
    front_ends: FrontEnds,
) -> None:
    services = await _served(front_ends, 3)
    work, dead = await _with_dead_letters(services[0], 100)
    move = await services[1].service.moves.start(dead.key, work.key, 10)
    await asyncio.sleep(2.5)
    await services[2].service.moves.cancel(move.move_id)
    await asyncio.sleep(3)
    for each in services:
        [listed] = await each.moves(dead)
        assert listed.status is MoveStatus.CANCELLED
        assert 10 <= listed.moved < 80
    await _stop(services)


@in_virtual_time
async def test_of_two_moves_of_one_source_started_at_once_one_runs(front_ends: FrontEnds) -> None:
    services = await _served(front_ends, 2)
    work, dead = await _with_dead_letters(services[0], 30)
    await asyncio.gather(*(each.service.moves.start(dead.key, work.key, 10) for each in services))
    await asyncio.sleep(8)
    statuses = sorted(move.status.value for move in await services[0].moves(dead))
    assert statuses == ["COMPLETED", "FAILED"]
    counts = await services[0].service.queues.counts(work)
    assert counts.visible == 30
    await _stop(services)


@in_virtual_time
async def test_expired_messages_are_dropped_by_the_leading_front_end_alone(
    front_ends: FrontEnds,
) -> None:
    leading, other = services = await _served(front_ends, 2)
    queues = [await leading.queue(f"q{number}", retention_ms=600_000) for number in range(10)]
    for queue in queues:
        await leading.send(queue, 3)
    elsewhere = sum(other.member.owns(queue) for queue in queues)
    hops = front_ends.network.hops
    await asyncio.sleep(700)
    assert 0 < elsewhere < 10
    assert front_ends.network.hops - hops == elsewhere * (700 // HOUSEKEEPING_SECONDS)
    for queue in queues:
        assert (await other.service.queues.counts(queue)).visible == 0
    await _stop(services)


@in_virtual_time
async def test_account_and_its_key_are_known_to_all_front_ends(front_ends: FrontEnds) -> None:
    one, two = await _served(front_ends, 2)
    account = await one.service.accounts.add("billing")
    made = await one.service.accounts.add_credential(account.number)
    await asyncio.sleep(SEEN_SECONDS)
    assert two.service.accounts.find(made.key_id) is not None
    await two.service.accounts.remove_credential(account.number, made.key_id)
    await asyncio.sleep(SEEN_SECONDS)
    assert one.service.accounts.find(made.key_id) is None
    await _stop([one, two])


async def _stop(services: list[Served]) -> None:
    for each in services:
        await each.stop()
