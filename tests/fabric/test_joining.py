"""A client that joins a queue which sizes itself: the queue grows for it, before its election."""

import asyncio
from typing import Any

from dovemq.core.errors import AuditUnwritable
from dovemq.core.queue import Queue
from dovemq.core.sessions import ClientSession
from dovemq.fabric.autonomic import ActionKind, ClientRole
from tests.fabric.clients import AutoWorld, PinnedClient
from tests.fabric.sized import STEP_MS, FakeRecorder

CAPACITY = 12
"""Clients of a partition that was not measured."""
ADD, UNMARK = ActionKind.ADD, ActionKind.UNMARK


class JoinWorld(AutoWorld):
    """The upkeep takes reports and does not lead, so that only joins change the queue."""

    async def start(self) -> "JoinWorld":
        await super().start()
        self.recorder = FakeRecorder()
        self.fabric.sizing.controller.recorder = self.recorder
        await self.step()
        return self

    async def step(self) -> None:
        self.manual.advance(STEP_MS)
        await self.fabric.keep_up(leads=False, scan=True)
        await self.refresh()

    async def producers(self, count: int) -> list[PinnedClient]:
        clients = [self.client() for _ in range(count)]
        for each in clients:
            await each.send("x")
        await self.refresh()
        return clients

    @property
    def actions(self) -> list[tuple[ActionKind, int]]:
        return self.recorder.actions


async def started(partitions: int = 1, clients: int = CAPACITY, **changes: Any) -> JoinWorld:
    world = await JoinWorld(partitions=partitions, **changes).start()
    await world.producers(clients)
    return world


async def test_client_that_finds_no_room_gets_the_partition_that_is_added_for_it() -> None:
    world = await started()
    assert not world.actions
    await world.producers(1)
    assert world.actions == [(ADD, 1)]
    assert world.sessions() == {0: (12, 0), 1: (1, 0)}
    assert await world.visible() == [12, 1]
    (record,) = world.recorder.records
    assert "leaves no room for the client that joins" in record.action.reason.text


async def test_client_that_announces_its_role_makes_room_too() -> None:
    world = await started()
    session = ClientSession()
    with session.call():
        await world.fabric.join(world.queue, ClientRole.CONSUMER)
    assert world.actions == [(ADD, 1)]
    assert world.sessions() == {0: (12, 0), 1: (0, 1)}


async def test_receive_of_a_new_client_makes_room_too() -> None:
    world = await started()
    await world.client().take()
    assert world.actions == [(ADD, 1)]


async def test_clients_that_are_known_make_no_room() -> None:
    world = await started(clients=CAPACITY - 1)
    (last,) = await world.producers(1)
    for _ in range(3):
        await last.send("y")
    assert not world.actions


async def test_queue_does_not_grow_for_a_client_during_the_inhibition() -> None:
    world = await started()
    await world.producers(CAPACITY + 5)
    assert world.actions == [(ADD, 1)]
    assert world.sessions() == {0: (15, 0), 1: (14, 0)}


async def test_marked_partition_is_used_again_for_a_client_that_finds_no_room() -> None:
    world = await JoinWorld(partitions=2).start()
    await world.mark(1)
    await world.producers(CAPACITY + 1)
    assert world.actions == [(UNMARK, 1)]
    assert world.sessions() == {0: (12, 0), 1: (1, 0)}


async def test_queue_does_not_grow_above_its_greatest_number_for_a_client() -> None:
    world = await started(partitions_max=1)
    await world.producers(3)
    assert not world.actions
    assert world.sessions() == {0: (15, 0)}


async def test_front_end_that_has_no_reports_yet_makes_no_room() -> None:
    world = await AutoWorld(partitions=1).start()
    for _ in range(CAPACITY + 1):
        await world.client().send("x")
    await world.refresh()
    assert world.queue.settings.layout.active == (0,)


async def test_client_joins_although_the_change_cannot_be_recorded() -> None:
    world = await started()
    world.recorder.failure = AuditUnwritable("No space left on device")
    await world.producers(1)
    assert world.queue.settings.layout.active == (0,)
    assert world.sessions() == {0: (13, 0)}


class SlowCatalogue:
    """Lets the replacement of a queue wait for a permission."""

    def __init__(self, world: JoinWorld) -> None:
        self.allowed = asyncio.Event()
        self.asked = 0
        catalogue = world.fabric.catalogue
        self.inner = catalogue.replace
        catalogue.replace = self.replace  # type: ignore[method-assign]

    async def joining(self, client: PinnedClient) -> "asyncio.Task[None]":
        """The first send of a client for which the queue is about to grow."""
        sending = asyncio.create_task(client.send("a"))
        while not self.asked:
            await asyncio.sleep(0)
        return sending

    async def replace(self, queue: Queue) -> bool:
        self.asked += 1
        await self.allowed.wait()
        return await self.inner(queue)


async def test_only_one_client_waits_while_the_queue_grows() -> None:
    world = await started()
    slow = SlowCatalogue(world)
    first = await slow.joining(world.client())
    await world.client().send("b")
    assert (slow.asked, first.done()) == (1, False)
    slow.allowed.set()
    await first
    assert world.actions == [(ADD, 1)]
    assert world.sessions() == {0: (13, 0), 1: (1, 0)}


async def test_queue_that_grows_is_recorded_although_its_client_has_left() -> None:
    world = await started()
    slow = SlowCatalogue(world)
    first = await slow.joining(world.client())
    first.cancel()
    await asyncio.wait([first])
    slow.allowed.set()
    while not world.actions:
        await asyncio.sleep(0)
    assert world.actions == [(ADD, 1)]


async def test_client_joins_although_another_change_of_the_queue_comes_first() -> None:
    world = await started()
    slow = SlowCatalogue(world)
    joining = await slow.joining(world.client())
    world.fabric.catalogue.replace = slow.inner  # type: ignore[method-assign]
    await world.change(partitions_max=8)
    slow.allowed.set()
    await joining
    await world.refresh()
    assert not world.actions
    assert world.queue.settings.partitions_max == 8
    assert world.sessions() == {0: (13, 0)}
