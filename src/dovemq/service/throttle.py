"""Request quotas: one token bucket for each account that has a quota.

A refused request is told how long to wait. Several that wait are told different times, one token
apart: if all came back for the next token, all but one would be refused again.

A request may cost several tokens. It is accepted as soon as one is there, and the account then
owes the others: a cost above the size of the bucket is never refused for good.
"""

from collections.abc import Callable
from typing import Final

WAIT_MS_MAX: Final = 5_000
BUCKETS_MAX: Final = 10_000
_TOKEN: Final = 1_000
"""Tokens are counted in thousandths: a rate per second is then whole per millisecond."""


class Throttle:
    """`rate_of` returns an account's requests per second, or None for no limit."""

    def __init__(self, rate_of: Callable[[str], int | None]) -> None:
        self._rate_of = rate_of
        self._buckets: dict[str, _Bucket] = {}

    def take(self, account: str, now_ms: int, cost: int = 1) -> int:
        """Charge `cost` tokens. Returns 0 if the request is accepted, else the time to wait."""
        rate = self._rate_of(account)
        if rate is None:
            return 0
        bucket = self._buckets.get(account)
        if bucket is None:
            if len(self._buckets) >= BUCKETS_MAX:
                # Some belong to removed accounts; a full bucket for the others does no harm.
                self._buckets.clear()
            bucket = self._buckets[account] = _Bucket(rate, now_ms)
        return bucket.take(rate, now_ms, cost)


class _Bucket:
    __slots__ = ("_level", "_promised", "_seen_ms")

    def __init__(self, rate: int, now_ms: int) -> None:
        self._level = max(rate, 1) * _TOKEN
        self._promised = 0
        self._seen_ms = now_ms

    def take(self, rate: int, now_ms: int, cost: int) -> int:
        """The rate may differ from call to call, since quotas change."""
        rate = max(rate, 1)
        come = (now_ms - self._seen_ms) * rate
        self._seen_ms = now_ms
        level = self._level = min(self._level + come, rate * _TOKEN)
        promised = max(self._promised - come, 0)
        if level >= _TOKEN:
            self._level = level - cost * _TOKEN
            self._promised = promised
            return 0
        ahead = min(promised + _TOKEN - level, WAIT_MS_MAX * rate)
        self._promised = min(promised + _TOKEN, WAIT_MS_MAX * rate)
        return -(-ahead // rate)
