"""The use cases of the product over a store and a clock, without HTTP and SQS."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from dovemq.core.accounts import ROOT_NUMBER
from dovemq.core.errors import DoveError, QueueMissing
from dovemq.core.observing import Observer
from dovemq.core.ports import Clock, Store
from dovemq.service.accounts import Accounts
from dovemq.service.messages import Messages
from dovemq.service.moves import Moves
from dovemq.service.polls import Polls
from dovemq.service.queues import Queues
from dovemq.service.quotas import ByteQuotas

log = logging.getLogger(__name__)

HOUSEKEEPING_SECONDS: Final = 60


@dataclass
class Service:
    store: Store
    clock: Clock
    accounts: Accounts
    queues: Queues
    messages: Messages
    moves: Moves
    polls: Polls
    _housekeeping: "asyncio.Task[None] | None" = field(default=None, init=False)

    @property
    def draining(self) -> bool:
        return self.polls.draining

    async def start(self) -> None:
        """Resume the moves of the last run, and start the regular cleaning."""
        await self.accounts.load()
        await self.moves.resume()
        self._housekeeping = asyncio.get_running_loop().create_task(self._keep_house())

    async def drain(self) -> None:
        """Answer parked polls and stop background work; running requests may finish."""
        self.polls.drain()
        await self.moves.close()
        if self._housekeeping:
            self._housekeeping.cancel()
            # Not awaited directly: its exception must not keep the store from closing.
            await asyncio.wait([self._housekeeping])
            self._housekeeping = None

    async def close(self) -> None:
        await self.drain()
        await self.store.close()

    async def _keep_house(self) -> None:
        while True:
            await asyncio.sleep(HOUSEKEEPING_SECONDS)
            try:
                await self.drop_expired()
            except DoveError as error:
                log.warning("housekeeping: %s", error)

    async def drop_expired(self) -> None:
        """Remove messages whose retention has ended."""
        async for queue in self.queues.each():
            with contextlib.suppress(QueueMissing):
                # It was removed meanwhile.
                await self.queues.drop_expired(queue)


def build_service(
    store: Store,
    clock: Clock,
    new_id: Callable[[], str],
    *,
    root: str = ROOT_NUMBER,
    strict_aws: bool = False,
    observer: Observer | None = None,
) -> Service:
    polls = Polls(clock)
    observer = observer or Observer()
    accounts = Accounts(store.catalogue, clock, root)
    return Service(
        store,
        clock,
        accounts,
        Queues(store, clock, observer, polls, accounts, strict=strict_aws),
        Messages(store, clock, observer, polls, ByteQuotas(store, accounts)),
        Moves(store, clock, observer, new_id),
        polls,
    )
