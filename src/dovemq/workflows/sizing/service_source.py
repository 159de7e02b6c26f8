"""The service as its sizing sees it: metrics of each front end, and bytes of all messages."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

from dovemq.client import AdminClient
from dovemq.client.errors import ClientError
from dovemq.workflows.sizing.front_ends import RequestTotals, read_totals

READS: Final = 16
"""Front ends that are asked at a time."""
FRONT_ENDS_MAX: Final = 1_000

ClientOf = Callable[[str], AdminClient]
UrlsOf = Callable[[], Awaitable[Sequence[str]]]


class AdminServiceSource:
    """Asks the admin API of each front end; `urls` names them anew in each round."""

    def __init__(self, urls: UrlsOf, client_of: ClientOf) -> None:
        self._urls, self._client_of = urls, client_of
        self._places = asyncio.Semaphore(READS)

    async def totals(self) -> Mapping[str, RequestTotals]:
        urls = list(await self._urls())[:FRONT_ENDS_MAX]
        answers = await asyncio.gather(
            *(self._totals_of(url) for url in urls), return_exceptions=True
        )
        found: dict[str, RequestTotals] = {}
        failure: ClientError | None = None
        for url, answer in zip(urls, answers, strict=True):
            if isinstance(answer, RequestTotals):
                found[url] = answer
            elif isinstance(answer, ClientError):
                failure = answer
            else:
                raise answer
        if failure is not None and not found:
            raise failure
        return found

    async def stored_bytes(self) -> int:
        """Any front end knows the bytes of all queues; the first one that answers is taken."""
        failure: ClientError | None = None
        for url in list(await self._urls())[:FRONT_ENDS_MAX]:
            try:
                async with self._client_of(url) as client:
                    return int((await client.counters())["messages"]["bytes"])
            except ClientError as error:
                failure = error
        if failure is not None:
            raise failure
        return 0

    async def _totals_of(self, url: str) -> RequestTotals:
        async with self._places, self._client_of(url) as client:
            return read_totals((await client.metrics()).decode())


async def addresses_of(url: str) -> list[str]:
    """The URL once for each address of its host, as a headless Service of Kubernetes has them.

    An https URL stays as it is: certificates are for names.
    """
    parts = urlsplit(url)
    if parts.scheme != "http" or parts.hostname is None:
        return [url]
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(parts.hostname, parts.port or 80, type=socket.SOCK_STREAM)
    except OSError:
        return [url]
    hosts = sorted({str(address[0]) for *_, address in found})
    shown = [f"[{host}]" if ":" in host else host for host in hosts]
    return [f"http://{host}:{parts.port or 80}" for host in shown]
