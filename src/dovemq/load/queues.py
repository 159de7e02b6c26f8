"""The queues of one repetition: created before it and removed after it."""

import contextlib
import random
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from dovemq.client import ClientError, Unreachable
from dovemq.load.pacing import GaveUp, Outage
from dovemq.load.plan import LoadPlan
from dovemq.load.threads import client_of

T = TypeVar("T")


class RunQueues:
    """`async with` returns the queue URLs. `leftovers` are the queues that could not be removed."""

    def __init__(self, plan: LoadPlan, repetition: int, now_us: Callable[[], int]) -> None:
        self._plan = plan
        self._repetition = repetition
        self._now_us = now_us
        self._urls: list[str] = []
        self.leftovers: list[str] = []

    async def __aenter__(self) -> tuple[str, ...]:
        self._client = client_of(self._plan.setup or self._plan.endpoint)
        try:
            for application in range(self._plan.applications):
                name = self._plan.queue_name(self._repetition, application)
                self._urls.append(await self._created(name))
        except ClientError:
            await self.__aexit__()
            raise
        return tuple(self._urls)

    async def __aexit__(self, *error: object) -> None:
        async with self._client:
            for url in () if self._plan.keep_queues else self._urls:
                if not await self._removed(url):
                    self.leftovers.append(url)

    async def _created(self, name: str) -> str:
        """Waits for a server that is down, except at the start of a run."""
        plan = self._plan
        attributes = {"VisibilityTimeout": str(plan.lease_seconds), **plan.queue_attributes}
        if plan.fifo:
            attributes["FifoQueue"] = "true"
        create = partial(self._client.create_queue, name, attributes, {})
        return await (create() if self._repetition == 1 else self._repeated(create))

    async def _removed(self, url: str) -> bool:
        """Tells whether the queue was removed; a failure must not lose the result of the run."""
        with contextlib.suppress(ClientError, GaveUp):
            await self._repeated(partial(self._client.delete_queue, url))
            return True
        return False

    async def _repeated(self, request: Callable[[], Awaitable[T]]) -> T:
        """Makes a request until the server is reached, or the longest outage has passed."""
        outage = Outage(self._plan.outage_ms_max, random.Random(self._plan.seed), self._now_us)
        while True:
            try:
                return await request()
            except Unreachable as error:
                await outage.failed(error)
