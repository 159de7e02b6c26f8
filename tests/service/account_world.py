"""A service with accounts over the memory store, whose catalogue can fail or be slow."""

import asyncio
import functools
import random
from collections.abc import Callable, Coroutine
from typing import Any, Final

import argon2

from dovemq.core.accounts import ROOT_NUMBER, Account
from dovemq.core.queue import Queue
from dovemq.service import build_service
from dovemq.service.accounts import Accounts
from dovemq.stores.memory import MemoryStore
from dovemq.stores.memory_catalogue import MemoryCatalogue
from dovemq.testing.clock import ManualClock

ROOT: Final = ROOT_NUMBER
CHEAP: Final = argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


class SlowCatalogue(MemoryCatalogue):
    """Writes of accounts wait while they are held back, and fail as they are told to.

    Where it `yields`, others get their turn before a queue is created. `pages` counts listings.
    """

    failure: Exception | None = None
    yields = False
    pages = 0
    _gate: asyncio.Event | None = None
    _reached: asyncio.Event

    def hold_back(self) -> None:
        self._gate, self._reached = asyncio.Event(), asyncio.Event()

    async def held_back(self) -> None:
        await self._reached.wait()

    def let_go(self) -> None:
        assert self._gate is not None
        self._gate.set()

    async def create(self, queue: Queue) -> Queue:
        if self.yields:
            await asyncio.sleep(0)
        return await super().create(queue)

    async def page(
        self, account: str | None, prefix: str, after: str, count_max: int
    ) -> list[Queue]:
        self.pages += 1
        return await super().page(account, prefix, after, count_max)

    async def save_account(self, account: Account) -> bool:
        await self._pass()
        return await super().save_account(account)

    async def remove_account(self, number: str) -> bool:
        await self._pass()
        return await super().remove_account(number)

    async def _pass(self) -> None:
        if self.failure:
            raise self.failure
        if self._gate is not None:
            self._reached.set()
            await self._gate.wait()


class SlowStore(MemoryStore):
    def __init__(self) -> None:
        super().__init__(random.Random(1), b"k" * 32)
        self.catalogue: SlowCatalogue = SlowCatalogue(self._check_open, self._forget)


class AccountWorld:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = SlowStore()
        self.catalogue = self.store.catalogue
        self.service = build_service(self.store, self.clock, lambda: "id")
        self.accounts = self.service.accounts

    async def again(self, root: str = ROOT) -> Accounts:
        """The accounts as another start of the service, or another front end, sees them."""
        accounts = Accounts(self.catalogue, self.clock, root, hasher=CHEAP)
        await accounts.load()
        return accounts


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @functools.wraps(test)
    def run(*given: Any, **named: Any) -> None:
        asyncio.run(test(*given, **named))

    return run
