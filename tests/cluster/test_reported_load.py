"""Loads that ride in heartbeats, also between front ends of different releases."""

import asyncio
import functools
from typing import Any

import msgspec
from msgspec import Struct

from dovemq.cluster.heartbeats import KIND, Heartbeats, declare_dead, front_end_of
from dovemq.cluster.sightings import FrontEndState, Heartbeat
from dovemq.stores.owned.logged.ports import StoredRecord
from dovemq.testing.memory_database import MemoryDatabase, MemoryDatabaseState
from tests.cluster.world import FAILOVER_SECONDS, TIMES, FrontEnds, in_virtual_time

SEEN_SECONDS = (TIMES.heartbeat_ms + TIMES.look_ms) / 1_000 + 0.1


class EarlierHeartbeat(Struct, frozen=True):
    """The form of releases that report no load."""

    address: str | None
    release: str
    count: int
    state: FrontEndState


async def written(report: bytes | None) -> StoredRecord:
    records = MemoryDatabase(MemoryDatabaseState()).records
    heartbeats = Heartbeats(records, 7, "host:1", "1", lambda: report)
    assert await heartbeats.beat(FrontEndState.SERVING)
    stored = await records.get(KIND, "7")
    assert stored is not None
    return stored


async def test_earlier_release_reads_a_heartbeat_with_a_load() -> None:
    stored = await written(b'{"rows":[[1,2,3]]}')
    earlier = msgspec.json.decode(stored.value, type=EarlierHeartbeat)
    assert earlier == EarlierHeartbeat("host:1", "1", 1, FrontEndState.SERVING)


async def test_heartbeat_without_a_load_is_what_it_was() -> None:
    stored = await written(None)
    earlier = EarlierHeartbeat("host:1", "1", 1, FrontEndState.SERVING)
    assert stored.value == msgspec.json.encode(earlier)


def test_heartbeat_of_an_earlier_release_is_read() -> None:
    earlier = EarlierHeartbeat("host:1", "0", 3, FrontEndState.SERVING)
    found = front_end_of(StoredRecord("7", msgspec.json.encode(earlier), 3))
    assert found.heartbeat == Heartbeat("host:1", "0", 3, FrontEndState.SERVING)


async def test_front_end_with_a_load_of_an_unknown_form_is_declared_dead() -> None:
    state = MemoryDatabaseState()
    records = MemoryDatabase(state).records
    assert await Heartbeats(records, 7, "host:1", "9", lambda: b'"unheard of"').beat()
    stored = await records.get(KIND, "7")
    assert stored is not None
    assert await declare_dead(records, front_end_of(stored))
    stored = await records.get(KIND, "7")
    assert stored is not None
    assert front_end_of(stored).ended


def loads(member: Any) -> dict[int, Any]:
    reports = member.store.loads_of_others().items()
    return {incarnation: msgspec.json.decode(report) for incarnation, report in reports}


@in_virtual_time
async def test_front_ends_see_the_loads_of_others_that_live(front_ends: FrontEnds) -> None:
    members = await front_ends.start_many(3)
    for number, member in enumerate(members[:2], start=1):
        member.store.report_load(functools.partial(str.encode, str(number)))
    await asyncio.sleep(SEEN_SECONDS)
    first, second, third = (member.store.membership.incarnation for member in members)
    assert loads(members[0]) == {second: 2}
    assert loads(members[2]) == {first: 1, second: 2}
    front_ends.kill(members[0])
    await asyncio.sleep(FAILOVER_SECONDS)
    assert loads(members[2]) == {second: 2}
    assert third not in loads(members[1])


@in_virtual_time
async def test_load_costs_no_more_calls_of_the_database(front_ends: FrontEnds) -> None:
    silent = FrontEnds(front_ends.loop)
    reporting, other = await front_ends.start(), await silent.start()
    reporting.store.report_load(lambda: b"[1]")
    await asyncio.sleep(60)
    assert reporting.faults.calls == other.faults.calls
    await silent.close()
