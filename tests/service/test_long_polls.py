"""Long polls: answered at once on arrival, one poll per message, nothing swallowed."""

import asyncio

import pytest

from dovemq.core.errors import QueueMissing
from tests.service.world import LONG_MS, World, bodies

WAIT_SECONDS_MAX = 60


async def settled_loop() -> None:
    """Let every task that can run do so."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_receive_without_wait_answers_empty_at_once() -> None:
    world = World()
    queue = await world.queue("q")
    assert await world.messages.receive(queue, 10) == []
    assert world.service.polls.parked == 0


async def test_send_wakes_exactly_one_of_many_polls() -> None:
    world = World()
    queue = await world.queue("q")
    polls = [
        asyncio.create_task(world.messages.receive(queue, 10, wait_ms=LONG_MS)) for _ in range(50)
    ]
    await settled_loop()
    assert world.service.polls.parked == 50
    await world.send(queue, "a")
    await settled_loop()
    assert [bodies(poll.result()) for poll in polls if poll.done()] == [["a"]]
    assert world.service.polls.parked == 49
    await world.service.drain()
    await asyncio.gather(*polls)


async def test_a_batch_wakes_as_many_polls_as_there_are_messages() -> None:
    world = World()
    queue = await world.queue("q")
    polls = [
        asyncio.create_task(world.messages.receive(queue, 1, wait_ms=LONG_MS)) for _ in range(5)
    ]
    await settled_loop()
    await world.send(queue, "a", "b", "c")
    await settled_loop()
    assert sorted(bodies(p.result())[0] for p in polls if p.done()) == ["a", "b", "c"]
    await world.service.drain()
    assert [await p for p in polls if not bodies(await p)] == [[], []]


async def test_messages_that_come_together_disturb_one_poll_only() -> None:
    world = World()
    queue = await world.queue("q")
    polls = [
        asyncio.create_task(world.messages.receive(queue, 10, wait_ms=LONG_MS)) for _ in range(5)
    ]
    await settled_loop()
    for body in "abcdefgh":
        await world.send(queue, body)
    assert world.service.polls.parked == 4
    await settled_loop()
    assert [len(bodies(poll.result())) for poll in polls if poll.done()] == [8]
    await world.service.drain()
    await asyncio.gather(*polls)


async def test_poll_that_leaves_with_the_turn_hands_on_all_that_has_come() -> None:
    world = World()
    queue = await world.queue("q")
    polls = [
        asyncio.create_task(world.messages.receive(queue, 10, wait_ms=LONG_MS)) for _ in range(2)
    ]
    await settled_loop()
    await world.send(queue, "a")
    await world.send(queue, "b")
    polls[0].cancel()
    await settled_loop()
    assert sorted(bodies(await polls[1])) == ["a", "b"]


async def test_poll_ends_when_a_lease_ends_during_the_wait() -> None:
    world = World()
    queue = await world.queue("q")
    await world.send(queue, "a")
    await world.messages.receive(queue, 1, lease_ms=1)
    poll = asyncio.create_task(world.messages.receive(queue, 1, wait_ms=LONG_MS))
    await settled_loop()
    world.clock.advance(1)
    assert bodies(await poll) == ["a"]


async def test_polls_are_woken_by_one_lease_s_end_after_the_other() -> None:
    world = World()
    queue = await world.queue("q")
    await world.send(queue, "a", "b")
    await world.messages.receive(queue, 1, lease_ms=1)
    await world.messages.receive(queue, 1, lease_ms=2)
    polls = [
        asyncio.create_task(world.messages.receive(queue, 1, lease_ms=60_000, wait_ms=LONG_MS))
        for _ in range(2)
    ]
    await settled_loop()
    for _ in polls:
        world.clock.advance(1)
        await asyncio.wait(polls, timeout=WAIT_SECONDS_MAX, return_when=asyncio.FIRST_COMPLETED)
        polls = [poll for poll in polls if not poll.done()]
    assert polls == []


async def test_poll_sees_the_end_of_a_lease_that_began_while_it_waited() -> None:
    world = World()
    queue = await world.queue("q", delivery_paused=True)
    poll = asyncio.create_task(world.messages.receive(queue, 1, wait_ms=LONG_MS))
    await settled_loop()
    await world.send(queue, "a", delay_ms=1)
    await world.queues.change(queue.key, {"delivery_paused": False})
    world.clock.advance(1)
    assert bodies(await poll) == ["a"]


async def test_cancelled_poll_hands_its_turn_to_the_next() -> None:
    world = World()
    queue = await world.queue("q")
    first = asyncio.create_task(world.messages.receive(queue, 1, wait_ms=LONG_MS))
    await settled_loop()
    second = asyncio.create_task(world.messages.receive(queue, 1, wait_ms=LONG_MS))
    await settled_loop()
    await world.send(queue, "a")
    first.cancel()
    assert bodies(await second) == ["a"]
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_drain_answers_parked_polls_empty_and_parks_no_more() -> None:
    world = World()
    queue = await world.queue("q")
    poll = asyncio.create_task(world.messages.receive(queue, 1, wait_ms=LONG_MS))
    await settled_loop()
    await world.service.drain()
    assert await poll == []
    assert await world.messages.receive(queue, 1, wait_ms=LONG_MS) == []


async def test_removing_the_queue_ends_its_polls_with_queue_missing() -> None:
    world = World()
    queue = await world.queue("q")
    poll = asyncio.create_task(world.messages.receive(queue, 1, wait_ms=LONG_MS))
    await settled_loop()
    await world.queues.remove(queue.key)
    with pytest.raises(QueueMissing):
        await poll


async def test_settling_the_head_of_a_fifo_group_wakes_a_poll() -> None:
    world = World()
    queue = await world.queue("q.fifo")
    await world.send(queue, "a", "b", group="g")
    [head] = await world.messages.receive(queue, 1)
    poll = asyncio.create_task(world.messages.receive(queue, 1, wait_ms=LONG_MS))
    await settled_loop()
    assert not poll.done()
    await world.messages.settle(queue, [head.receipt])
    assert bodies(await poll) == ["b"]


async def test_ended_polls_leave_nothing_behind() -> None:
    world = World()
    queue = await world.queue("q")
    assert await world.messages.receive(queue, 1, wait_ms=1) == []
    assert world.service.polls.parked == 0
    await world.send(queue, "a")
    assert bodies(await world.messages.receive(queue, 1, wait_ms=LONG_MS)) == ["a"]
