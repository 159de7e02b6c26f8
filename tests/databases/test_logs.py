"""Appending, reading, scanning and trimming the log of a partition."""

import random

from dovemq.stores.owned.logged.ports import LogRow
from dovemq.stores.owned.logged.positions import EPOCH_MAX
from tests.databases.world import KEEP_MS, DatabaseWorld, pages, position, rows

GROUPS = 300
LARGE_BYTES = 1_300 * 1_024
"""A batch of the largest messages, with their attributes."""


async def test_appended_group_is_read_at_its_position(world: DatabaseWorld) -> None:
    log = await world.log()
    await log.append(position(1, 0, 0), b"first", KEEP_MS)
    await log.append(position(1, 0, 1), b"second", KEEP_MS)
    assert await log.read([position(1, 0, 1)]) == {position(1, 0, 1): b"second"}


async def test_missing_positions_are_left_out_of_a_read(world: DatabaseWorld) -> None:
    log = await world.log()
    await log.append(position(1, 0, 5), b"only", KEEP_MS)
    asked = [position(1, 0, 4), position(1, 0, 5), position(1, 7, 0), position(2, 0, 5)]
    assert await log.read(asked) == {position(1, 0, 5): b"only"}


async def test_many_positions_of_several_segments_are_read_at_once(world: DatabaseWorld) -> None:
    log = await world.log()
    written = {position(1, slot % 5, slot): b"%d" % slot for slot in range(100)}
    for at in sorted(written):
        await log.append(at, written[at], KEEP_MS)
    assert await log.read(list(written)) == written


async def test_read_of_no_positions_gives_nothing(world: DatabaseWorld) -> None:
    log = await world.log()
    assert await log.read([]) == {}


async def test_empty_log_has_nothing_to_read_or_scan(world: DatabaseWorld) -> None:
    log = await world.log()
    assert await rows(log) == []
    assert await log.read([position(1, 0, 0)]) == {}
    await log.trim(position(1, 3, 0))
    assert await log.bookmark() == 0


async def test_scan_gives_the_groups_of_all_segments_in_order(world: DatabaseWorld) -> None:
    log = await world.log()
    written = [(position(1, segment, slot), b"x") for segment in range(4) for slot in range(5)]
    for at, group in written:
        await log.append(at, group, KEEP_MS)
    assert await rows(log) == written


async def test_scan_gives_the_groups_of_all_epochs_in_order(world: DatabaseWorld) -> None:
    place = world.place()
    written: list[LogRow] = []
    for epoch in (1, 2, 9, EPOCH_MAX):
        log = await world.database.open_log(place, epoch)
        for at in (position(epoch, 0, 0), position(epoch, 0, 1), position(epoch, 3, 0)):
            written.append((at, b"%d" % at))
            await log.append(*written[-1], KEEP_MS)
    assert await rows(log) == written


async def test_scan_begins_at_the_first_position_asked_for(world: DatabaseWorld) -> None:
    log = await world.log()
    written = [(position(1, segment, slot), b"x") for segment in range(3) for slot in range(3)]
    for at, group in written:
        await log.append(at, group, KEEP_MS)
    assert await rows(log, position(1, 1, 1)) == written[4:]
    assert await rows(log, position(1, 1, 3)) == written[6:]
    assert await rows(log, written[-1][0] + 1) == []


async def test_scan_sees_every_answered_append_once_in_its_pages(world: DatabaseWorld) -> None:
    log = await world.log()
    written = [(position(1, slot // 100, slot), b"%d" % slot * 100) for slot in range(GROUPS)]
    for at, group in written:
        await log.append(at, group, KEEP_MS)
    found = await pages(log)
    assert all(found), "no page is empty"
    assert [row for page in found for row in page] == written


async def test_scan_may_be_left_before_its_end(world: DatabaseWorld) -> None:
    log = await world.log()
    for slot in range(GROUPS):
        await log.append(position(1, 0, slot), b"x", KEEP_MS)
    scan = log.scan(0)
    assert (await anext(scan))[0] == (position(1, 0, 0), b"x")
    assert await log.read([position(1, 0, 1)]) == {position(1, 0, 1): b"x"}
    assert len(await rows(log)) == GROUPS


async def test_same_append_twice_is_one_row(world: DatabaseWorld) -> None:
    log = await world.log()
    for _ in range(2):
        await log.append(position(1, 0, 0), b"group", KEEP_MS)
    assert await rows(log) == [(position(1, 0, 0), b"group")]


async def test_append_may_be_repeated_after_later_ones(world: DatabaseWorld) -> None:
    log = await world.log()
    for slot in (0, 1, 0):
        await log.append(position(1, 0, slot), b"%d" % slot, KEEP_MS)
    assert await rows(log) == [(position(1, 0, 0), b"0"), (position(1, 0, 1), b"1")]


async def test_large_groups_come_back_byte_for_byte(world: DatabaseWorld) -> None:
    log = await world.log()
    rng = random.Random(1)
    written = [(position(1, 0, slot), rng.randbytes(LARGE_BYTES)) for slot in range(3)]
    for at, group in written:
        await log.append(at, group, KEEP_MS)
    assert await log.read([written[1][0]]) == dict([written[1]])
    assert await rows(log) == written


async def test_group_may_hold_any_bytes(world: DatabaseWorld) -> None:
    log = await world.log()
    group = bytes(range(256)) + b"\x00'\"\\\r\n"
    await log.append(position(1, 0, 0), group, KEEP_MS)
    assert await rows(log) == [(position(1, 0, 0), group)]


async def test_group_that_frees_space_is_appended_like_any_other(world: DatabaseWorld) -> None:
    log = await world.log()
    await log.append(position(1, 0, 0), b"settles", KEEP_MS, grow=False)
    assert await rows(log) == [(position(1, 0, 0), b"settles")]


async def test_partitions_have_logs_of_their_own(world: DatabaseWorld) -> None:
    queue, number = world.place()
    places = [(queue, number), (queue, number + 1), (queue + 1, number)]
    logs = [await world.database.open_log(place, 1) for place in places]
    for mark, log in enumerate(logs):
        await log.append(position(1, 0, 0), b"%d" % mark, KEEP_MS)
    assert [await rows(log) for log in logs] == [[(position(1, 0, 0), b"%d" % i)] for i in range(3)]
    await world.database.remove_log(places[0])
    assert [len(await rows(log)) for log in logs[1:]] == [1, 1]


async def test_trim_removes_the_segments_before_and_no_other(world: DatabaseWorld) -> None:
    log = await world.log()
    written = [(position(1, segment, slot), b"x") for segment in range(4) for slot in range(3)]
    for at, group in written:
        await log.append(at, group, KEEP_MS)
    await log.trim(position(1, 2, 0))
    assert await rows(log) == written[6:]
    assert await log.read([at for at, _ in written]) == dict(written[6:])


async def test_trim_removes_segments_of_older_epochs(world: DatabaseWorld) -> None:
    place = world.place()
    for epoch in (1, 2, 5):
        log = await world.database.open_log(place, epoch)
        for segment in range(3):
            await log.append(position(epoch, segment, 0), b"x", KEEP_MS)
    await log.trim(position(5, 1, 0))
    assert [at for at, _ in await rows(log)] == [position(5, 1, 0), position(5, 2, 0)]


async def test_trim_may_be_repeated_and_goes_no_further_back(world: DatabaseWorld) -> None:
    log = await world.log()
    for segment in range(3):
        await log.append(position(1, segment, 0), b"x", KEEP_MS)
    for before in (position(1, 2, 0), position(1, 2, 0), position(1, 1, 0), 0):
        await log.trim(before)
    assert [at for at, _ in await rows(log)] == [position(1, 2, 0)]


async def test_log_goes_on_after_everything_was_trimmed(world: DatabaseWorld) -> None:
    log = await world.log()
    await log.append(position(1, 0, 0), b"old", KEEP_MS)
    await log.trim(position(1, 1, 0))
    assert await rows(log) == []
    await log.append(position(1, 1, 0), b"new", KEEP_MS)
    assert await rows(log) == [(position(1, 1, 0), b"new")]


async def test_removed_log_is_empty_when_it_is_opened_again(world: DatabaseWorld) -> None:
    place = world.place()
    log = await world.database.open_log(place, 1)
    await log.append(position(1, 0, 0), b"x", KEEP_MS)
    await log.append(position(1, 1, 0), b"y", KEEP_MS)
    await log.set_bookmark(position(1, 1, 0))
    for _ in range(2):
        await world.database.remove_log(place)
    reopened = await world.database.open_log(place, 2)
    assert await rows(reopened) == []
    assert await reopened.read([position(1, 0, 0)]) == {}
    assert await reopened.bookmark() == 0
    await reopened.append(position(2, 0, 0), b"z", KEEP_MS)
    assert await rows(reopened) == [(position(2, 0, 0), b"z")]


async def test_log_that_never_was_may_be_removed(world: DatabaseWorld) -> None:
    place = world.place()
    await world.database.remove_log(place)
    assert await rows(await world.database.open_log(place, 1)) == []
