"""Move tasks are kept: the running ones always, of the finished ones the last ten."""

import msgspec

from dovemq.core.commands import Move, MoveStatus
from dovemq.core.queue import QueueKey
from tests.contract.world import ACCOUNT, World

DEAD = QueueKey(ACCOUNT, "dead")


def _move(number: int, status: MoveStatus = MoveStatus.RUNNING, source: QueueKey = DEAD) -> Move:
    return Move(f"move-{number}", str(source), None, None, 1_000 + number, 5, status=status)


async def test_saved_move_is_listed_as_it_is(world: World) -> None:
    await world.queue("dead")
    move = Move(
        "move", str(DEAD), f"{ACCOUNT}/jobs", 50, 1_000, 9, 4, MoveStatus.FAILED, "no such queue"
    )
    await world.store.catalogue.save_move(move)
    assert await world.store.catalogue.moves(DEAD) == [move]


async def test_saving_again_replaces_the_move(world: World) -> None:
    await world.queue("dead")
    await world.store.catalogue.save_move(_move(1))
    moved = msgspec.structs.replace(_move(1), moved=3, status=MoveStatus.COMPLETED)
    await world.store.catalogue.save_move(moved)
    assert await world.store.catalogue.moves(DEAD) == [moved]


async def test_moves_are_listed_newest_first(world: World) -> None:
    await world.queue("dead")
    for number in (2, 1, 3):
        await world.store.catalogue.save_move(_move(number, MoveStatus.COMPLETED))
    listed = await world.store.catalogue.moves(DEAD)
    assert [move.move_id for move in listed] == ["move-3", "move-2", "move-1"]


async def test_moves_of_another_source_are_not_listed(world: World) -> None:
    await world.queue("dead")
    await world.queue("other")
    other = QueueKey(ACCOUNT, "other")
    await world.store.catalogue.save_move(_move(1))
    await world.store.catalogue.save_move(_move(2, source=other))
    assert await world.store.catalogue.moves(other) == [_move(2, source=other)]


async def test_moves_of_all_sources_are_listed_together(world: World) -> None:
    await world.queue("dead")
    await world.queue("other")
    moves = [_move(2, source=QueueKey(ACCOUNT, "other")), _move(1)]
    for move in moves:
        await world.store.catalogue.save_move(move)
    assert await world.store.catalogue.moves() == moves


async def test_queue_without_moves_lists_none(world: World) -> None:
    await world.queue("dead")
    assert await world.store.catalogue.moves(DEAD) == []
    assert await world.store.catalogue.moves() == []


async def test_last_ten_finished_moves_are_kept(world: World) -> None:
    await world.queue("dead")
    for number in range(15):
        await world.store.catalogue.save_move(_move(number, MoveStatus.COMPLETED))
    listed = await world.store.catalogue.moves(DEAD)
    assert [move.move_id for move in listed] == [f"move-{number}" for number in range(14, 4, -1)]


async def test_unfinished_moves_are_kept_however_old(world: World) -> None:
    await world.queue("dead")
    await world.store.catalogue.save_move(_move(0, MoveStatus.RUNNING))
    await world.store.catalogue.save_move(_move(1, MoveStatus.CANCELLING))
    for number in range(2, 20):
        await world.store.catalogue.save_move(_move(number, MoveStatus.CANCELLED))
    listed = await world.store.catalogue.moves(DEAD)
    assert len(listed) == 12
    assert [move.move_id for move in listed[-2:]] == ["move-1", "move-0"]


async def test_moves_go_with_their_source(world: World) -> None:
    await world.queue("dead")
    await world.store.catalogue.save_move(_move(1))
    await world.store.catalogue.remove(DEAD)
    await world.queue("dead")
    assert await world.store.catalogue.moves() == []
