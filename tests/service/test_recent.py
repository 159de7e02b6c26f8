"""Records of what happened lately: bounded, and shared by front ends that write at once."""

import asyncio
import random

from msgspec import Struct

from dovemq.core.ledger import LedgerAsk
from dovemq.service.recent import RECENT_KIND, RecentRecords
from dovemq.stores.memory import MemoryStore
from dovemq.testing.clock import ManualClock

KEPT = 8


class Note(Struct, frozen=True):
    text: str
    count: int = 1


def apart(newest: Note, note: Note) -> Note | None:
    return None


def counted(newest: Note, note: Note) -> Note | None:
    return Note(note.text, newest.count + 1) if newest.text == note.text else None


def records(store: MemoryStore) -> RecentRecords[Note]:
    return RecentRecords(store, ManualClock(), "notes", Note, KEPT)


async def test_records_of_two_front_ends_are_all_kept() -> None:
    store = MemoryStore(random.Random(1), b"key")
    ends = [records(store), records(store)]
    notes = [Note(f"{number}") for number in range(KEPT)]
    adding = (ends[each % 2].add("a", note, apart) for each, note in enumerate(notes))
    await asyncio.gather(*adding)
    found = await ends[0].page("a", KEPT)
    assert sorted(note.text for note in found) == sorted(note.text for note in notes)


async def test_joined_records_of_two_front_ends_are_all_counted() -> None:
    store = MemoryStore(random.Random(1), b"key")
    ends = [records(store), records(store)]
    await asyncio.gather(*(ends[each % 2].add("a", Note("same"), counted) for each in range(10)))
    assert await ends[0].page("a", KEPT) == [Note("same", 10)]


async def test_owner_has_no_more_entries_than_places_and_a_head() -> None:
    store = MemoryStore(random.Random(1), b"key")
    mine = records(store)
    for number in range(5 * KEPT):
        await mine.add("a", Note(f"{number}"), apart)
    page = await store.ledger.page(LedgerAsk(RECENT_KIND, 1_000))
    assert len(page.entries) == KEPT + 1
    assert [note.text for note in await mine.page("a", 3)] == ["39", "38", "37"]
    assert await mine.newest("a") == Note("39")


async def test_owners_have_records_of_their_own() -> None:
    mine = records(MemoryStore(random.Random(1), b"key"))
    await mine.add("a", Note("x"), apart)
    assert await mine.newest("b") is None
    assert await mine.page("b", KEPT) == []
