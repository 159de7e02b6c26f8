"""The bound on jobs that have ended: of each account the newest are kept, by number.

The retention of a specification removes jobs by their age. Where very many jobs end within it, the
oldest go earlier. One front end walks over all jobs, a few pages at each sweep, and rests between
two walks. Running jobs are never removed, and do not count.
"""

from typing import Final

from dovemq.core.ledger import LedgerAsk, LedgerEntry
from dovemq.core.limits import MINUTE_MS
from dovemq.core.ports import Clock, Ledger
from dovemq.core.workflows.jobs import JobState, decode_job

ENDED_KEPT_MAX: Final = 100_000
"""Jobs of an account that have ended and are kept."""
REST_MS: Final = 5 * MINUTE_MS
PAGE: Final = 200
PAGES_MAX: Final = 20
"""Pages of one step."""


class JobTrimmer:
    """Names of jobs begin with the account and are in order of time, the newest first."""

    def __init__(
        self, ledger: Ledger, clock: Clock, kind: str, kept_max: int = ENDED_KEPT_MAX
    ) -> None:
        self._ledger, self._clock, self._kind = ledger, clock, kind
        self._kept_max = kept_max
        self._after: str | None = None
        self._account, self._ended = "", 0
        self._rests_until_ms = 0

    async def step(self) -> int:
        """Goes on with the walk; returns the number of jobs that were removed."""
        if self._after is None and self._clock.now_ms() < self._rests_until_ms:
            return 0
        removed = 0
        after = self._after or ""
        for _ in range(PAGES_MAX):
            page = await self._ledger.page(LedgerAsk(self._kind, PAGE, after=after))
            for entry in page.entries:
                removed += await self._passed(entry)
            if page.next is None:
                self._after, self._account, self._ended = None, "", 0
                self._rests_until_ms = self._clock.now_ms() + REST_MS
                return removed
            self._after = after = page.next
        return removed

    async def _passed(self, entry: LedgerEntry) -> bool:
        account = entry.name.partition("/")[0]
        if account != self._account:
            self._account, self._ended = account, 0
        if entry.state == JobState.RUNNING.value:
            return False
        self._ended += 1
        if self._ended <= self._kept_max or decode_job(entry.value).outbox:
            return False
        return await self._ledger.remove(entry)
