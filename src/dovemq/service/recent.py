"""Records of what happened lately, a bounded number for each owner, in the ledger of the store.

The newest record of an owner is in its head. Earlier ones are in a fixed number of places, which
are used in turn, so that an owner never has more entries than places and a head. Records of owners
that are gone are removed by the review of the ledger when they are due.
"""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

from dovemq.core.errors import Busy
from dovemq.core.ledger import PAGE_COUNT_MAX, LedgerAsk, LedgerEntry
from dovemq.core.limits import DAY_MS
from dovemq.core.ports import Clock, Store

RECENT_KIND: Final = "recent"
KEPT_MS: Final = 30 * DAY_MS
_HEAD: Final = "head"
_ATTEMPTS_MAX: Final = 20

T = TypeVar("T", bound=Struct)


class _Kept(Struct, frozen=True):
    """`sequence` counts the records of an owner."""

    sequence: int
    record: Raw


class RecentRecords(Generic[T]):
    """Records of one sort. Other front ends may add records of the same owner at the same time."""

    def __init__(
        self, store: Store, clock: Clock, sort: str, record_type: type[T], kept_max: int
    ) -> None:
        self._ledger = store.ledger
        self._clock = clock
        self._sort = sort
        self._type = record_type
        self._kept_max = kept_max

    async def add(self, owner: str, record: T, joined: Callable[[T, T], T | None]) -> T:
        """Add a record, or replace the newest one by what `joined` makes of both.

        If the reply is lost, the record may be added twice.
        """
        for _ in range(_ATTEMPTS_MAX):
            head = await self._ledger.get(RECENT_KIND, self._name(owner, _HEAD))
            newest = msgspec.json.decode(head.value, type=_Kept) if head else None
            sequence, wanted = 1, record
            if newest is not None:
                both = joined(self._decoded(newest), record)
                sequence, wanted = newest.sequence, record if both is None else both
                if both is None:
                    sequence += 1
                    # It may have been copied already, by somebody who did not go on.
                    await self._copy(owner, newest)
            kept = _Kept(sequence, Raw(msgspec.json.encode(wanted)))
            if await self._put(owner, _HEAD, kept, head.version if head else 0):
                return wanted
        raise Busy(f"Others add records of {owner}")

    async def newest(self, owner: str) -> T | None:
        head = await self._ledger.get(RECENT_KIND, self._name(owner, _HEAD))
        return self._decoded(msgspec.json.decode(head.value, type=_Kept)) if head else None

    async def page(self, owner: str, count_max: int) -> list[T]:
        """The newest records, the newest first."""
        found: dict[int, _Kept] = {}
        after: str | None = ""
        while after is not None:
            ask = LedgerAsk(RECENT_KIND, PAGE_COUNT_MAX, self._name(owner, ""), after)
            page = await self._ledger.page(ask)
            for entry in page.entries:
                kept = msgspec.json.decode(entry.value, type=_Kept)
                found[kept.sequence] = kept
            after = page.next
        return [self._decoded(found[each]) for each in sorted(found, reverse=True)[:count_max]]

    async def _copy(self, owner: str, newest: _Kept) -> None:
        """Write the newest record to its place, unless another has written there meanwhile."""
        place = f"{newest.sequence % self._kept_max:04}"
        held = await self._ledger.get(RECENT_KIND, self._name(owner, place))
        await self._put(owner, place, newest, held.version if held else 0)

    async def _put(self, owner: str, place: str, kept: _Kept, version: int) -> bool:
        return await self._ledger.put(
            LedgerEntry(
                RECENT_KIND,
                self._name(owner, place),
                msgspec.json.encode(kept),
                due_ms=self._clock.now_ms() + KEPT_MS,
                version=version,
            )
        )

    def _decoded(self, kept: _Kept) -> T:
        return msgspec.json.decode(kept.record, type=self._type)

    def _name(self, owner: str, place: str) -> str:
        return f"{self._sort}/{owner}/{place}"
