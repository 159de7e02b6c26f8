"""Receives that may be repeated: the same attempt id gets the same messages and receipts.

Kept in memory for the attempt interval, bounded in number and size; void as soon as one of the
messages was settled or its lease changed by the caller.
"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from dovemq.core import limits
from dovemq.core.commands import Lease

ATTEMPTS_MAX: Final = 10_000
BODIES_LENGTH_MAX: Final = 64 * 1024 * 1024
"""Characters of all bodies kept here: messages that are settled by nobody stay the interval."""


class Delivery(Struct, frozen=True):
    """A leased message with its receipt as the caller will give it back."""

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
        """The caller used these receipts: attempts that hold them are void."""
        if self._by_receipt:
            for receipt in receipts:
                key = self._by_receipt.get(receipt)
                if key:
                    self.forget(key)


def _bodies_length(attempt: Attempt) -> int:
    return sum(len(delivery.lease.message.body) for delivery in attempt.deliveries)
