"""Request quotas: one token bucket per account that has one.

Whoever is refused is told how long to wait. Those who wait are told different times, one token
apart: if all came back for the next token, all but one would have to be refused again.
"""

from collections.abc import Callable
from typing import Final

WAIT_MS_MAX: Final = 5_000
BUCKETS_MAX: Final = 10_000
_TOKEN: Final = 1_000
"""In thousandths, so that a rate per second is one per millisecond in whole numbers."""


class Throttle:
    """`rate_of` gives an account's requests per second; None: no limit."""

    def __init__(self, rate_of: Callable[[str], int | None]) -> None:
        self._rate_of = rate_of
        self._buckets: dict[str, _Bucket] = {}

    def take(self, account: str, now_ms: int) -> int:
        """0 if the request may go on, else how many milliseconds to wait."""
        rate = self._rate_of(account)
        if rate is None:
            return 0
        bucket = self._buckets.get(account)
        if bucket is None:
            if len(self._buckets) >= BUCKETS_MAX:
                # Some are of accounts that are gone; a full one for the others does no harm.
                self._buckets.clear()
            bucket = self._buckets[account] = _Bucket(rate, now_ms)
        return bucket.take(rate, now_ms)


class _Bucket:
    __slots__ = ("_level", "_promised", "_seen_ms")

    def __init__(self, rate: int, now_ms: int) -> None:
        self._level = max(rate, 1) * _TOKEN
        self._promised = 0
        self._seen_ms = now_ms

    def take(self, rate: int, now_ms: int) -> int:
        """The rate may be another each time: quotas change."""
        rate = max(rate, 1)
        come = (now_ms - self._seen_ms) * rate
        self._seen_ms = now_ms
        level = self._level = min(self._level + come, rate * _TOKEN)
        promised = max(self._promised - come, 0)
        if level >= _TOKEN:
            self._level = level - _TOKEN
            self._promised = promised
            return 0
        ahead = min(promised + _TOKEN - level, WAIT_MS_MAX * rate)
        self._promised = min(promised + _TOKEN, WAIT_MS_MAX * rate)
        return -(-ahead // rate)
