"""The ledger keeps small values that change by compare-and-set, and finds them by name and time."""

import asyncio

import msgspec
import pytest

from dovemq.core.errors import InvalidValue
from dovemq.core.ledger import VALUE_BYTES_MAX, LedgerAsk, LedgerEntry
from dovemq.core.ports import Ledger
from tests.contract.world import World

KIND = "test"
ODD_NAMES = ("a b", "a/b#2", "grüße", "🕊", 'it\'s "q"', "%_*?[x]", "tab\t\n")
WRITERS = 8


@pytest.fixture
async def ledger(world: World) -> Ledger:
    await _empty(world.store.ledger)
    return world.store.ledger


def _entry(name: str, value: bytes = b"v", **fields: object) -> LedgerEntry:
    return msgspec.structs.replace(LedgerEntry(KIND, name, value), **fields)


def _kept(entry: LedgerEntry) -> LedgerEntry:
    return msgspec.structs.replace(entry, version=entry.version + 1)


async def _empty(ledger: Ledger) -> None:
    for entry in await _all(ledger):
        await ledger.remove(entry)


async def _all(ledger: Ledger, count_max: int = 100, **fields: str) -> list[LedgerEntry]:
    found: list[LedgerEntry] = []
    after: str | None = ""
    while after is not None:
        page = await ledger.page(LedgerAsk(KIND, count_max, after=after, **fields))
        found += page.entries
        after = page.next
        assert len(page.entries) <= count_max
    return found


async def test_entry_is_found_as_it_was_put_with_version_one(ledger: Ledger) -> None:
    entry = _entry("a", b"\x00\xff\n", state="running", type="report", due_ms=12)
    assert await ledger.put(entry)
    assert await ledger.get(KIND, "a") == _kept(entry)


async def test_entry_that_was_never_put_is_missing(ledger: Ledger) -> None:
    assert await ledger.get(KIND, "a") is None
    assert not await ledger.remove(_entry("a", version=1))


@pytest.mark.parametrize("name", ODD_NAMES)
async def test_names_of_any_characters_are_kept_apart(ledger: Ledger, name: str) -> None:
    await ledger.put(_entry(name, b"one"))
    await ledger.put(_entry(name + "x", b"two"))
    assert (await ledger.get(KIND, name)) == _kept(_entry(name, b"one"))
    assert [each.name for each in await _all(ledger)] == [name, name + "x"]


async def test_value_of_the_largest_size_is_kept(ledger: Ledger) -> None:
    value = bytes(range(256)) * (VALUE_BYTES_MAX // 256)
    await ledger.put(_entry("a", value))
    held = await ledger.get(KIND, "a")
    assert held is not None
    assert held.value == value
    with pytest.raises(InvalidValue, match="value"):
        await ledger.put(_entry("b", value + b"x"))


async def test_put_with_the_stored_version_replaces_everything(ledger: Ledger) -> None:
    await ledger.put(_entry("a", state="running", due_ms=5))
    newer = _entry("a", b"w", state="ended", type="x", version=1)
    assert await ledger.put(newer)
    assert await ledger.get(KIND, "a") == _kept(newer)
    assert await ledger.due(KIND, 10, 10) == []


@pytest.mark.parametrize("version", [0, 1, 3])
async def test_put_with_another_version_changes_nothing(ledger: Ledger, version: int) -> None:
    await ledger.put(_entry("a"))
    await ledger.put(_entry("a", b"w", version=1))
    assert not await ledger.put(_entry("a", b"x", version=version))
    assert await ledger.get(KIND, "a") == _entry("a", b"w", version=2)


async def test_repeated_put_of_the_same_entry_is_answered_as_done(ledger: Ledger) -> None:
    assert await ledger.put(_entry("a"))
    assert await ledger.put(_entry("a"))
    assert await ledger.get(KIND, "a") == _entry("a", version=1)


async def test_of_several_writers_at_a_time_one_wins(ledger: Ledger) -> None:
    await ledger.put(_entry("a"))
    writes = [ledger.put(_entry("a", b"%d" % number, version=1)) for number in range(WRITERS)]
    done = await asyncio.gather(*writes)
    held = await ledger.get(KIND, "a")
    assert sum(done) == 1
    assert held is not None
    assert held.version == 2
    assert held.value == b"%d" % done.index(True)


async def test_removed_entry_is_gone_from_everywhere(ledger: Ledger) -> None:
    entry = _entry("a", due_ms=1)
    await ledger.put(entry)
    assert not await ledger.remove(entry)
    assert await ledger.remove(_kept(entry))
    assert await ledger.get(KIND, "a") is None
    assert await _all(ledger) == []
    assert await ledger.due(KIND, 10, 10) == []
    assert await ledger.put(entry)


async def test_pages_have_every_entry_once_by_name(ledger: Ledger) -> None:
    names = [f"{account}/{number:03}" for account in ("one", "two") for number in range(40)]
    for name in reversed(names):
        await ledger.put(_entry(name))
    assert [each.name for each in await _all(ledger, 7)] == names
    assert [each.name for each in await _all(ledger, 7, prefix="two/")] == names[40:]
    assert await _all(ledger, prefix="three") == []


async def test_prefix_that_is_a_name_is_found_too(ledger: Ledger) -> None:
    for name in ("a", "ab", "b"):
        await ledger.put(_entry(name))
    assert [each.name for each in await _all(ledger, prefix="a")] == ["a", "ab"]


async def test_pages_are_filtered_by_state_and_type(ledger: Ledger) -> None:
    for number in range(24):
        state, kind = ("running", "ended")[number % 2], ("x", "y", "z")[number % 3]
        await ledger.put(_entry(f"{number:02}", state=state, type=kind))
    ended = [f"{number:02}" for number in range(1, 24, 2)]
    assert [each.name for each in await _all(ledger, 5, state="ended")] == ended
    of_y = [f"{number:02}" for number in range(1, 24, 3)]
    assert [each.name for each in await _all(ledger, 5, type="y")] == of_y
    both = [name for name in ended if name in of_y]
    assert [each.name for each in await _all(ledger, 5, state="ended", type="y")] == both


async def test_pages_by_state_go_on_behind_many_others(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dovemq.stores.cassandra.ledger.SHELF_LABELS", 1)
    for number in range(120):
        state = "failed" if number in (0, 70, 119) else "ended"
        await ledger.put(_entry(f"n{number:04}", state=state))
    failed = [each.name for each in await _all(ledger, 2, state="failed")]
    assert failed == ["n0000", "n0070", "n0119"]


async def test_entries_are_due_from_their_time_on(ledger: Ledger) -> None:
    for name, due_ms in (("a", 10), ("b", 20), ("c", None), ("d", 30)):
        await ledger.put(_entry(name, due_ms=due_ms))
    assert sorted(each.name for each in await ledger.due(KIND, 20, 10)) == ["a", "b"]
    assert len(await ledger.due(KIND, 1_000, 2)) == 2
    assert await ledger.due("other", 1_000, 10) == []


async def test_entries_of_another_kind_are_apart(ledger: Ledger) -> None:
    await ledger.put(_entry("a"))
    assert await ledger.get("other", "a") is None


async def test_entries_survive_a_crash(durable_world: World) -> None:
    await _empty(durable_world.store.ledger)
    entry = _entry("a", b"w", state="running", type="t", due_ms=7)
    await durable_world.store.ledger.put(entry)
    await durable_world.crash()
    ledger = durable_world.store.ledger
    assert await ledger.get(KIND, "a") == _kept(entry)
    assert await ledger.due(KIND, 7, 10) == [_kept(entry)]
    await _empty(ledger)
