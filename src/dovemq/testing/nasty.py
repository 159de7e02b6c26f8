"""A store that does, from a seed, the worst that `core/ports.py` allows.

It wraps another store. Calls are delayed and reordered, requests and replies are lost, messages
become visible late, the store pauses, leases are lost. It never answers what the inner store has
not done.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from dovemq.cluster.routing import RoutedPartition, Verb
from dovemq.core.commands import Ask, Draft, Duplicate, Leased, Receipt, Sent, Settlement
from dovemq.core.errors import UnavailableError
from dovemq.core.ledger import LedgerAsk, LedgerEntry, LedgerPage
from dovemq.core.ports import Catalogue, Clock, Ledger, Partition, Store
from dovemq.core.queue import Queue

T = TypeVar("T")


class AnswerLost(UnavailableError):
    """The answer was lost; the call was done or not."""

    def __init__(self) -> None:
        super().__init__("no answer from the store")


class Nature(Struct, frozen=True):
    """The faults of a store: probabilities per call, and times in milliseconds.

    `delay_ms_max`: before and after each call. `late_ms_max`: until a message is visible. `pause`:
    the whole store stops for up to `pause_ms_max`. `crash`: all leases and the call are lost.
    """

    request_lost: float = 0.0
    reply_lost: float = 0.0
    delay_ms_max: int = 0
    late_ms_max: int = 0
    pause: float = 0.0
    pause_ms_max: int = 0
    crash: float = 0.0


CALM = Nature()


class NastyStore:
    """`nature` may be changed at any time; a calm store lets a run end."""

    def __init__(self, store: Store, nature: Nature, rng: random.Random, clock: Clock) -> None:
        self.receipt_key = store.receipt_key
        self.coordinations = store.coordinations
        self.nature = nature
        self.deeds: dict[str, int] = {}
        """The number of times that each fault happened."""
        self._store = store
        self._rng = rng
        self._clock = clock
        self._partitions: dict[tuple[int, int], NastyPartition] = {}
        self._still_until = 0.0

    @property
    def catalogue(self) -> Catalogue:
        return self._store.catalogue

    @property
    def ledger(self) -> "NastyLedger":
        return NastyLedger(self, self._store.ledger)

    def partition(self, queue: Queue, number: int) -> "NastyPartition":
        inner = self._store.partition(queue, number)
        place = (queue.number, number)
        known = self._partitions.get(place)
        if known is None or known.inner is not inner:
            known = self._partitions[place] = NastyPartition(self, inner)
        return known

    async def close(self) -> None:
        await self._store.close()

    def happens(self, deed: str, chance: float) -> bool:
        if not chance or self._rng.random() >= chance:
            return False
        self.deeds[deed] = self.deeds.get(deed, 0) + 1
        return True

    def up_to(self, ms_max: int) -> int:
        return self._rng.randint(0, ms_max) if ms_max else 0

    def now_ms(self) -> int:
        return self._clock.now_ms()

    async def arrive(self) -> None:
        """Delays or loses a request on its way to the store."""
        nature = self.nature
        await _wait(self.up_to(nature.delay_ms_max))
        loop = asyncio.get_running_loop()
        if self.happens("pause", nature.pause):
            self._still_until = loop.time() + self.up_to(nature.pause_ms_max) / 1_000
        while (left := self._still_until - loop.time()) > 0:
            await asyncio.sleep(left)
        if self.happens("crash", nature.crash):
            for partition in self._partitions.values():
                await partition.forget_leases()
            raise AnswerLost()
        if self.happens("request lost", nature.request_lost):
            raise AnswerLost()

    async def answer(self) -> None:
        """Delays or loses a reply."""
        await _wait(self.up_to(self.nature.delay_ms_max))
        if self.happens("reply lost", self.nature.reply_lost):
            raise AnswerLost()


class NastyPartition(RoutedPartition):
    """A call has the time of its arrival at the store, which may be later than that of its
    request."""

    def __init__(self, store: NastyStore, inner: Partition) -> None:
        self.inner = inner
        self._store = store
        self._leases: dict[int, Receipt] = {}

    def send(self, drafts: Sequence[Draft], now_ms: int) -> Awaitable[list[Sent | Duplicate]]:
        return super().send([self._later(draft) for draft in drafts], now_ms)

    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        await self._store.arrive()
        leased = await self.inner.lease(ask, self._store.now_ms())
        receipts = [lease.receipt for lease in (*leased.messages, *leased.exhausted)]
        self._leases.update((receipt.sequence, receipt) for receipt in receipts)
        try:
            await self._store.answer()
        except asyncio.CancelledError:
            await self.inner.release(receipts, self._store.now_ms())
            raise
        return leased

    def settle(
        self, receipts: Sequence[Receipt], now_ms: int, *, moved: bool = False, forced: bool = False
    ) -> Awaitable[list[Settlement]]:
        for receipt in receipts:
            self._leases.pop(receipt.sequence, None)
        return super().settle(receipts, now_ms, moved=moved, forced=forced)

    def watch(self, wake: Callable[[], None]) -> Callable[[], None]:
        return self.inner.watch(wake)

    async def forget_leases(self) -> None:
        """Makes leased messages visible again; their receive counts stay."""
        held, self._leases = list(self._leases.values()), {}
        await self.inner.extend([(receipt, 0) for receipt in held], self._store.now_ms())

    def _later(self, draft: Draft) -> Draft:
        late_ms = self._store.up_to(self._store.nature.late_ms_max)
        return msgspec.structs.replace(draft, delay_ms=draft.delay_ms + late_ms)

    async def route(self, verb: Verb[T], now_ms: int, *, repeatable: bool = True) -> T:
        await self._store.arrive()
        answer = await verb(self.inner, self._store.now_ms())
        await self._store.answer()
        return answer


class NastyLedger:
    """Its writes and reads are delayed, and requests and replies are lost."""

    def __init__(self, store: NastyStore, inner: Ledger) -> None:
        self._store = store
        self._inner = inner

    async def get(self, kind: str, name: str) -> LedgerEntry | None:
        return await self._called(self._inner.get, kind, name)

    async def put(self, entry: LedgerEntry) -> bool:
        return await self._called(self._inner.put, entry)

    async def remove(self, entry: LedgerEntry) -> bool:
        return await self._called(self._inner.remove, entry)

    async def page(self, ask: LedgerAsk) -> LedgerPage:
        return await self._called(self._inner.page, ask)

    async def due(self, kind: str, until_ms: int, count_max: int) -> list[LedgerEntry]:
        return await self._called(self._inner.due, kind, until_ms, count_max)

    async def _called(self, call: Callable[..., Awaitable[T]], *args: Any) -> T:
        await self._store.arrive()
        answer = await call(*args)
        await self._store.answer()
        return answer


async def _wait(ms: int) -> None:
    if ms:
        await asyncio.sleep(ms / 1_000)


def natures() -> dict[str, Nature]:
    """Returns natures for tests, each fault alone and all together."""
    alone: dict[str, dict[str, Any]] = {
        "slow": {"delay_ms_max": 40},
        "lost requests": {"request_lost": 0.2, "delay_ms_max": 5},
        "lost replies": {"reply_lost": 0.2, "delay_ms_max": 5},
        "late messages": {"late_ms_max": 300},
        "pauses": {"pause": 0.05, "pause_ms_max": 3_000, "delay_ms_max": 5},
        "crashes": {"crash": 0.03, "delay_ms_max": 5},
    }
    return {"calm": CALM, **each_and_together(Nature, alone)}


def each_and_together(nature: Callable[..., T], alone: dict[str, dict[str, Any]]) -> dict[str, T]:
    """Returns natures with one kind of fault each, and one with all of them."""
    together = {name: value for each in alone.values() for name, value in each.items()}
    named = {name: nature(**values) for name, values in alone.items()}
    return {**named, "all together": nature(**together)}
