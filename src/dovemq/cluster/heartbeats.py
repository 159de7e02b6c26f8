"""The record of one incarnation of this front end, written by compare-and-set."""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import UNSET, Raw

from dovemq.cluster.sightings import FrontEnd, FrontEndState, Heartbeat
from dovemq.stores.owned.logged.ports import Records, StoredRecord

KIND: Final = "front_end"

Report = Callable[[], bytes | None]
"""The load that the next heartbeat reports, as JSON; None if there is nothing to report."""


def nothing_to_report() -> None:
    return None


class Heartbeats:
    """Writes the heartbeats of one incarnation. Others change the record only to end it."""

    def __init__(
        self,
        records: Records,
        incarnation: int,
        address: str | None,
        release: str,
        report: Report = nothing_to_report,
    ) -> None:
        self.incarnation = incarnation
        self.state = FrontEndState.JOINING
        """The state of the last acknowledged heartbeat."""
        self._records = records
        self._address = address
        self._release = release
        self._report = report
        self._count = 0
        self._version = 0
        self._attempted: list[bytes] = []
        self._writing = asyncio.Lock()

    async def beat(self, state: FrontEndState | None = None) -> bool:
        """Write the next heartbeat; False if another front end has ended this incarnation.

        It may be repeated after a lost reply.
        """
        async with self._writing:
            state = state or self.state
            report = self._report()
            load = UNSET if report is None else Raw(report)
            heartbeat = Heartbeat(self._address, self._release, self._count + 1, state, load)
            version = await self._write(msgspec.json.encode(heartbeat))
            if version is None:
                return False
            self.state = state
            self._count += 1
            self._version = version
            self._attempted.clear()
            return True

    async def _write(self, value: bytes) -> int | None:
        """The version of the written record; None if it is no longer ours."""
        if value not in self._attempted:
            self._attempted.append(value)
        name = str(self.incarnation)
        if await self._records.put(KIND, name, value, self._version):
            return self._version + 1
        stored = await self._records.get(KIND, name)
        if stored is None or stored.value not in self._attempted:
            return None
        # An earlier heartbeat with another state was written, and its reply was lost.
        if await self._records.put(KIND, name, value, stored.version):
            return stored.version + 1
        return None


def front_end_of(record: StoredRecord) -> FrontEnd:
    heartbeat = msgspec.json.decode(record.value, type=Heartbeat)
    return FrontEnd(int(record.name), record.version, heartbeat)


async def declare_dead(records: Records, front_end: FrontEnd) -> bool:
    """Whether it is dead now; a front end that has sent a heartbeat meanwhile is not."""
    ended = msgspec.structs.replace(front_end.heartbeat, state=FrontEndState.DEAD)
    value = msgspec.json.encode(ended)
    return await records.put(KIND, str(front_end.incarnation), value, front_end.version)
