"""The ledger of the embedded store on a damaged disk, in a backup, and under a wrong checksum."""

import asyncio
from pathlib import Path

import apsw

from dovemq.core.ledger import LedgerAsk, LedgerEntry
from dovemq.core.ports import Ledger
from dovemq.stores.sqlite import SqliteStore
from dovemq.stores.sqlite.directory import SEALS_NAME
from tests.unit.embedded import Place
from tests.unit.test_sqlite_salvage import ROOT, lose_page

ENTRIES = 200
KIND = "test"
LEAF = "SELECT pageno FROM dbstat WHERE name = 'ledger' AND pagetype = 'leaf' ORDER BY path LIMIT 1"


async def filled(place: Place, entries: int = ENTRIES) -> SqliteStore:
    store = await place.open()
    for number in range(entries):
        value = b"%d " % number * 20
        entry = LedgerEntry(KIND, f"{number:04}", value, "running", "report", number)
        await store.ledger.put(entry)
    return store


async def names(ledger: Ledger) -> list[str]:
    return [each.name for each in (await ledger.page(LedgerAsk(KIND, 1_000))).entries]


async def test_ledger_is_whole_after_the_loss_of_its_root_page(place: Place) -> None:
    store = await filled(place)
    await store.close()
    lose_page(place, ROOT.format("ledger"))
    store = await place.open()
    assert await names(store.ledger) == [f"{number:04}" for number in range(ENTRIES)]
    (report,) = store.damage()
    assert any("the table ledger is damaged" in note for note in report.notes)
    assert len(await store.ledger.due(KIND, 5, 100)) == 6


async def test_entries_of_a_lost_page_cost_no_others(place: Place) -> None:
    store = await filled(place)
    await store.close()
    lose_page(place, LEAF)
    store = await place.open()
    left = await names(store.ledger)
    assert ENTRIES / 2 < len(left) < ENTRIES
    held = await store.ledger.get(KIND, left[-1])
    assert held is not None
    assert held.version == 1
    assert await store.ledger.put(held)


async def test_verification_names_an_entry_with_a_wrong_checksum(place: Place) -> None:
    store = await filled(place, 3)
    await store.close()
    connection = apsw.Connection(str(place.database))
    connection.execute("UPDATE ledger SET value = x'00' WHERE name = '0001'")
    connection.close()
    # The pages are sealed again as they are now.
    (place.directory / SEALS_NAME).unlink()
    store = await place.open()
    found = await store.verify()
    assert [line for line in found.problems if "0001" in line]
    assert not found.sound


async def test_backup_has_the_ledger(place: Place, tmp_path: Path) -> None:
    store = await filled(place, 3)
    with await store.backup() as copy:
        content = await asyncio.to_thread(copy.read)
    target = tmp_path / "copy.db"
    target.write_bytes(content)
    connection = apsw.Connection(str(target))
    rows = connection.execute("SELECT name, version FROM ledger ORDER BY name").fetchall()
    connection.close()
    assert rows == [("0000", 1), ("0001", 1), ("0002", 1)]
