"""Dead letters and moves between queues."""

import asyncio

import pytest

from dovemq.core.commands import MoveStatus
from dovemq.core.errors import InvalidAttribute, MoveRefused, ResourceMissing, Unsupported
from dovemq.core.queue import QueueSettings, Redrive, RedriveAllow
from dovemq.service import build_service
from dovemq.service.moves import QUEUE_GONE
from tests.service.world import World, bodies, key


async def test_message_goes_to_the_dead_letter_queue_when_receives_exceed_the_limit() -> None:
    world = World()
    work, dead = await world.with_dead_letters(2)
    await world.send(work, "poison")
    for _ in range(2):
        assert bodies(await world.messages.receive(work, 1)) == ["poison"]
        world.clock.advance(1_000)
    assert await world.messages.receive(work, 1) == []
    [letter] = await world.messages.receive(dead, 1)
    assert letter.lease.message.source == "000000000000/work"
    assert letter.lease.receive_count == 3
    assert (await world.queues.counts(work)).visible == 0


async def test_receive_fills_up_with_fresh_messages_behind_an_exhausted_one() -> None:
    world = World()
    work, _ = await world.with_dead_letters(1)
    await world.send(work, "poison")
    await world.messages.receive(work, 1)
    await world.send(work, "fresh")
    world.clock.advance(1_000)
    assert bodies(await world.messages.receive(work, 10)) == ["fresh"]


async def test_without_its_dead_letter_queue_a_message_is_delivered_on() -> None:
    world = World()
    work, dead = await world.with_dead_letters(1)
    await world.send(work, "poison")
    await world.queues.remove(dead.key)
    for _ in range(3):
        assert bodies(await world.messages.receive(work, 1)) == ["poison"]
        world.clock.advance(1_000)


async def test_redrive_to_a_queue_that_does_not_exist_is_refused() -> None:
    world = World()
    with pytest.raises(InvalidAttribute, match="does not exist"):
        await world.queue("work", redrive=Redrive(key("nowhere"), 1))


async def test_queue_that_is_its_own_dead_letter_queue_delivers_its_messages_on() -> None:
    world = World()
    queue = await world.queue("work", lease_ms=1_000)
    queue = await world.queues.change(queue.key, {"redrive": Redrive(queue.key, 1)})
    await world.send(queue, "a")
    for receive_count in (1, 2, 3):
        [delivery] = await world.messages.receive(queue, 1)
        assert delivery.lease.receive_count == receive_count
        world.clock.advance(1_000)


async def test_redrive_allow_policy_of_the_target_is_enforced() -> None:
    world = World()
    only = RedriveAllow("byQueue", (key("friend"),))
    dead = await world.queue("dead", redrive_allow=only)
    await world.queue("friend", redrive=Redrive(dead.key, 1))
    with pytest.raises(InvalidAttribute, match="does not allow"):
        await world.queue("stranger", redrive=Redrive(dead.key, 1))


@pytest.mark.parametrize(
    "policy", [RedriveAllow("denyAll"), RedriveAllow("byQueue", (key("friend"),))]
)
async def test_source_that_is_no_longer_allowed_keeps_its_messages(policy: RedriveAllow) -> None:
    world = World()
    work, dead = await world.with_dead_letters(1)
    await world.send(work, "poison")
    await world.messages.receive(work, 1)
    await world.queues.change(dead.key, {"redrive_allow": policy})
    for _ in range(3):
        world.clock.advance(1_000)
        assert bodies(await world.messages.receive(work, 1)) == ["poison"]
    assert (await world.queues.counts(dead)).visible == 0
    await world.queues.change(dead.key, {"redrive_allow": RedriveAllow("byQueue", (work.key,))})
    world.clock.advance(1_000)
    assert await world.messages.receive(work, 1) == []
    assert (await world.queues.counts(dead)).visible == 1


async def test_source_that_is_no_longer_allowed_cannot_name_the_target_again() -> None:
    world = World()
    work, dead = await world.with_dead_letters(1)
    await world.queues.change(dead.key, {"redrive_allow": RedriveAllow("denyAll")})
    with pytest.raises(InvalidAttribute, match="does not allow"):
        await world.queues.change(work.key, {"redrive": Redrive(dead.key, 5)})
    changed = await world.queues.change(work.key, {"delay_ms": 1_000})
    assert changed.settings.redrive == Redrive(dead.key, 1)


async def test_dead_letters_of_a_source_that_is_no_longer_allowed_can_be_moved_back() -> None:
    world = World()
    work, dead = await world.with_dead_letters(1)
    await world.send(work, "poison")
    await world.messages.receive(work, 1)
    world.clock.advance(1_000)
    assert await world.messages.receive(work, 1) == []
    await world.queues.change(dead.key, {"redrive_allow": RedriveAllow("denyAll")})
    await world.moves.start(dead.key, None, None)
    await world.moves.idle()
    for _ in range(3):
        assert bodies(await world.messages.receive(work, 1)) == ["poison"]
        world.clock.advance(1_000)
    assert (await world.queues.counts(dead)).visible == 0


async def test_target_of_a_move_may_be_any_queue() -> None:
    world = World()
    _, dead = await world.with_dead_letters(1)
    await world.send(dead, "letter")
    other = await world.queue("other", redrive_allow=RedriveAllow("denyAll"))
    await world.moves.start(dead.key, other.key, None)
    await world.moves.idle()
    assert bodies(await world.messages.receive(other, 1)) == ["letter"]


async def test_move_returns_dead_letters_to_their_origin_with_a_fresh_count() -> None:
    world = World()
    work, dead = await world.with_dead_letters(1)
    await world.send(work, *(f"m{n}" for n in range(25)))
    for _ in range(3):
        await world.messages.receive(work, 10)
    world.clock.advance(1_000)
    assert await world.messages.receive(work, 10) == []
    move = await world.moves.start(dead.key, None, None)
    await world.moves.idle()
    [listed] = await world.moves.listing(dead.key, 10)
    assert (listed.move_id, listed.status, listed.moved) == (
        move.move_id,
        MoveStatus.COMPLETED,
        25,
    )
    [first] = await world.messages.receive(work, 1)
    assert first.lease.receive_count == 1
    assert first.lease.message.source is None


async def test_move_of_a_message_without_origin_fails_and_keeps_it() -> None:
    world = World()
    _, dead = await world.with_dead_letters(1)
    await world.send(dead, "sent here directly")
    await world.moves.start(dead.key, None, None)
    await world.moves.idle()
    [listed] = await world.moves.listing(dead.key, 10)
    assert (listed.status, listed.failure) == (
        MoveStatus.FAILED,
        "CouldNotDetermineMessageSource",
    )
    assert (await world.queues.counts(dead)).visible == 1


async def test_move_whose_target_is_removed_fails_and_gives_its_messages_back() -> None:
    world = World()
    work, dead = await world.with_dead_letters(1)
    await world.send(dead, "a", "b")
    await world.moves.start(dead.key, work.key, 500)
    await world.queues.remove(work.key)
    await world.moves.idle()
    [listed] = await world.moves.listing(dead.key, 10)
    assert (listed.status, listed.failure) == (MoveStatus.FAILED, QUEUE_GONE)
    assert (await world.queues.counts(dead)).visible == 2


async def test_move_to_a_named_target_takes_messages_of_any_origin() -> None:
    world = World()
    work, dead = await world.with_dead_letters(1)
    await world.send(dead, "a")
    await world.moves.start(dead.key, work.key, 500)
    await world.moves.idle()
    assert bodies(await world.messages.receive(work, 1)) == ["a"]


async def test_moves_are_refused_where_they_make_no_sense() -> None:
    world = World()
    work, dead = await world.with_dead_letters(1)
    with pytest.raises(ResourceMissing):
        await world.moves.start(key("nowhere"), None, None)
    with pytest.raises(MoveRefused):
        await world.moves.start(work.key, None, None)
    with pytest.raises(ResourceMissing):
        await world.moves.start(dead.key, key("nowhere"), None)
    with pytest.raises(ResourceMissing):
        await world.moves.cancel("no such task")


async def test_move_to_a_queue_of_the_other_type_is_refused() -> None:
    world = World()
    _, dead = await world.with_dead_letters(1)
    await world.send(dead, "a")
    fifo = await world.queue("other.fifo")
    with pytest.raises(MoveRefused, match="same type"):
        await world.moves.start(dead.key, fifo.key, None)


async def test_move_leaves_a_later_queue_of_its_source_s_name_alone() -> None:
    world = World()
    work, dead = await world.with_dead_letters(1)
    await world.send(dead, "old")
    await world.moves.start(dead.key, work.key, None)
    await world.queues.remove(dead.key)
    later = await world.queue("dead")
    await world.send(later, "new")
    await world.moves.idle()
    assert (await world.queues.counts(later)).visible == 1
    assert await world.moves.listing(later.key, 10) == []


async def test_one_move_at_a_time_and_cancel_ends_it() -> None:
    world = World()
    work, dead = await world.with_dead_letters(1)
    await world.send(dead, *(f"m{n}" for n in range(30)))
    move = await world.moves.start(dead.key, work.key, 50)
    with pytest.raises(MoveRefused):
        await world.moves.start(dead.key, work.key, 50)
    await world.moves.cancel(move.move_id)
    await world.moves.idle()
    [listed] = await world.moves.listing(dead.key, 10)
    assert listed.status is MoveStatus.CANCELLED
    with pytest.raises(Unsupported):
        await world.moves.cancel(move.move_id)


async def test_running_move_goes_on_after_a_restart() -> None:
    world = World()
    work, dead = await world.with_dead_letters(1)
    await world.send(dead, *(f"m{n}" for n in range(30)))
    await world.moves.start(dead.key, work.key, 20)
    await world.service.drain()
    moved_before = (await world.queues.counts(work)).visible
    assert moved_before < 30
    again = build_service(world.store, world.clock, world.new_id)
    await again.moves.resume()
    await again.moves.idle()
    assert (await world.queues.counts(work)).visible == 30


def test_default_settings_have_no_redrive() -> None:
    assert QueueSettings().redrive is None


async def test_move_keeps_to_a_rate_below_one_batch() -> None:
    world = World()
    work, dead = await world.with_dead_letters(1)
    await world.send(dead, *(f"m{n}" for n in range(10)))
    await world.moves.start(dead.key, work.key, 2)
    for _ in range(50):
        await asyncio.sleep(0)
    assert (await world.queues.counts(work)).visible == 2
    await world.service.drain()


async def test_exhausted_fifo_message_leaves_by_a_receive_without_a_lease() -> None:
    world = World()
    dead = await world.queue("dead.fifo")
    redrive = Redrive(dead.key, 1)
    work = await world.queue("work.fifo", redrive=redrive)
    await world.send(work, "poison", group="g")
    assert bodies(await world.messages.receive(work, 1, lease_ms=0)) == ["poison"]
    assert await world.messages.receive(work, 1, lease_ms=0) == []
    assert bodies(await world.messages.receive(dead, 1)) == ["poison"]
