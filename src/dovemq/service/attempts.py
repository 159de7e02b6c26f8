"""Repeatable receives: the same attempt id gets the same messages and receipts.

They are kept in memory for the attempt interval, bounded in number and size. An attempt ends as
soon as the caller settles one of its messages or changes a lease.
"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from dovemq.core import limits
from dovemq.core.commands import Lease

ATTEMPTS_MAX: Final = 10_000
BODIES_LENGTH_MAX: Final = 64 * 1024 * 1024
"""Characters of all bodies kept here; messages that are not settled stay for the interval."""


class Delivery(Struct, frozen=True):
    """A leased message and its receipt as text."""

    lease: Lease
    receipt: str


class Attempt(Struct, frozen=True):
    expires_ms: int
    deliveries: tuple[Delivery, ...]


AttemptKey = tuple[int, str]


class Attempts:
    def __init__(self) -> None:
        self._kept: OrderedDict[AttemptKey, Attempt] = OrderedDict()
        self._by_receipt: dict[str, AttemptKey] = {}
        self._bodies_length = 0

    def remember(self, key: AttemptKey, deliveries: Iterable[Delivery], now_ms: int) -> None:
        self.forget(key)
        attempt = Attempt(now_ms + limits.ATTEMPT_MS, tuple(deliveries))
        self._kept[key] = attempt
        self._bodies_length += _bodies_length(attempt)
        for delivery in attempt.deliveries:
            self._by_receipt[delivery.receipt] = key
        while self._kept:
            oldest, first = next(iter(self._kept.items()))
            fits = len(self._kept) <= ATTEMPTS_MAX and self._bodies_length <= BODIES_LENGTH_MAX
            if fits and first.expires_ms > now_ms:
                break
            self.forget(oldest)

    def recall(self, key: AttemptKey, now_ms: int) -> tuple[Delivery, ...]:
        attempt = self._kept.get(key)
        if attempt is None or attempt.expires_ms <= now_ms:
            return ()
        return attempt.deliveries

    def forget(self, key: AttemptKey) -> None:
        attempt = self._kept.pop(key, None)
        if attempt:
            self._bodies_length -= _bodies_length(attempt)
            for delivery in attempt.deliveries:
                self._by_receipt.pop(delivery.receipt, None)

    def touched(self, receipts: Iterable[str]) -> None:
        """End the attempts that hold one of these receipts, which the caller has used."""
        if self._by_receipt:
            for receipt in receipts:
                key = self._by_receipt.get(receipt)
                if key:
                    self.forget(key)


def _bodies_length(attempt: Attempt) -> int:
    return sum(len(delivery.lease.message.body) for delivery in attempt.deliveries)
