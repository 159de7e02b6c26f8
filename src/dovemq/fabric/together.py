"""Verbs that are asked of several partitions at the same time."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from dovemq.core.commands import Counts
from dovemq.core.ports import Clock
from dovemq.fabric.members import Members

T = TypeVar("T")
R = TypeVar("R")


async def all_of(works: Sequence[Awaitable[R]]) -> list[R]:
    """The results in order. If some fail, the others are finished before the first error."""
    results = await asyncio.gather(*works, return_exceptions=True)
    done: list[R] = []
    for result in results:
        if isinstance(result, BaseException):
            raise result
        done.append(result)
    return done


async def divided(
    items: Sequence[T],
    place_of: Callable[[T], int],
    ask: Callable[[int, Sequence[T]], Awaitable[list[R]]],
) -> list[R]:
    """Ask each partition for its items; the answers are in the order of the items."""
    positions: dict[int, list[int]] = {}
    for position, item in enumerate(items):
        positions.setdefault(place_of(item), []).append(position)
    if len(positions) == 1:
        return await ask(next(iter(positions)), items)
    parts = [ask(number, [items[at] for at in where]) for number, where in positions.items()]
    answers: dict[int, R] = {}
    for where, part in zip(positions.values(), await all_of(parts), strict=True):
        answers.update(zip(where, part, strict=True))
    return [answers[position] for position in range(len(items))]


async def counts_by_partition(members: Members, clock: Clock) -> dict[int, Counts]:
    async def counted(number: int) -> Counts:
        return await members[number].counts(clock.now_ms())

    numbers = members.numbers
    return dict(zip(numbers, await all_of([counted(each) for each in numbers]), strict=True))


def summed(counts: Sequence[Counts]) -> Counts:
    oldest = [each.oldest_ms for each in counts if each.oldest_ms is not None]
    return Counts(
        sum(each.visible for each in counts),
        sum(each.leased for each in counts),
        sum(each.delayed for each in counts),
        min(oldest, default=None),
        sum(each.bytes for each in counts),
    )
