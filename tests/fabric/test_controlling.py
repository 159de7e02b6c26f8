"""The driver of the controller: a queue grows, shrinks and keeps its bounds by itself."""

import asyncio
from typing import Any

import msgspec

from dovemq.core.errors import AuditUnwritable
from dovemq.core.partitions import Layout
from dovemq.core.queue import Queue
from dovemq.fabric.actuator import free_number, one_place
from dovemq.fabric.autonomic import ActionKind
from dovemq.fabric.controlling import ATTEMPTS_MAX, PartitionController
from dovemq.fabric.draining import DRAINED_MS
from dovemq.fabric.sizing import SelfSizing
from tests.fabric.sized import INHIBITION_MS, STEP_MS, SizedWorld

ADD, MARK, UNMARK, REMOVE = ActionKind.ADD, ActionKind.MARK, ActionKind.UNMARK, ActionKind.REMOVE
INHIBITION_STEPS = INHIBITION_MS // STEP_MS


class StaleCatalogue:
    """A catalogue in which another change always comes first."""

    def __init__(self, world: SizedWorld) -> None:
        self._inner: Any = world.fabric.catalogue
        self.attempts = 0

    async def replace(self, queue: Queue) -> bool:
        self.attempts += 1
        return False

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._inner, verb)


async def grown(partitions: int = 2, **changes: Any) -> SizedWorld:
    """A queue that had so many partitions when it began to size itself, without clients."""
    return await SizedWorld(partitions=partitions, **changes).start()


async def marked() -> SizedWorld:
    """A queue whose partition 1 is marked, and has a consumer and a message."""
    world = await grown()
    world.clients.set(0, 2, 4)
    world.clients.set(1, 0, 1)
    await world.send_to(1, "a")
    await world.step()
    assert world.actions == [(MARK, 1)]
    return world


async def test_queue_without_clients_keeps_its_partition() -> None:
    world = await SizedWorld().start()
    await world.step(5)
    assert world.layout == Layout()
    assert not world.actions


async def test_queue_grows_under_load() -> None:
    world = await SizedWorld().start()
    world.clients.set(0, 5, 8)
    await world.step()
    assert world.layout == Layout((0, 1), (), 1)
    assert (world.queue.settings.partitions, world.control.last_number) == (2, 1)
    (record,) = world.recorder.records
    assert (record.queue, record.partitions) == (world.queue.key, 2)
    assert record.action.reason.rule == "R5"
    assert "13 clients on a capacity of 12 are a load of 1.08" in record.action.text


async def test_queue_grows_again_only_after_the_inhibition() -> None:
    world = await SizedWorld().start()
    world.clients.set(0, 20, 20)
    await world.step(INHIBITION_STEPS)
    assert world.actions == [(ADD, 1)]
    await world.step()
    assert world.actions == [(ADD, 1), (ADD, 2)]


async def test_inhibition_of_the_owner_is_used() -> None:
    world = await SizedWorld(inhibition_ms=2_000).start()
    world.clients.set(0, 20, 20)
    await world.step(5)
    assert world.actions == [(ADD, 1), (ADD, 2), (ADD, 3)]


async def test_inhibition_by_a_front_end_whose_clock_is_ahead_lasts_no_longer() -> None:
    world = await SizedWorld().start()
    world.clients.set(0, 20, 20)
    ahead_ms = world.clock.now_ms() + 3_600_000
    control = msgspec.structs.replace(world.control, inhibited_until_ms=ahead_ms)
    settings = msgspec.structs.replace(world.queue.settings, control=control)
    await world.fabric.catalogue.replace(msgspec.structs.replace(world.queue, settings=settings))
    await world.step(INHIBITION_STEPS)
    assert not world.actions
    await world.step()
    assert world.actions == [(ADD, 1)]


async def test_queue_grows_to_its_greatest_number_at_most() -> None:
    world = await SizedWorld(partitions_max=2, inhibition_ms=0).start()
    world.clients.set(0, 50, 50)
    await world.step(10)
    assert world.layout.active == (0, 1)


async def test_marked_partition_gets_no_more_messages_and_serves_its_clients() -> None:
    world = await marked()
    assert world.layout.active == (0, 1)
    assert world.control.marked == 1
    for body in "bcd":
        await world.send(body)
    await world.send("e", group="g")
    assert await world.visible() == [4, 1]
    taken = [lease.message.body for lease in await world.take()]
    assert "a" in taken


async def test_marked_partition_is_emptied_removed_and_forgotten() -> None:
    world = await marked()
    await world.step(3)
    assert world.actions == [(MARK, 1)]
    world.clients.set(1, 0, 0)
    await world.step()
    assert await world.visible() == [1, 0]
    await world.step()
    assert world.actions == [(MARK, 1), (REMOVE, 1)]
    assert world.layout == Layout((0,), (1,), 1)
    assert world.queue.settings.partitions == 1
    assert world.control.marked is None
    await world.step(1 + DRAINED_MS // STEP_MS)
    assert world.layout == Layout((0,), (), 1)
    assert [each.message.body for each in await world.take()] == ["a"]


async def test_groups_of_a_marked_partition_move_to_the_partitions_of_their_new_messages() -> None:
    world = await grown(3)
    world.clients.set(0, 2, 4)
    world.clients.set(1, 2, 4)
    drafts = [world.draft(f"m{number}", f"g{number}") for number in range(12)]
    await world.part(2).send(drafts, world.clock.now_ms())
    await world.step(2)
    assert world.control.marked == 2
    for number in range(12):
        await world.send("again", group=f"g{number}")
    visible = await world.visible()
    assert visible[2] == 0
    assert all(count % 2 == 0 for count in visible)


async def test_marked_partition_is_used_again_when_the_load_returns() -> None:
    world = await marked()
    world.clients.set(0, 5, 9)
    await world.step()
    assert world.actions == [(MARK, 1), (UNMARK, 1)]
    assert world.control.marked is None
    await world.send("b")
    await world.send("c")
    assert (await world.visible())[1] == 2


async def test_mark_on_the_only_partition_is_dropped() -> None:
    world = await SizedWorld().start()
    control = msgspec.structs.replace(world.control, marked=0)
    settings = msgspec.structs.replace(world.queue.settings, control=control)
    await world.fabric.catalogue.replace(msgspec.structs.replace(world.queue, settings=settings))
    await world.refresh()
    assert (await world.fabric.explain(world.queue)).partitions[0].state == "active"
    await world.step()
    assert world.control.marked is None
    assert not world.actions


async def test_no_partition_is_marked_if_the_rest_would_be_nearly_full() -> None:
    world = await grown()
    world.clients.set(0, 2, 9)
    await world.step(3)
    assert not world.actions


async def test_bounds_are_enforced_when_the_owner_changes_them() -> None:
    world = await SizedWorld().start()
    await world.step()
    await world.change(partitions_min=3)
    await world.step(2)
    assert world.actions == [(ADD, 1), (ADD, 2)]
    await world.change(partitions_min=1, partitions_max=2)
    await world.step(2)
    assert world.actions[2:] == [(MARK, 2), (REMOVE, 2)]
    assert world.layout.active == (0, 1)


async def test_number_set_by_the_owner_ends_the_control() -> None:
    world = await marked()
    await world.change(partitions=3)
    world.clients.set(0, 50, 50)
    await world.step(3)
    assert world.layout.active == (0, 1, 2)
    assert world.actions == [(MARK, 1)]
    assert world.fabric.sizing.count == 0
    assert world.fabric.sizing.reports.encoded() is None


async def test_change_of_the_owner_that_comes_first_is_kept() -> None:
    world = await SizedWorld().start()
    world.clients.set(0, 10, 10)
    seen = world.queue
    await world.change(delay_ms=5_000)
    world.manual.advance(STEP_MS)
    await world.fabric.sizing.controller.step(seen)
    await world.refresh()
    assert world.queue.settings.delay_ms == 5_000
    assert world.layout.active == (0, 1)
    assert world.actions == [(ADD, 1)]


async def test_end_of_the_control_that_comes_first_is_respected() -> None:
    world = await SizedWorld().start()
    world.clients.set(0, 10, 10)
    seen = world.queue
    await world.change(partitions=1)
    await world.fabric.sizing.controller.step(seen)
    await world.refresh()
    assert world.layout.active == (0,)
    assert not world.actions


async def test_driver_tries_a_bounded_number_of_times_in_one_step() -> None:
    world = await SizedWorld().start()
    world.clients.set(0, 10, 10)
    stale = StaleCatalogue(world)
    controller = PartitionController(
        stale,
        world.fabric.sizing.view,
        world.fabric.exchange,
        world.clock,
        one_place,
        lambda _: None,
    )
    await controller.step(world.queue)
    assert stale.attempts == ATTEMPTS_MAX
    assert not controller.actions


async def test_another_driver_goes_on_where_one_has_died() -> None:
    world = await marked()
    world.clients.set(1, 0, 0)
    taken_over = SelfSizing(
        world.counting,
        world.fabric.exchange,
        world.clock,
        lambda _: None,
        world.clients,
        world.ports,
    )
    taken_over.controller.recorder = world.recorder
    taken_over.noticed(world.queue)
    for _ in range(2):
        world.manual.advance(STEP_MS)
        await taken_over.step(leads=True)
        await world.refresh()
    assert world.actions == [(MARK, 1), (REMOVE, 1)]
    assert await world.visible() == [1, 0]


async def test_two_drivers_at_the_same_time_make_one_change() -> None:
    world = await SizedWorld().start()
    world.clients.set(0, 10, 10)
    controller = world.fabric.sizing.controller
    await asyncio.gather(controller.step(world.queue), controller.step(world.queue))
    await world.refresh()
    assert world.actions == [(ADD, 1)]


async def test_no_action_is_carried_out_while_none_can_be_recorded() -> None:
    world = await SizedWorld().start()
    world.clients.set(0, 10, 10)
    world.recorder.failure = AuditUnwritable("no space left")
    await world.step()
    assert world.layout == Layout()
    world.recorder.failure = None
    await world.step()
    assert world.actions == [(ADD, 1)]


async def test_front_end_that_does_not_lead_changes_nothing() -> None:
    world = await SizedWorld().start()
    world.clients.set(0, 10, 10)
    await world.fabric.keep_up(leads=False, scan=True)
    await world.refresh()
    assert world.layout == Layout()


async def test_flooded_partition_gives_messages_to_one_that_drains() -> None:
    world = await grown(partitions_min=2)
    world.clients.set(0, 3, 1)
    world.clients.set(1, 0, 3)
    await world.send_to(0, *map(str, range(40)))
    await world.step()
    assert await world.visible() == [10, 30]
    await world.step()
    assert await world.visible() == [10, 30]


async def test_messages_with_a_group_stay_at_a_flooded_partition() -> None:
    world = await grown(partitions_min=2)
    world.clients.set(0, 3, 1)
    world.clients.set(1, 0, 3)
    drafts = [world.draft(str(number), "g") for number in range(40)]
    await world.part(0).send(drafts, world.clock.now_ms())
    await world.step(2)
    assert await world.visible() == [40, 0]
    assert len(await world.take(10)) == 10


def queue_of(world: SizedWorld, *active: int, partitions_max: int = 16) -> Queue:
    layout = Layout(active, (), max(active))
    settings = msgspec.structs.replace(
        world.queue.settings, layout=layout, partitions_max=partitions_max
    )
    return msgspec.structs.replace(world.queue, settings=settings)


async def test_new_partition_goes_to_a_free_front_end() -> None:
    world = await SizedWorld().start()
    queue = queue_of(world, 0, 1, 3)
    places = {2: 1, 6: 2}
    assert free_number(queue, 3, lambda _, number: places.get(number, number % 2)) == 6


async def test_new_partition_goes_to_the_front_end_with_the_fewest_if_none_is_free() -> None:
    world = await SizedWorld().start()
    queue = queue_of(world, 0, 1, 2, 3, 4)
    assert free_number(queue, 4, lambda _, number: number % 3) == 5


async def test_numbers_of_partitions_are_used_in_turn() -> None:
    world = await SizedWorld().start()
    queue = queue_of(world, 0, 1)
    assert free_number(queue, 1, one_place) == 2
    assert free_number(queue, 1, lambda _, number: number % 2) == 2


async def test_numbers_that_were_used_come_before_new_ones() -> None:
    world = await SizedWorld().start()
    queue = queue_of(world, 0, 5)
    assert free_number(queue, 5, one_place) == 1
    assert free_number(queue, 3, one_place) == 4
    full = queue_of(world, *range(254), 255, partitions_max=256)
    assert free_number(full, 255, one_place) == 254
