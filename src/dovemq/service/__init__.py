"""The use cases of the product over a store and a clock, without HTTP and SQS."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from dovemq.core.accounts import ROOT_NUMBER
from dovemq.core.errors import DoveError, QueueMissing
from dovemq.core.observing import Observer
from dovemq.core.ports import Clock, Store
from dovemq.core.queue import Queue
from dovemq.fabric.autonomic import ClientRole
from dovemq.service.accounts import Accounts
from dovemq.service.clients import Clients
from dovemq.service.interventions import Interventions
from dovemq.service.messages import Messages
from dovemq.service.moves import Moves
from dovemq.service.polls import Polls
from dovemq.service.queues import Queues
from dovemq.service.quotas import ByteQuotas
from dovemq.service.tempo import Tempo
from dovemq.service.workflows import Workflows, build_workflows

log = logging.getLogger(__name__)

Join = Callable[[Queue, ClientRole], Awaitable[None]]


async def no_sessions(queue: Queue, role: ClientRole) -> None:
    """Clients have no sessions at stores without a fabric."""


HOUSEKEEPING_SECONDS: Final = 60
FOLLOWING_SECONDS: Final = 1
"""The interval at which the leading of several front ends looks for tasks without a runner."""

SWEEP_SECONDS: Final = 5
SWEEP_REST: Final = 20
"""A sweep over the jobs rests so many times as long as it took, so that it costs 5 % at most."""


@dataclass
class Service:
    store: Store
    clock: Clock
    accounts: Accounts
    queues: Queues
    messages: Messages
    interventions: Interventions
    moves: Moves
    polls: Polls
    workflows: Workflows
    tempo: Tempo
    clients: Clients = field(default_factory=Clients)
    leads: Callable[[], bool] | None = None
    """Whether this front end does what one does for all; None if there is no other."""
    on_drain: Callable[[], None] = lambda: None
    """Answers the receives that wait inside the store."""
    join: Join = no_sessions
    """Gives the client that asks now its place at a queue in this role."""
    _tasks: "list[asyncio.Task[None]]" = field(default_factory=list, init=False)

    @property
    def draining(self) -> bool:
        return self.polls.draining

    async def start(self) -> None:
        """Resume the moves of the last run, and start the regular cleaning."""
        await self.accounts.load()
        await self.moves.resume()
        loop = asyncio.get_running_loop()
        self._tasks = [
            loop.create_task(self._keep_house()),
            loop.create_task(self._review_jobs()),
        ]
        if self.leads is not None:
            self._tasks.append(loop.create_task(self._take_over_moves()))

    async def catalogue_changed(self, queue_numbers: Iterable[int], *, accounts: bool) -> None:
        """Follow the changes that another front end has made to queues and accounts."""
        for number in queue_numbers:
            self.polls.wake_all(number)
        if accounts:
            await self.accounts.refresh()

    async def drain(self) -> None:
        """Answer parked polls and stop background work; running requests may finish."""
        self.polls.drain()
        self.on_drain()
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        if tasks:
            # Not awaited directly: an exception must not keep the store from closing.
            await asyncio.wait(tasks)
        await self.moves.close()

    async def close(self) -> None:
        await self.drain()
        await self.store.close()

    async def _keep_house(self) -> None:
        while True:
            await asyncio.sleep(HOUSEKEEPING_SECONDS)
            if self.leads is None or self.leads():
                await self._attempt("housekeeping", self.drop_expired())

    async def _review_jobs(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            begun = loop.time()
            if self.leads is None or self.leads():
                await self._attempt("the review of jobs", self.workflows.sweeper.sweep())
            await asyncio.sleep(max(SWEEP_SECONDS, SWEEP_REST * (loop.time() - begun)))

    async def _take_over_moves(self) -> None:
        while True:
            await asyncio.sleep(FOLLOWING_SECONDS)
            await self._attempt("moves", self.moves.resume())

    async def _attempt(self, what: str, work: Coroutine[Any, Any, object]) -> None:
        try:
            await work
        except DoveError as error:
            log.warning("%s: %s", what, error)

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
    leads: Callable[[], bool] | None = None,
    on_drain: Callable[[], None] = lambda: None,
    join: Join = no_sessions,
    timer_ns: Callable[[], int] = time.perf_counter_ns,
) -> Service:
    """`leads` is given if other front ends share the store, and tells whether this one leads."""
    tempo = Tempo(timer_ns)
    polls = Polls(clock)
    observer = observer or Observer()
    accounts = Accounts(store.catalogue, clock, root)
    queues = Queues(store, clock, observer, polls, accounts, strict=strict_aws)
    messages = Messages(store, clock, tempo, observer, polls, ByteQuotas(store, accounts))
    return Service(
        store,
        clock,
        accounts,
        queues,
        messages,
        Interventions(store, clock, observer, polls),
        Moves(store, clock, observer, new_id, leads or (lambda: True)),
        polls,
        build_workflows(store, clock, new_id, queues, messages, observer),
        tempo,
        leads=leads,
        on_drain=on_drain,
        join=join,
    )
