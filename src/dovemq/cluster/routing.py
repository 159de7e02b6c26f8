"""A partition whose verbs are each handed to another partition, chosen for each verb."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

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
from dovemq.core.ports import Partition

T = TypeVar("T")
Verb = Callable[[Partition, int], Awaitable[T]]
"""A call of one method on the chosen partition, at the given time."""


class RoutedPartition:
    """The verbs of `core.ports.Partition`, given to `route`. Subclasses add `route` and `watch`."""

    def route(self, verb: Verb[T], now_ms: int, *, repeatable: bool = True) -> Awaitable[T]:
        """Do the verb. `repeatable`: doing it twice does no harm."""
        raise NotImplementedError

    def send(self, drafts: Sequence[Draft], now_ms: int) -> Awaitable[list[Sent | Duplicate]]:
        # A second copy of a draft with a deduplication id is recognised.
        repeatable = all(draft.deduplication_id is not None for draft in drafts)
        return self.route(lambda to, at: to.send(drafts, at), now_ms, repeatable=repeatable)

    def lease(self, ask: Ask, now_ms: int) -> Awaitable[Leased]:
        return self.route(lambda to, at: to.lease(ask, at), now_ms)

    def settle(
        self, receipts: Sequence[Receipt], now_ms: int, *, moved: bool = False, forced: bool = False
    ) -> Awaitable[list[Settlement]]:
        return self.route(
            lambda to, at: to.settle(receipts, at, moved=moved, forced=forced), now_ms
        )

    def extend(
        self, changes: Sequence[tuple[Receipt, int]], now_ms: int
    ) -> Awaitable[list[Extension]]:
        return self.route(lambda to, at: to.extend(changes, at), now_ms)

    def release(self, receipts: Sequence[Receipt], now_ms: int) -> Awaitable[None]:
        return self.route(lambda to, at: to.release(receipts, at), now_ms)

    def adopt(self, transfers: Sequence[Transfer], now_ms: int) -> Awaitable[list[Sent]]:
        return self.route(lambda to, at: to.adopt(transfers, at), now_ms)

    def drop(self, sent_before_ms: int, count_max: int, now_ms: int) -> Awaitable[int]:
        return self.route(lambda to, at: to.drop(sent_before_ms, count_max, at), now_ms)

    def peek(self, page: Peek, now_ms: int) -> Awaitable[list[Peeked]]:
        return self.route(lambda to, at: to.peek(page, at), now_ms)

    def counts(self, now_ms: int) -> Awaitable[Counts]:
        return self.route(lambda to, at: to.counts(at), now_ms)
