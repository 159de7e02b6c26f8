"""The queues of one repetition: created before it and removed after it."""

import random
from collections.abc import Callable

from dovemq.client import ClientError, Unreachable
from dovemq.load.pacing import GaveUp, Outage
from dovemq.load.plan import LoadPlan
from dovemq.load.threads import client_of


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
        plan, outage = self._plan, self._outage()
        attributes = {"VisibilityTimeout": str(plan.lease_seconds), **plan.queue_attributes}
        if plan.fifo:
            attributes["FifoQueue"] = "true"
        while True:
            try:
                return await self._client.create_queue(name, attributes, {})
            except Unreachable as error:
                if self._repetition == 1:
                    raise
                await outage.failed(error)

    async def _removed(self, url: str) -> bool:
        """Tells whether the queue was removed; a failure must not lose the result of the run."""
        outage = self._outage()
        while True:
            try:
                await self._client.delete_queue(url)
                return True
            except Unreachable as error:
                try:
                    await outage.failed(error)
                except GaveUp:
                    return False
            except ClientError:
                return False

    def _outage(self) -> Outage:
        return Outage(self._plan.outage_ms_max, random.Random(self._plan.seed), self._now_us)
