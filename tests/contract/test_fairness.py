"""Fairness: on standard queues a group that hogs the leases lets the quiet ones go first."""

from collections.abc import Sequence

from dovemq.core import limits
from dovemq.core.commands import Lease
from tests.contract.world import Line, World

NOISY = limits.NOISY_LEASES_MIN


async def _take_all(line: Line, count: int) -> list[Lease]:
    taken: list[Lease] = []
    while len(taken) < count:
        more = await line.take(min(10, count - len(taken)), lease_ms=limits.HOUR_MS)
        assert more
        taken += more
    return taken


async def _noise(line: Line, left: Sequence[str], group: str = "loud") -> list[Lease]:
    """Make a group noisy, with the given messages of it still to be received."""
    await line.send(*(f"{group}{number}" for number in range(NOISY)), group=group)
    taken = await _take_all(line, NOISY)
    await line.send(*left, group=group)
    return taken


async def test_quiet_group_goes_before_a_noisy_one(world: World) -> None:
    line = await world.queue()
    await _noise(line, ["loud a", "loud b"])
    await line.send("quiet", group="quiet")
    assert await line.bodies(1) == ["quiet"]


async def test_message_without_a_group_goes_before_a_noisy_group(world: World) -> None:
    line = await world.queue()
    await _noise(line, ["loud a"])
    await line.send("plain")
    assert await line.bodies(1) == ["plain"]


async def test_noisy_group_fills_up_what_quiet_ones_leave(world: World) -> None:
    line = await world.queue()
    await _noise(line, ["loud a", "loud b"])
    await line.send("quiet", group="quiet")
    assert await line.bodies(3) == ["quiet", "loud a", "loud b"]


async def test_noisy_group_is_served_in_order_when_it_is_alone(world: World) -> None:
    line = await world.queue()
    await _noise(line, ["a", "b", "c"])
    assert await line.bodies(2) == ["a", "b"]
    assert await line.bodies(2) == ["c"]


async def test_noisy_messages_are_counted_as_more_to_take(world: World) -> None:
    line = await world.queue()
    await _noise(line, ["a", "b"])
    assert (await line.lease(1)).more is True
    assert (await line.lease(1)).more is False


async def test_group_with_few_leases_is_not_noisy(world: World) -> None:
    line = await world.queue()
    await line.send(*(str(number) for number in range(NOISY - 1)), group="busy")
    await _take_all(line, NOISY - 1)
    await line.send("busy", group="busy")
    await line.send("quiet", group="quiet")
    assert await line.bodies(2) == ["busy", "quiet"]


async def test_group_with_a_small_share_of_the_leases_is_not_noisy(world: World) -> None:
    line = await world.queue()
    plain = 9 * NOISY
    await line.send(*(str(number) for number in range(plain)))
    await _take_all(line, plain)
    await line.send(*(str(number) for number in range(NOISY)), group="busy")
    await _take_all(line, NOISY)
    await line.send("busy", group="busy")
    await line.send("quiet", group="quiet")
    assert await line.bodies(2) == ["busy", "quiet"]


async def test_among_noisy_groups_the_one_with_fewest_leases_goes_first(world: World) -> None:
    line = await world.queue()
    await _noise(line, [], group="louder")
    await line.send("l1", "l2", group="louder")
    await _take_all(line, 2)
    await _noise(line, [], group="loud")
    await line.send("louder", group="louder")
    await line.send("loud", group="loud")
    assert await line.bodies(1) == ["loud"]


async def test_noisy_groups_take_turns_by_their_leases(world: World) -> None:
    line = await world.queue()
    await _noise(line, [], group="one")
    await _noise(line, [], group="two")
    await line.send("a1", "a2", group="one")
    await line.send("b1", "b2", group="two")
    assert await line.bodies(4) == ["a1", "b1", "a2", "b2"]


async def test_noisy_group_stays_noisy_when_its_leases_are_settled(world: World) -> None:
    line = await world.queue()
    taken = await _noise(line, ["a", "b"])
    assert await line.bodies(1) == ["a"]
    await line.settle(*taken)
    await line.send("quiet", group="quiet")
    assert await line.bodies(1) == ["quiet"]


async def test_drained_group_is_calm_again(world: World) -> None:
    line = await world.queue()
    taken = await _noise(line, ["a"])
    (last,) = await line.take(1)
    await line.settle(*taken, last)
    await line.send("busy", group="loud")
    await line.send("quiet", group="quiet")
    assert await line.bodies(2) == ["busy", "quiet"]


async def test_group_without_sends_for_a_while_is_calm_again(world: World) -> None:
    line = await world.queue()
    taken = await _noise(line, ["a", "b"])
    assert await line.bodies(1) == ["a"]
    await line.settle(*taken)
    world.clock.advance(limits.NOISY_QUIET_MS)
    await line.send("quiet", group="quiet")
    assert await line.bodies(1) == ["b"]


async def test_group_becomes_noisy_with_the_lease_that_is_one_too_many(world: World) -> None:
    line = await world.queue()
    await line.send(*(str(number) for number in range(NOISY)), group="loud")
    await _take_all(line, NOISY - 1)
    await line.send("quiet", group="quiet")
    assert await line.bodies(1) == [str(NOISY - 1)]
    await line.send("again", group="loud")
    assert await line.bodies(1) == ["quiet"]
