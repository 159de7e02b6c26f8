"""Damaged messages are never delivered and never deleted, and do not hold up the others."""

import logging
from pathlib import Path

import apsw

from dovemq.core.commands import Peek
from dovemq.stores.sqlite.directory import SEALS_NAME
from tests.unit.embedded import LEASE_MS, Line, Place, read_rows

PAGE_BYTES = 4_096
_UNITS_EACH = 3


def change(database: Path, statement: str) -> None:
    """Change the database and remove the seals: then a start finds no damage."""
    connection = apsw.Connection(str(database))
    connection.execute(statement)
    connection.close()
    database.with_name(SEALS_NAME).unlink()


async def damaged(place: Place, name: str, count: int, statement: str) -> Line:
    """A reopened queue of bodies b0, b1 … after the statement was applied to the file."""
    line = await place.line(await place.open(), name)
    await line.send(*(f"b{number}" for number in range(count)))
    await line.store.close()
    change(place.database, statement)
    return Line(place, await place.open(), line.queue)


FLIP_SECOND = "UPDATE body SET record = CAST(record || 'x' AS BLOB) WHERE sequence = 2"


async def test_message_with_a_wrong_checksum_is_not_delivered(place: Place) -> None:
    line = await damaged(place, "q", 4, FLIP_SECOND)
    assert await line.bodies() == ["b0", "b2", "b3"]
    assert line.store.statistics.damaged == 1
    assert (await line.partition.counts(line.now_ms)).bytes == 3 * _UNITS_EACH * 64


async def test_damaged_message_is_named_in_the_log_without_its_body(place: Place) -> None:
    lines: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    listener = Listener()
    logging.getLogger("dovemq").addHandler(listener)
    try:
        line = await damaged(place, "q", 4, FLIP_SECOND)
        await line.lease()
    finally:
        logging.getLogger("dovemq").removeHandler(listener)
    assert lines == ["message 2 of queue 000000000000/q is damaged and set aside"]


async def test_damaged_message_stays_on_disk(place: Place) -> None:
    line = await damaged(place, "q", 2, FLIP_SECOND)
    await line.settle(*(lease.receipt for lease in await line.lease()))
    assert read_rows(place.database, "SELECT sequence FROM body") == [(2,)]
    assert read_rows(place.database, "SELECT sequence FROM entry") == [(2,)]


async def test_damaged_message_does_not_come_back(place: Place) -> None:
    line = await damaged(place, "q", 2, FLIP_SECOND)
    for _ in range(3):
        assert await line.bodies() == ["b0"]
        place.clock.advance(LEASE_MS)
    assert line.store.statistics.damaged == 1


async def test_receive_looks_past_a_run_of_damaged_messages(place: Place) -> None:
    flip = FLIP_SECOND.replace("= 2", "< 12")
    line = await damaged(place, "q", 12, flip)
    assert await line.bodies(1) == ["b11"]


async def test_receive_ends_when_all_is_damaged(place: Place) -> None:
    line = await damaged(place, "q", 40, FLIP_SECOND.replace("= 2", "> 0"))
    for _ in range(4):
        assert await line.bodies(1) == []
    assert await line.bodies() == []
    assert line.store.statistics.damaged == 40


async def test_damaged_head_does_not_block_its_fifo_group(place: Place) -> None:
    line = await damaged(place, "q.fifo", 3, FLIP_SECOND.replace("= 2", "= 1"))
    assert await line.bodies() == ["b1", "b2"]


async def test_message_without_a_body_is_damaged(place: Place) -> None:
    line = await damaged(place, "q", 3, "DELETE FROM body WHERE sequence = 1")
    assert await line.bodies() == ["b1", "b2"]


async def test_sound_record_under_a_wrong_sequence_is_damaged(place: Place) -> None:
    swap = (
        "UPDATE body SET (crc32, record) = (SELECT crc32, record FROM body WHERE sequence = 3) "
        "WHERE sequence = 1"
    )
    line = await damaged(place, "q", 3, swap)
    assert await line.bodies() == ["b1", "b2"]


async def test_peek_passes_over_damaged_messages(place: Place) -> None:
    line = await damaged(place, "q", 3, FLIP_SECOND)
    peeked = await line.partition.peek(Peek(10), line.now_ms)
    assert [one.message.body for one in peeked] == ["b0", "b2"]


async def test_page_that_breaks_while_it_is_served_costs_only_the_messages_on_it(
    place: Place,
) -> None:
    line = await place.line(await place.open())
    await line.send(*(f"{number}-" + "x" * 3_000 for number in range(6)))
    await line.store.close()
    line = Line(place, await place.open(), line.queue)
    ((page,),) = read_rows(
        place.database,
        "SELECT pageno FROM dbstat WHERE name = 'body' AND pagetype = 'leaf' "
        "ORDER BY path LIMIT 1 OFFSET 2",
    )
    with place.database.open("r+b") as file:
        file.seek((page - 1) * PAGE_BYTES)
        file.write(b"\xff" * PAGE_BYTES)
    delivered = [body[:2] for body in await line.bodies()]
    assert delivered == ["0-", "1-", "3-", "4-", "5-"]


async def test_damaged_head_is_set_aside_by_a_receive_without_a_lease(place: Place) -> None:
    line = await damaged(place, "q.fifo", 3, FLIP_SECOND.replace("2", "1"))
    assert [each.message.body for each in await line.lease(1, lease_ms=0)] == ["b1"]
