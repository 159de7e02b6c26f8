"""A log that does, from a seed, the worst that `stores/owned/logged/ports.py` allows.

It wraps a log in memory. Requests and answers are lost, appends land late (after a takeover too), a
group that was not answered is seen by one scan and not by the next, and the owner's process pauses.
It never answers what the inner log has not done.
"""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, TypeVar

from msgspec import Struct

from dovemq.core.errors import StoreUnreachable
from dovemq.stores.owned.logged.ports import Log, LogRow
from dovemq.testing.nasty import each_and_together

T = TypeVar("T")


class LogNature(Struct, frozen=True):
    """The faults of a log: probabilities per call, and times in milliseconds.

    `late`: the request lands up to `late_ms_max` later, and its caller has no answer. `doubtful`:
    an append without an answer is on a minority of replicas, and a read sees it or not.
    """

    request_lost: float = 0.0
    answer_lost: float = 0.0
    late: float = 0.0
    late_ms_max: int = 0
    doubtful: float = 0.0
    delay_ms_max: int = 0


CALM_LOG = LogNature()


class NastyLogs:
    """The faults of all logs of a database. `nature` may be changed at any time."""

    def __init__(self, nature: LogNature, rng: random.Random) -> None:
        self.nature = nature
        self.rng = rng
        self.deeds: Counter[str] = Counter()
        self.doubtful: set[int] = set()
        """Positions of groups that are on a minority of replicas."""
        self._under_way: set[asyncio.Task[None]] = set()

    def happens(self, deed: str, chance: float) -> bool:
        if not chance or self.rng.random() >= chance:
            return False
        self.deeds[deed] += 1
        return True

    async def delay(self, ms_max: int) -> None:
        if ms_max:
            await asyncio.sleep(self.rng.randint(0, ms_max) / 1_000)

    def send_off(self, request: Awaitable[None]) -> "asyncio.Task[None]":
        """Start a request that goes on when its sender is killed."""
        task = asyncio.ensure_future(_run(request))
        self._under_way.add(task)
        task.add_done_callback(self._arrived)
        return task

    async def end(self) -> None:
        """Drop the requests that are still on their way."""
        for task in tuple(self._under_way):
            task.cancel()
        while self._under_way:
            await asyncio.sleep(0)

    def _arrived(self, task: "asyncio.Task[None]") -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            # Nobody may be waiting for it any more.
            task.exception()


class NastyLog:
    """The log as one owner sees it. `paused` waits while the process of the owner is paused."""

    def __init__(self, logs: NastyLogs, inner: Log, paused: Callable[[], Awaitable[None]]) -> None:
        self._logs = logs
        self._inner = inner
        self._paused = paused

    async def append(self, position: int, group: bytes, keep_ms: int, *, grow: bool = True) -> None:
        async def land() -> None:
            await self._inner.append(position, group, keep_ms, grow=grow)

        await self._change("append", land, position)

    async def trim(self, before: int) -> None:
        await self._change("trim", lambda: self._inner.trim(before))

    async def set_bookmark(self, position: int) -> None:
        await self._change("bookmark", lambda: self._inner.set_bookmark(position))

    async def bookmark(self) -> int:
        return await self._asked(self._inner.bookmark)

    async def read(self, positions: Sequence[int]) -> dict[int, bytes]:
        found = await self._asked(lambda: self._inner.read(positions))
        return {position: found[position] for position in found if self._is_seen(position)}

    async def scan(self, first: int) -> AsyncIterator[list[LogRow]]:
        unseen = {position for position in self._logs.doubtful if not self._is_seen(position)}
        async for page in self._inner.scan(first):
            await self._asked(_nothing)
            yield [row for row in page if row[0] not in unseen]

    async def _change(
        self, deed: str, change: Callable[[], Awaitable[None]], position: int | None = None
    ) -> None:
        logs, nature = self._logs, self._logs.nature
        await self._paused()
        if logs.happens(f"{deed} lost", nature.request_lost):
            await logs.delay(nature.delay_ms_max)
            raise StoreUnreachable("nasty", "the request was lost")
        late_ms = nature.late_ms_max if logs.happens(f"{deed} late", nature.late) else 0
        unanswered = late_ms or logs.happens(f"{deed} unanswered", nature.answer_lost)
        if unanswered and position is not None and logs.happens("doubtful", nature.doubtful):
            logs.doubtful.add(position)

        async def land() -> None:
            await logs.delay(late_ms or nature.delay_ms_max)
            await change()

        landing = logs.send_off(land())
        if not late_ms:
            await asyncio.shield(landing)
        await logs.delay(nature.delay_ms_max)
        await self._paused()
        if unanswered:
            raise StoreUnreachable("nasty", "the answer was lost")
        if position is not None:
            logs.doubtful.discard(position)

    async def _asked(self, ask: Callable[[], Awaitable[T]]) -> T:
        await self._paused()
        if self._logs.happens("read lost", self._logs.nature.request_lost / 4):
            raise StoreUnreachable("nasty", "the answer was lost")
        answer = await ask()
        await self._logs.delay(self._logs.nature.delay_ms_max)
        await self._paused()
        return answer

    def _is_seen(self, position: int) -> bool:
        doubtful = position in self._logs.doubtful
        return not doubtful or not self._logs.happens("unseen", 0.5)


async def _run(request: Awaitable[None]) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        await request


async def _nothing() -> None:
    return None


def log_natures() -> dict[str, LogNature]:
    """Returns natures for tests, each fault alone and all together."""
    alone: dict[str, dict[str, Any]] = {
        "slow": {"delay_ms_max": 20},
        "lost": {"request_lost": 0.1, "answer_lost": 0.1, "delay_ms_max": 5},
        "late": {"late": 0.1, "late_ms_max": 4_000, "delay_ms_max": 5},
        "doubtful": {"answer_lost": 0.4, "doubtful": 0.9, "delay_ms_max": 5},
    }
    return {"calm": CALM_LOG, **each_and_together(LogNature, alone)}
