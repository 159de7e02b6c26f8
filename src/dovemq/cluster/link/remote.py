"""A partition that another front end owns. Implements `core.ports.Partition` over a link.

The caller's `now_ms` does not travel: the owner takes the present time from its own clock when the
verb arrives. Leases, delays and retention are then measured by one clock, whatever the clocks of
the other front ends say, and a caller whose clock is wrong by minutes can neither end a lease early
nor hide a message. Times that the caller compares with its own clock come back as distances.

If the connection is lost, a verb raises `PeerUnreachable`. After `sent=True` it was done or was not
done, never half, as the port says.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from dovemq.cluster.link.bounds import ITEMS_MAX
from dovemq.cluster.link.dialling import OutgoingLink
from dovemq.cluster.link.rows import peeked_of, row_of_draft, row_of_transfer
from dovemq.cluster.link.session import leased_of
from dovemq.cluster.link.verbs import (
    AdoptVerb,
    CountsVerb,
    DropVerb,
    ExtendVerb,
    LeaseAnswer,
    LeaseVerb,
    PeekAnswer,
    PeekVerb,
    ReleaseVerb,
    SendVerb,
    SettleVerb,
)
from dovemq.core.commands import (
    Ask,
    Counts,
    Draft,
    Duplicate,
    Extension,
    Leased,
    Peek,
    Peeked,
    Receipt,
    Sent,
    Settlement,
    Transfer,
)
from dovemq.stores.owned.group import PartitionKey

T = TypeVar("T")
R = TypeVar("R")


class RemotePartition:
    __slots__ = ("_link", "_place", "_watched")

    def __init__(self, link: OutgoingLink, place: PartitionKey, version: int) -> None:
        """`version` is that of the queue: the owner looks it up if it knows an older one."""
        self._link = link
        self._place = (*place, version)
        self._watched = place

    def send(self, drafts: Sequence[Draft], now_ms: int) -> Awaitable[list[Sent | Duplicate]]:
        if len(drafts) > ITEMS_MAX:
            return _divided(self.send, drafts, now_ms)
        return self._link.ask(SendVerb(self._place, [row_of_draft(draft) for draft in drafts]))

    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        verb = LeaseVerb(self._place, ask)
        future: asyncio.Future[LeaseAnswer] = self._link.ask(verb)
        try:
            answer = await future
        except asyncio.CancelledError:
            self._link.cancel(verb, future)
            raise
        return leased_of(answer, now_ms)

    def settle(
        self, receipts: Sequence[Receipt], now_ms: int, *, moved: bool = False, forced: bool = False
    ) -> Awaitable[list[Settlement]]:
        return self._link.ask(SettleVerb(self._place, list(receipts), moved, forced=forced))

    def extend(
        self, changes: Sequence[tuple[Receipt, int]], now_ms: int
    ) -> Awaitable[list[Extension]]:
        return self._link.ask(ExtendVerb(self._place, list(changes)))

    def release(self, receipts: Sequence[Receipt], now_ms: int) -> Awaitable[None]:
        return self._link.ask(ReleaseVerb(self._place, list(receipts)))

    def adopt(self, transfers: Sequence[Transfer], now_ms: int) -> Awaitable[list[Sent]]:
        if len(transfers) > ITEMS_MAX:
            return _divided(self.adopt, transfers, now_ms)
        return self._link.ask(AdoptVerb(self._place, [row_of_transfer(each) for each in transfers]))

    def drop(self, sent_before_ms: int, count_max: int, now_ms: int) -> Awaitable[int]:
        return self._link.ask(DropVerb(self._place, now_ms - sent_before_ms, count_max))

    async def peek(self, page: Peek, now_ms: int) -> list[Peeked]:
        found: list[Peeked] = []
        while True:
            answer: PeekAnswer = await self._link.ask(PeekVerb(self._place, page))
            found += [peeked_of(row) for row in answer.peeked]
            if not answer.cut:
                return found
            left = page.count_max - len(answer.peeked)
            page = replace(page, count_max=left, after_sequence=found[-1].message.sequence)

    def counts(self, now_ms: int) -> Awaitable[Counts]:
        return self._link.ask(CountsVerb(self._place))

    def watch(self, wake: Callable[[], None]) -> Callable[[], None]:
        return self._link.watch(self._watched, wake)


async def _divided(
    verb: Callable[[Sequence[T], int], Awaitable[list[R]]], items: Sequence[T], now_ms: int
) -> list[R]:
    """Ask for a long list in parts, in order. Each item is still done as a whole."""
    answers: list[R] = []
    for start in range(0, len(items), ITEMS_MAX):
        answers += await verb(items[start : start + ITEMS_MAX], now_ms)
    return answers
