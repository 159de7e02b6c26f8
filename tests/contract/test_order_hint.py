"""The order hint K: a receive of n draws among the first max(K, n) visible messages."""

from collections import Counter

from dovemq.core.queue import ANY_ORDER
from tests.contract.world import Line, World

DRAWS = 400


async def _drawn_first(line: Line, draws: int = DRAWS) -> Counter[str]:
    """Count how often each message is taken, by receives of one message that are released again."""
    drawn: Counter[str] = Counter()
    for _ in range(draws):
        (lease,) = await line.take(1)
        drawn[lease.message.body] += 1
        await line.release(lease)
    return drawn


async def test_hint_of_one_leaves_nothing_to_chance(world: World) -> None:
    line = await world.queue(order_hint=1)
    await line.send(*"abcdefghij")
    assert await _drawn_first(line, 20) == {"a": 20}


async def test_hint_of_one_does_not_touch_the_generator(world: World) -> None:
    line = await world.queue(order_hint=1)
    await line.send(*"abcdefghij")
    state = world.rng.getstate()
    await line.take(3)
    assert world.rng.getstate() == state


async def test_draw_reaches_all_of_the_first_k_and_no_other(world: World) -> None:
    line = await world.queue(order_hint=4)
    await line.send(*"abcdefghij")
    assert set(await _drawn_first(line)) == set("abcd")


async def test_draw_is_even_among_the_first_k(world: World) -> None:
    line = await world.queue(order_hint=4)
    await line.send(*"abcdefghij")
    drawn = await _drawn_first(line)
    # Three standard deviations of a binomial count with p = 1/4.
    assert all(abs(count - DRAWS / 4) < 3 * (DRAWS * 3 / 16) ** 0.5 for count in drawn.values())


async def test_receive_of_more_than_k_takes_the_first_in_order(world: World) -> None:
    line = await world.queue(order_hint=3)
    await line.send(*"abcdefghij")
    assert await line.bodies(5) == list("abcde")


async def test_receive_of_several_draws_without_replacement(world: World) -> None:
    line = await world.queue(order_hint=6)
    await line.send(*"abcdefghij")
    for _ in range(30):
        taken = await line.take(4)
        bodies = [lease.message.body for lease in taken]
        assert len(set(bodies)) == 4
        assert set(bodies) <= set("abcdef")
        await line.release(*taken)


async def test_several_drawn_messages_are_answered_in_their_order(world: World) -> None:
    line = await world.queue(order_hint=8)
    await line.send(*"abcdefghij")
    for _ in range(30):
        taken = await line.take(4)
        bodies = [lease.message.body for lease in taken]
        assert bodies == sorted(bodies)
        await line.release(*taken)


async def test_backlog_shorter_than_k_is_taken_in_order(world: World) -> None:
    line = await world.queue(order_hint=100)
    await line.send(*"abc")
    assert await line.bodies(3) == list("abc")


async def test_hidden_messages_take_no_part_in_the_draw(world: World) -> None:
    line = await world.queue(order_hint=3)
    await line.send("a", "b")
    await line.take(2)
    await line.send("late", delay_ms=60_000)
    await line.send(*"cdefg")
    assert set(await _drawn_first(line, 100)) == set("cde")


async def test_no_order_draws_from_the_whole_backlog(world: World) -> None:
    line = await world.queue(order_hint=ANY_ORDER)
    await line.send(*(str(number) for number in range(20)))
    assert len(await _drawn_first(line)) == 20


async def test_no_order_draws_among_the_first_thousand(world: World) -> None:
    line = await world.queue(order_hint=ANY_ORDER)
    await line.send(*(str(number) for number in range(1_100)))
    drawn = [int(body) for body in await _drawn_first(line, 60)]
    assert max(drawn) < 1_000
    assert max(drawn) > 800


async def test_changed_hint_holds_for_the_next_receive(world: World) -> None:
    line = await world.queue(order_hint=10)
    await line.send(*"abcdefghij")
    assert len(await _drawn_first(line, 100)) == 10
    await line.change(order_hint=2)
    assert set(await _drawn_first(line, 100)) == set("ab")
    await line.change(order_hint=1)
    assert await line.bodies(10) == list("abcdefghij")


async def test_everything_is_received_whatever_the_hint(world: World) -> None:
    line = await world.queue(order_hint=7)
    await line.send(*(str(number) for number in range(40)))
    received: list[str] = []
    while bodies := await line.bodies(3):
        received += bodies
    assert sorted(received, key=int) == [str(number) for number in range(40)]
