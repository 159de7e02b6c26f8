"""Named values that change by compare-and-set, and the stamp of the catalogue."""

import asyncio

import pytest

from dovemq.core.errors import StoreUnreachable
from dovemq.stores.owned.logged.ports import STAMPED, Records, StoredRecord
from tests.databases.world import DatabaseWorld

VALUE_BYTES_MAX = 256 * 1_024
NAME_BYTES_MAX = 512
WRITERS = 10
ODD_NAMES = (
    "with space",
    " leading and trailing ",
    'it\'s "quoted"',
    "a/b\\c",
    "{braces}:and:colons",
    "percent % and _ under",
    "*?[a-z]",
    "tab\tnewline\n",
    "grüße",
    "鳩の待ち行列",
    "🕊",
    "e\u0301",
    "é",
    "--; DROP TABLE records",
)


async def test_record_that_was_never_put_is_missing(world: DatabaseWorld) -> None:
    assert await world.records.get("owner", world.name()) is None
    assert await world.mine("owner") == []


async def test_record_has_its_value_and_version_one_after_the_first_put(
    world: DatabaseWorld,
) -> None:
    name = world.name()
    assert await world.records.put("owner", name, b"value", 0)
    assert await world.records.get("owner", name) == StoredRecord(name, b"value", 1)


async def test_put_with_the_stored_version_replaces_the_value(world: DatabaseWorld) -> None:
    name = world.name()
    for version in range(5):
        assert await world.records.put("owner", name, b"%d" % version, version)
    assert await world.records.get("owner", name) == StoredRecord(name, b"4", 5)


@pytest.mark.parametrize("version", [0, 1, 3, 99])
async def test_put_with_another_version_changes_nothing(world: DatabaseWorld, version: int) -> None:
    name = world.name()
    await world.records.put("owner", name, b"a", 0)
    await world.records.put("owner", name, b"b", 1)
    assert not await world.records.put("owner", name, b"c", version)
    assert await world.records.get("owner", name) == StoredRecord(name, b"b", 2)


async def test_put_of_a_missing_record_needs_version_zero(world: DatabaseWorld) -> None:
    assert not await world.records.put("owner", world.name(), b"a", 1)
    assert await world.records.get("owner", world.name()) is None


async def test_put_may_be_repeated_after_a_lost_answer(world: DatabaseWorld) -> None:
    name = world.name()
    for version, value in enumerate((b"a", b"b")):
        for _ in range(3):
            assert await world.records.put("owner", name, value, version)
    assert await world.records.get("owner", name) == StoredRecord(name, b"b", 2)


async def test_put_that_is_repeated_after_another_write_is_refused(world: DatabaseWorld) -> None:
    name = world.name()
    await world.records.put("owner", name, b"a", 0)
    await world.records.put("owner", name, b"b", 1)
    assert not await world.records.put("owner", name, b"a", 0)
    assert await world.records.get("owner", name) == StoredRecord(name, b"b", 2)


async def test_removed_record_is_missing_and_its_name_starts_again(world: DatabaseWorld) -> None:
    name = world.name()
    await world.records.put("owner", name, b"a", 0)
    await world.records.put("owner", name, b"b", 1)
    assert await world.records.remove("owner", name, 2)
    assert await world.records.get("owner", name) is None
    assert await world.mine("owner") == []
    assert await world.records.put("owner", name, b"c", 0)
    assert await world.records.get("owner", name) == StoredRecord(name, b"c", 1)


async def test_remove_with_another_version_changes_nothing(world: DatabaseWorld) -> None:
    name = world.name()
    await world.records.put("owner", name, b"a", 0)
    for version in (0, 2):
        assert not await world.records.remove("owner", name, version)
    assert await world.records.get("owner", name) == StoredRecord(name, b"a", 1)


async def test_remove_of_a_missing_record_answers_no(world: DatabaseWorld) -> None:
    assert not await world.records.remove("owner", world.name(), 1)


async def test_all_records_of_a_kind_come_by_name(world: DatabaseWorld) -> None:
    names = [world.name(name) for name in ("b", "a", "B", "a b", "ab", "é", "🕊", "zz")]
    for name in names:
        await world.records.put("owner", name, name.encode(), 0)
    expected = [StoredRecord(name, name.encode(), 1) for name in sorted(names)]
    assert await world.mine("owner") == expected


async def test_many_records_of_a_kind_are_all_given(world: DatabaseWorld) -> None:
    names = sorted(world.name(f"{number}") for number in range(300))
    for name in names:
        await world.records.put("owner", name, b"x", 0)
    assert [record.name for record in await world.mine("owner")] == names


async def test_kinds_are_kept_apart(world: DatabaseWorld) -> None:
    name = world.name()
    for kind in ("owner", "queue", "heartbeat"):
        assert await world.records.put(kind, name, kind.encode(), 0)
    assert await world.records.remove("queue", name, 1)
    assert await world.records.get("owner", name) == StoredRecord(name, b"owner", 1)
    assert await world.mine("heartbeat") == [StoredRecord(name, b"heartbeat", 1)]
    assert await world.mine("queue") == []


async def test_names_with_odd_characters_are_kept_as_they_are(world: DatabaseWorld) -> None:
    names = {world.name(name) for name in ODD_NAMES}
    for name in names:
        assert await world.records.put("owner", name, name.encode(), 0)
    assert [record.name for record in await world.mine("owner")] == sorted(names)
    for name in names:
        assert await world.records.get("owner", name) == StoredRecord(name, name.encode(), 1)
        assert await world.records.remove("owner", name, 1)
    assert await world.mine("owner") == []


async def test_longest_name_and_largest_value_are_kept(world: DatabaseWorld) -> None:
    name = world.name().ljust(NAME_BYTES_MAX, "n")
    value = bytes(range(256)) * (VALUE_BYTES_MAX // 256)
    assert await world.records.put("owner", name, value, 0)
    assert await world.records.put("owner", name, value, 0), "the repeated call"
    assert await world.records.get("owner", name) == StoredRecord(name, value, 1)
    assert await world.mine("owner") == [StoredRecord(name, value, 1)]


async def test_value_may_be_empty(world: DatabaseWorld) -> None:
    name = world.name()
    assert await world.records.put("owner", name, b"", 0)
    assert await world.records.get("owner", name) == StoredRecord(name, b"", 1)
    assert await world.mine("owner") == [StoredRecord(name, b"", 1)]
    assert await world.records.put("owner", name, b"x", 1)


@pytest.mark.parametrize("version", [0, 1])
async def test_of_many_writers_at_once_one_wins(world: DatabaseWorld, version: int) -> None:
    name, clients = world.name(), [world.database, await world.client()]
    if version:
        await world.records.put("owner", name, b"stored", 0)
    values = [b"%d" % writer for writer in range(WRITERS)]
    won = await asyncio.gather(
        *(
            clients[writer % 2].records.put("owner", name, value, version)
            for writer, value in enumerate(values)
        )
    )
    assert sum(won) == 1
    assert await world.records.get("owner", name) == StoredRecord(
        name, values[won.index(True)], version + 1
    )


async def test_of_many_removers_at_once_one_wins(world: DatabaseWorld) -> None:
    name, other = world.name(), await world.client()
    await world.records.put("owner", name, b"x", 0)
    removals = (records.remove("owner", name, 1) for records in (world.records, other.records) * 3)
    assert sorted(await asyncio.gather(*removals)) == [False] * 5 + [True]


async def test_counter_that_is_raised_by_many_writers_loses_no_step(world: DatabaseWorld) -> None:
    name, other = world.name(), await world.client()
    await world.records.put("owner", name, b"0", 0)
    unknown = []

    async def raised(records: Records, writer: int) -> None:
        for _ in range(1_000):
            found = await records.get("owner", name)
            assert found is not None
            number = int(found.value.split()[0]) + 1
            try:
                if await records.put("owner", name, b"%d by %d" % (number, writer), found.version):
                    return
            except StoreUnreachable:
                # A slow answer, and others have written since: nobody can say who it was.
                unknown.append(writer)
                return
        pytest.fail("no attempt won")

    await asyncio.gather(
        *(raised((world.records, other.records)[writer % 2], writer) for writer in range(WRITERS))
    )
    found = await world.records.get("owner", name)
    assert found is not None
    number = int(found.value.split()[0])
    assert WRITERS - len(unknown) <= number <= WRITERS
    assert found.version == number + 1
    assert len(unknown) < WRITERS


@pytest.mark.parametrize("kind", sorted(STAMPED))
async def test_stamp_changes_with_every_change_of_the_catalogue(
    world: DatabaseWorld, kind: str
) -> None:
    name = world.name()
    stamps = [await world.records.stamp()]
    assert await world.records.put(kind, name, b"a", 0)
    stamps.append(await world.records.stamp())
    assert await world.records.put(kind, name, b"b", 1)
    stamps.append(await world.records.stamp())
    assert await world.records.remove(kind, name, 2)
    stamps.append(await world.records.stamp())
    assert await world.records.put(kind, name, b"a", 0)
    stamps.append(await world.records.stamp())
    assert len(set(stamps)) == len(stamps)


async def test_stamp_changes_with_each_of_many_changes_at_once(world: DatabaseWorld) -> None:
    """Two changes that end at the same time must not hide one another from a reader."""
    other = await world.client()

    async def seen_after_put(records: Records, writer: int) -> bytes:
        before = await records.stamp()
        assert await records.put("queue", world.name(f"{writer}"), b"x", 0)
        after = await records.stamp()
        assert after != before
        return after

    await asyncio.gather(
        *(
            seen_after_put((world.records, other.records)[writer % 2], writer)
            for writer in range(WRITERS)
        )
    )
    assert await world.records.stamp() == await other.records.stamp()


async def test_stamp_stays_when_nothing_of_the_catalogue_changed(world: DatabaseWorld) -> None:
    name = world.name()
    assert await world.records.put("queue", name, b"a", 0)
    stamp = await world.records.stamp()
    assert await world.records.put("owner", name, b"a", 0)
    assert await world.records.put("owner", name, b"b", 1)
    assert await world.records.remove("owner", name, 2)
    assert not await world.records.put("queue", name, b"b", 7)
    assert not await world.records.remove("queue", name, 7)
    assert await world.records.get("queue", name) == StoredRecord(name, b"a", 1)
    assert await world.records.stamp() == stamp
