"""The requests by which an account manages its queues, whoever answers them."""

import abc
from collections.abc import Awaitable, Mapping, Sequence
from typing import Final, TypeVar

from dovemq.sqs import shapes

PAGES_MAX: Final = 1_000
_PAGE: Final = 1_000
ALL: Final = ["All"]

T = TypeVar("T")


class QueueOwner(abc.ABC):
    """The owner of queues: the client of a server, or the service in this process."""

    @abc.abstractmethod
    def _ask(
        self, request: shapes.Shape, shape: type[T], seconds_max: float | None = None
    ) -> Awaitable[T]:
        """The answer to a request; `shape` is the type of its result."""

    async def create_queue(
        self, name: str, attributes: Mapping[str, str], tags: Mapping[str, str]
    ) -> str:
        request = shapes.CreateQueueRequest(name, dict(attributes), dict(tags))
        return (await self._ask(request, shapes.QueueUrlResponse)).queue_url

    async def queue_urls(self, prefix: str = "") -> list[str]:
        """The URLs of all queues, from all pages."""
        urls: list[str] = []
        token: str | None = None
        for _ in range(PAGES_MAX):
            request = shapes.ListQueuesRequest(prefix or None, token, _PAGE)
            page = await self._ask(request, shapes.ListQueuesResponse)
            urls += page.queue_urls
            token = page.next_token
            if not token:
                break
        return urls

    async def attributes(self, queue: str, names: Sequence[str] = ALL) -> dict[str, str]:
        request = shapes.GetQueueAttributesRequest(queue, list(names))
        return (await self._ask(request, shapes.GetQueueAttributesResponse)).attributes

    async def set_attributes(self, queue: str, attributes: Mapping[str, str]) -> None:
        await self._ask(shapes.SetQueueAttributesRequest(queue, dict(attributes)), shapes.Empty)

    async def tags(self, queue: str) -> dict[str, str]:
        request = shapes.ListQueueTagsRequest(queue)
        return (await self._ask(request, shapes.ListQueueTagsResponse)).tags

    async def tag(self, queue: str, tags: Mapping[str, str]) -> None:
        await self._ask(shapes.TagQueueRequest(queue, dict(tags)), shapes.Empty)
