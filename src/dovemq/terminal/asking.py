"""The documents that a page needs, and the pace of the requests."""

import asyncio
from http import HTTPStatus
from typing import Final, Protocol

from msgspec import Struct

from dovemq.client.errors import Refused
from dovemq.core.queue import QueueKey
from dovemq.terminal.pictures import Document

INTERVAL_SECONDS: Final = 1.0
WAIT_SECONDS_MAX: Final = 30.0
"""Longest pause after failures; each failure doubles the pause."""
ROWS_MAX: Final = 200
"""Queues that a page lists. The filter finds the others."""
SORTS: Final = (
    "name",
    "visible",
    "leased",
    "delayed",
    "age",
    "sent",
    "received",
    "settled",
    "consumers",
    "alerts",
)
"""The columns by which the admin API sorts."""
_NO_CLUSTER: Final = (HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN)
"""The store belongs to one server, or the account may not see the front ends."""


class TopApi(Protocol):
    """The routes of the admin API that are asked. `AdminClient` offers them."""

    async def overview(self) -> Document: ...

    async def overview_queues(
        self, contains: str, sort: str, order: str, count_max: int
    ) -> Document: ...

    async def cluster(self) -> Document: ...

    async def history(self, account: str, name: str) -> Document: ...

    async def clients(self, account: str, name: str) -> Document: ...


class Listing(Struct, frozen=True):
    """Which queues are listed, and in which order."""

    contains: str = ""
    sort: str = "name"
    falling: bool = False


class Asking:
    """Asks one server. Whether it has front ends beside it is asked until the answer is no."""

    def __init__(self, api: TopApi) -> None:
        self._api = api
        self._alone = False

    async def overview(self, listing: Listing) -> Document:
        order = "down" if listing.falling else "up"
        return {
            "overview": await self._api.overview(),
            "queues": await self._api.overview_queues(
                listing.contains, listing.sort, order, ROWS_MAX
            ),
            "cluster": await self._cluster(),
        }

    async def queue(self, key: QueueKey) -> Document:
        return {
            "key": str(key),
            "history": await self._api.history(key.account, key.name),
            "clients": await self._api.clients(key.account, key.name),
        }

    async def _cluster(self) -> Document | None:
        if self._alone:
            return None
        try:
            return await self._api.cluster()
        except Refused as error:
            if error.status not in _NO_CLUSTER:
                raise
            self._alone = True
            return None


class AskingPauses:
    """AskingPauses between requests: a second, and longer while requests fail.

    `wait` is a sleep that another task can cut short by `hurry`.
    """

    def __init__(self) -> None:
        self._failures = 0
        self._hurried = asyncio.Event()

    @property
    def pause_seconds(self) -> float:
        return min(INTERVAL_SECONDS * (1 << self._failures), WAIT_SECONDS_MAX)

    def succeeded(self) -> None:
        self._failures = 0

    def failed(self) -> None:
        if self.pause_seconds < WAIT_SECONDS_MAX:
            self._failures += 1

    def hurry(self) -> None:
        self._hurried.set()

    async def wait(self) -> None:
        try:
            await asyncio.wait_for(self._hurried.wait(), self.pause_seconds)
        except TimeoutError:
            return
        finally:
            self._hurried.clear()
