"""Byte quotas: whether a send still fits the quota of the queue's owner.

A queue's messages count for its owner, whoever sent them. The known use is a sum over the owner's
queues, some milliseconds old, plus the sends since then. It is never less than what is stored, so a
quota is not exceeded; removed messages may count for `MEASURED_MS_MIN` longer. A batch that does
not fit is refused as a whole. Moves between queues are never refused, since the message is stored
already.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from dovemq.core import limits
from dovemq.core.commands import Draft, Duplicate, Sent
from dovemq.core.errors import QueueMissing, QuotaReached
from dovemq.core.ports import Store
from dovemq.core.queue import Queue
from dovemq.core.sending import stored_units
from dovemq.service.accounts import Accounts

MEASURED_MS_MIN: Final = 250
"""The least time between two sums for an account at its quota."""
MEASURED_MS_MAX: Final = 5 * limits.SECOND_MS
"""The age at which a sum is made again, since other accounts may send to these queues too."""


class _Use(Struct, eq=False):
    turn: asyncio.Lock
    measured_ms: int | None = None
    measured: int = 0
    sent: int = 0
    under_way: int = 0

    @property
    def bytes(self) -> int:
        return self.measured + self.sent + self.under_way


class ByteQuotas:
    def __init__(self, store: Store, accounts: Accounts) -> None:
        self._store = store
        self._uses: dict[str, _Use] = {}
        self.limited = accounts.bytes_max
        """Quotas by account; the sends of other accounts need no check."""

    async def send(
        self, queue: Queue, drafts: Sequence[Draft], now_ms: int
    ) -> list[Sent | Duplicate]:
        account = queue.key.account
        sizes = [stored_units(draft) * limits.STORED_UNIT_BYTES for draft in drafts]
        use = await self._admit(account, sum(sizes), now_ms)
        stored = 0
        try:
            answers = await self._store.partition(queue, 0).send(drafts, now_ms)
            pairs = zip(sizes, answers, strict=True)
            stored = sum(size for size, answer in pairs if isinstance(answer, Sent))
            return answers
        except asyncio.CancelledError:
            # The send continues without its caller.
            stored = sum(sizes)
            raise
        finally:
            use.under_way -= sum(sizes)
            use.sent += stored

    async def _admit(self, account: str, asked: int, now_ms: int) -> _Use:
        use = self._use(account)
        if use.measured_ms is None or now_ms - use.measured_ms >= MEASURED_MS_MAX:
            await self._measure(account, use, now_ms, MEASURED_MS_MAX)
        elif use.bytes + asked > self.limited.get(account, use.bytes + asked):
            await self._measure(account, use, now_ms, MEASURED_MS_MIN)
        bytes_max = self.limited.get(account)
        if bytes_max is not None and use.bytes + asked > bytes_max:
            raise QuotaReached(account, "bytes_max", bytes_max, use.bytes, asked)
        use.under_way += asked
        return use

    def _use(self, account: str) -> _Use:
        use = self._uses.get(account)
        if use is None:
            kept = {each: held for each, held in self._uses.items() if each in self.limited}
            use = _Use(asyncio.Lock())
            self._uses = {**kept, account: use}
        return use

    async def _measure(self, account: str, use: _Use, now_ms: int, age_ms_min: int) -> None:
        async with use.turn:
            if use.measured_ms is not None and now_ms - use.measured_ms < age_ms_min:
                return
            sent_before = use.sent
            measured = await self._sum(account, now_ms)
            # Messages sent while the sum was made may be in it or not.
            use.measured, use.measured_ms = measured, now_ms
            use.sent -= sent_before

    async def _sum(self, account: str, now_ms: int) -> int:
        total, after = 0, ""
        catalogue = self._store.catalogue
        while page := await catalogue.page(account, "", after, limits.QUEUES_LISTED.most):
            for queue in page:
                with contextlib.suppress(QueueMissing):
                    # It was removed meanwhile.
                    counts = await self._store.partition(queue, 0).counts(now_ms)
                    total += counts.bytes
            after = str(page[-1].key)
        return total
