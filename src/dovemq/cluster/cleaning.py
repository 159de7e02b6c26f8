"""Removes what removed queues leave behind: logs and owner records. The leading front end does it.

A log is removed only after a grace period: by then every front end has closed the partition, since
it has read the catalogue again or has lost its lease.
"""

from typing import Final

from dovemq.cluster.catalogue import REFRESH_MS, SharedCatalogue
from dovemq.cluster.catalogue_records import remove_record
from dovemq.cluster.ownership import KIND, owned_place, owner_name
from dovemq.cluster.sightings import LeaseTimes
from dovemq.cluster.tenure import MonotonicClock
from dovemq.stores.owned.logged.ports import Database

QUEUES_AT_A_TIME: Final = 20


class Cleaning:
    def __init__(
        self,
        database: Database,
        catalogue: SharedCatalogue,
        monotonic_ms: MonotonicClock,
        times: LeaseTimes,
    ) -> None:
        self._database = database
        self._catalogue = catalogue
        self._monotonic_ms = monotonic_ms
        self._grace_ms = times.silence_ms + times.heartbeat_ms + 2 * REFRESH_MS
        self._seen_ms: dict[int, int] = {}

    async def clean(self) -> None:
        """Remove the logs of some queues that were removed long enough ago. May be repeated."""
        now_ms = self._monotonic_ms()
        removed = self._catalogue.removed
        self._seen_ms = {number: self._seen_ms.get(number, now_ms) for number in removed}
        due = [
            number
            for number, seen_ms in self._seen_ms.items()
            if now_ms - seen_ms >= self._grace_ms
        ]
        if due:
            await self._remove(due[:QUEUES_AT_A_TIME])

    async def _remove(self, numbers: list[int]) -> None:
        owned = [owned_place(record.name) for record in await self._database.records.all(KIND)]
        for number in numbers:
            # A partition that was never opened has no owner record, and no log either.
            for place in [place for place in owned if place[0] == number]:
                await self._database.remove_log(place)
                await remove_record(self._database.records, KIND, owner_name(place))
            if self._database.index_tables is not None:
                await self._database.index_tables.forget(number)
            await self._catalogue.forget_removed(number)
