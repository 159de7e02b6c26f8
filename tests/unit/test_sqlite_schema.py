"""Migrations: from every older version to ours, step by step; a newer one is left alone."""

import hashlib
from pathlib import Path

import apsw
import pytest

from dovemq.core import limits
from dovemq.core.errors import StoreUnusable
from dovemq.stores.sqlite import schema
from dovemq.stores.sqlite.directory import SEALS_NAME
from tests.unit.embedded import Place, read_rows

OLDER = ["PRAGMA application_id = 1146050117; CREATE TABLE thing (a INTEGER)"]
NEWER = [*OLDER, "ALTER TABLE thing ADD COLUMN b INTEGER NOT NULL DEFAULT 5"]
BROKEN = [*NEWER, "CREATE TABLE half (a); CREATE TABLE thing (a)"]


@pytest.fixture
def connection(tmp_path: Path) -> apsw.Connection:
    return apsw.Connection(str(tmp_path / "x.db"))


def test_new_database_gets_every_step(connection: apsw.Connection) -> None:
    schema.migrate(connection, NEWER)
    assert connection.pragma("user_version") == 2
    connection.execute("INSERT INTO thing (a) VALUES (1)")
    assert connection.execute("SELECT a, b FROM thing").fetchall() == [(1, 5)]


def test_older_database_gets_the_steps_it_lacks_and_keeps_its_rows(
    connection: apsw.Connection,
) -> None:
    schema.migrate(connection, OLDER)
    connection.execute("INSERT INTO thing (a) VALUES (1)")
    schema.migrate(connection, NEWER)
    assert connection.pragma("user_version") == 2
    assert connection.execute("SELECT a, b FROM thing").fetchall() == [(1, 5)]


def test_migration_is_not_done_twice(connection: apsw.Connection) -> None:
    schema.migrate(connection, NEWER)
    schema.migrate(connection, NEWER)
    assert connection.pragma("user_version") == 2


def test_failed_step_leaves_the_version_before_it(connection: apsw.Connection) -> None:
    with pytest.raises(apsw.SQLError):
        schema.migrate(connection, BROKEN)
    assert connection.pragma("user_version") == 2
    names = connection.execute("SELECT name FROM sqlite_schema").fetchall()
    assert names == [("thing",)]


def test_steps_of_this_release_are_numbered_without_gaps() -> None:
    names = sorted(path.name for path in Path(schema.__file__).parent.glob("migrations/*.sql"))
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))
    assert len(schema.load_steps()) == len(names)


async def test_newer_schema_is_refused_and_left_alone(place: Place) -> None:
    await (await place.open()).close()
    connection = apsw.Connection(str(place.database))
    connection.pragma("user_version", 99)
    connection.close()
    _seals_of(place).unlink()
    before = hashlib.sha256(place.database.read_bytes()).digest()
    with pytest.raises(StoreUnusable, match=r"schema version 99, this release knows \d+; use"):
        await place.open()
    assert hashlib.sha256(place.database.read_bytes()).digest() == before


async def test_database_of_another_program_is_refused_and_left_alone(place: Place) -> None:
    place.directory.mkdir()
    connection = apsw.Connection(str(place.database))
    connection.execute("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)")
    connection.close()
    with pytest.raises(StoreUnusable, match="not a DoveMQ database"):
        await place.open()
    assert read_rows(place.database, "SELECT a FROM theirs") == [(1,)]
    assert read_rows(place.database, "PRAGMA journal_mode") == [("delete",)]


async def test_sizes_of_older_messages_come_from_their_records(place: Place) -> None:
    line = await place.line(await place.open())
    bodies = ("a", "b" * 5_000, "c" * 100_000)
    await line.send(*bodies)
    now_bytes = (await line.partition.counts(line.now_ms)).bytes
    await line.store.close()
    _as_first_version(place.database)
    _seals_of(place).unlink()
    store = await place.open()
    counts = await store.partition(line.queue, 0).counts(line.now_ms)
    assert counts.visible == len(bodies)
    assert abs(counts.bytes - now_bytes) <= 2 * limits.STORED_UNIT_BYTES * len(bodies)
    assert await store.catalogue.accounts() == []


def _seals_of(place: Place) -> Path:
    """Only we write seals: a file that somebody else wrote has none, or wrong ones."""
    return place.directory / SEALS_NAME


_TRIGGERS = [
    f"{table}_{what}"
    for table in ("meta", "queue", "move", "account")
    for what in ("added", "changed", "removed")
]


def _as_first_version(database: Path) -> None:
    connection = apsw.Connection(str(database))
    for trigger in _TRIGGERS:
        connection.execute(f"DROP TRIGGER {trigger}")
    for table in ("meta", "queue", "move", "account"):
        connection.execute(f"DROP TABLE {table}_twin")
    for column in ("units", "message_id", "crc32"):
        connection.execute(f"ALTER TABLE entry DROP COLUMN {column}")
    for table in ("account", "ledger"):
        connection.execute(f"DROP TABLE {table}")
    connection.pragma("user_version", 1)
    connection.close()
