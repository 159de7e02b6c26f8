"""A queue that sizes itself over several front ends: they report, and the leading one acts."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from dovemq.cluster.catalogue import CatalogueChange
from dovemq.core.queue import Queue, changed_settings
from dovemq.core.sessions import ClientSession
from dovemq.fabric.autonomic import ActionKind, ClientRole
from dovemq.fabric.sizing import SizingPorts
from dovemq.fabric.store import FabricStore
from tests.cluster.world import FAILOVER_SECONDS, FrontEnds, Member, in_virtual_time
from tests.fabric.sized import FakeClients, FakeRecorder

SEEN_SECONDS = 5
"""Long enough for a heartbeat with a report, a look at it, and a step of the leading front end."""


class SizedFrontEnd:
    """The fabric of one front end, put together as a server does it."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self.clients = FakeClients()
        self.recorder = FakeRecorder()
        store = member.store
        ports = SizingPorts(
            others=lambda: store.loads_of_others().values(),
            placement=store.wanted_at,
            is_local=store.is_local,
        )
        self.fabric = FabricStore(store, member.clock, None, store.is_local, ports, self.clients)
        self.fabric.sizing.controller.recorder = self.recorder
        store.report_load(self.fabric.sizing.reports.encoded)
        store.watch_catalogue(self._follow)
        self.fabric.start(store.leads)

    def _follow(self, change: CatalogueChange) -> None:
        for queue in change.queues:
            self.fabric.noticed(queue)

    async def queue(self, found: Queue) -> Queue:
        newest = await self.fabric.catalogue.find(found.key)
        assert newest is not None
        return newest

    async def active(self, found: Queue) -> tuple[int, ...]:
        return (await self.queue(found)).settings.layout.active


@contextlib.asynccontextmanager
async def started(front_ends: FrontEnds, count: int) -> AsyncIterator[list[SizedFrontEnd]]:
    fabrics = [SizedFrontEnd(member) for member in await front_ends.start_many(count)]
    yield fabrics
    for each in fabrics:
        await each.fabric.close()


async def created(one: SizedFrontEnd, **settings: Any) -> Queue:
    queue = await one.member.create(auto=True, **settings)
    await asyncio.sleep(SEEN_SECONDS)
    return queue


def actions(all_of: list[SizedFrontEnd]) -> list[list[ActionKind]]:
    return [[kind for kind, _ in each.recorder.actions] for each in all_of]


@in_virtual_time
async def test_clients_of_all_front_ends_make_the_leading_one_add_a_partition(
    front_ends: FrontEnds,
) -> None:
    async with started(front_ends, 3) as fabrics:
        queue = await created(fabrics[2])
        for each in fabrics:
            each.clients.set(0, 2, 3)
        await asyncio.sleep(SEEN_SECONDS)
        assert actions(fabrics) == [[ActionKind.ADD], [], []]
        places = [await each.active(queue) for each in fabrics]
        assert places[0] == places[1] == places[2]
        assert len(places[0]) == 2


@in_virtual_time
async def test_front_end_of_a_client_that_finds_no_room_adds_a_partition_at_once(
    front_ends: FrontEnds,
) -> None:
    async with started(front_ends, 3) as fabrics:
        queue = await created(fabrics[0])
        fabrics[0].clients.set(0, 4, 8)
        # The others know of the queue by its messages.
        assert fabrics[2].fabric.partition(queue, 0) is not None
        await asyncio.sleep(SEEN_SECONDS)
        with ClientSession().call():
            await fabrics[2].fabric.join(queue, ClientRole.PRODUCER)
        assert actions(fabrics) == [[], [], [ActionKind.ADD]]
        assert len(await fabrics[2].active(queue)) == 2
        await asyncio.sleep(SEEN_SECONDS)
        assert actions(fabrics) == [[], [], [ActionKind.ADD]]
        assert await fabrics[0].active(queue) == await fabrics[2].active(queue)


@in_virtual_time
async def test_new_partitions_are_served_by_different_front_ends(front_ends: FrontEnds) -> None:
    async with started(front_ends, 3) as fabrics:
        queue = await created(fabrics[0], partitions_min=3)
        active = await fabrics[0].active(queue)
        assert len(active) == 3
        owners = {front_ends.owner(queue, number).address for number in active}
        assert len(owners) == 3


@in_virtual_time
async def test_messages_of_partitions_elsewhere_are_in_the_view_of_the_leading_one(
    front_ends: FrontEnds,
) -> None:
    async with started(front_ends, 3) as fabrics:
        queue = await created(fabrics[0], partitions_min=3)
        newest = await fabrics[0].queue(queue)
        for number in newest.settings.layout.active:
            await fabrics[1].member.send(newest, f"a{number}", f"b{number}", partition=number)
        await asyncio.sleep(SEEN_SECONDS)
        for each in fabrics:
            load = each.fabric.sizing.view.observation(newest)
            assert [partition.visible for partition in load.partitions] == [2, 2, 2]


@in_virtual_time
async def test_next_leading_front_end_goes_on_and_the_clients_of_a_dead_one_do_not_count(
    front_ends: FrontEnds,
) -> None:
    async with started(front_ends, 3) as fabrics:
        queue = await created(fabrics[1])
        fabrics[0].clients.set(0, 10, 10)
        await asyncio.sleep(SEEN_SECONDS)
        assert len(await fabrics[1].active(queue)) == 2
        front_ends.kill(fabrics[0].member)
        await asyncio.sleep(FAILOVER_SECONDS + 60)
        assert actions(fabrics)[1] == [ActionKind.MARK, ActionKind.REMOVE]
        assert len(await fabrics[2].active(queue)) == 1
        view = fabrics[2].fabric.sizing.view
        assert view.observation(await fabrics[2].queue(queue)).partitions[0].clients == 0


@in_virtual_time
async def test_change_of_the_owner_through_another_front_end_is_followed(
    front_ends: FrontEnds,
) -> None:
    async with started(front_ends, 2) as fabrics:
        queue = await created(fabrics[1], partitions_min=2)
        assert len(await fabrics[0].active(queue)) == 2
        changed = await fabrics[1].queue(queue)
        settings = changed_settings(changed.settings, {"partitions": 1})
        assert await fabrics[1].fabric.catalogue.replace(
            msgspec.structs.replace(changed, settings=settings)
        )
        await asyncio.sleep(SEEN_SECONDS)
        assert await fabrics[0].active(queue) == changed.settings.layout.active[:1]
        assert all(each.fabric.sizing.count == 0 for each in fabrics)
        assert all(not each.member.store.loads_of_others() for each in fabrics)
