"""Data directories that older code wrote, one for each version of the schema, opened by ours.

`tools/data_directories.py` made them and says what is in them. The clock goes on from the second in
which one was made, since messages end with their retention.
"""

import tarfile
from pathlib import Path
from typing import Final

import apsw
import pytest

from dovemq.core.accounts import Role
from dovemq.core.commands import Peek
from dovemq.core.ledger import LedgerAsk
from dovemq.core.limits import DAY_MS, MINUTE_MS, SECOND_MS
from dovemq.core.queue import QueueKey
from dovemq.service.workflows.jobs import JOB_KIND
from dovemq.stores.sqlite import SqliteStore
from dovemq.stores.sqlite.backup import restore_backup
from dovemq.stores.sqlite.directory import DATABASE_NAME, SEALS_NAME
from dovemq.stores.sqlite.schema import load_steps
from dovemq.testing.clock import ManualClock
from dovemq.testing.local_server import LocalServer, StartFailed
from tests.unit.embedded import ACCOUNT, Line, Place, read_rows
from tools.data_directories import ACCOUNTS_SINCE, JOBS_SINCE, archive_of

VERSIONS: Final = range(1, len(load_steps()) + 1)
LARGE: Final = "large " * 20_000
QUARTER_MS: Final = 15 * MINUTE_MS
HALF_DAY_MS: Final = DAY_MS // 2

each_version = pytest.mark.parametrize("version", VERSIONS)


def unpack(version: int, directory: Path) -> int:
    """Returns a time by which everything in the directory had been written."""
    directory.mkdir(mode=0o700)
    with tarfile.open(archive_of(version)) as packed:
        members = packed.getmembers()
        for member in members:
            content = packed.extractfile(member)
            assert content is not None
            path = directory / member.name
            path.write_bytes(content.read())
            path.chmod(0o600)
    return (int(max(member.mtime for member in members)) + 1) * SECOND_MS


async def opened(place: Place, version: int) -> SqliteStore:
    place.clock = ManualClock(unpack(version, place.directory))
    return await place.open()


async def line(place: Place, store: SqliteStore, name: str) -> Line:
    queue = await store.catalogue.find(QueueKey(ACCOUNT, name))
    assert queue is not None
    return Line(place, store, queue)


def test_every_version_of_the_schema_has_a_directory() -> None:
    assert [version for version in VERSIONS if not archive_of(version).exists()] == []


@each_version
def test_directory_holds_the_version_that_it_is_named_after(version: int, tmp_path: Path) -> None:
    unpack(version, tmp_path / "data")
    assert read_rows(tmp_path / "data" / DATABASE_NAME, "PRAGMA user_version") == [(version,)]


@each_version
async def test_messages_of_older_code_come_at_their_times(place: Place, version: int) -> None:
    store = await opened(place, version)
    letters = await line(place, store, "letters")
    assert sorted(await letters.bodies()) == [LARGE, "plain", "with attributes"]
    place.clock.advance(QUARTER_MS)
    assert "delayed" in await letters.bodies()
    assert "leased" not in await letters.bodies()
    place.clock.advance(HALF_DAY_MS)
    assert "leased" in await letters.bodies()


@each_version
async def test_messages_of_older_code_are_whole(place: Place, version: int) -> None:
    store = await opened(place, version)
    leases = await (await line(place, store, "letters")).lease()
    messages = {lease.message.body: lease.message for lease in leases}
    attributes = messages["with attributes"].attributes
    values = {name: each.value for name, each in attributes.items()}
    assert values == {"colour": "blue", "weight": "12", "seal": b"\x00\xff"}
    assert (await store.verify()).sound
    assert store.damage() == []


@each_version
async def test_dead_letter_of_older_code_is_kept_with_its_origin(
    place: Place, version: int
) -> None:
    store = await opened(place, version)
    dead = await line(place, store, "dead")
    (peeked,) = await dead.partition.peek(Peek(10), dead.now_ms)
    assert peeked.message.body == "lost"
    assert peeked.message.source == f"{ACCOUNT}/letters"


@each_version
async def test_groups_of_older_code_keep_their_order(place: Place, version: int) -> None:
    store = await opened(place, version)
    orders = await line(place, store, "orders.fifo")
    assert await orders.bodies() == ["b1", "b2"]
    place.clock.advance(HALF_DAY_MS)
    assert [body for body in await orders.bodies() if body[0] == "a"] == ["a1", "a2", "a3"]


@each_version
async def test_long_delay_of_older_code_ends_at_its_time(place: Place, version: int) -> None:
    store = await opened(place, version)
    later = await line(place, store, "later")
    place.clock.advance(9 * DAY_MS)
    assert await later.bodies() == []
    place.clock.advance(DAY_MS)
    assert await later.bodies() == ["in ten days"]


@each_version
async def test_settings_and_tags_of_older_code_are_kept(place: Place, version: int) -> None:
    store = await opened(place, version)
    letters = (await line(place, store, "letters")).queue
    assert letters.tags == {"team": "post"}
    assert letters.settings.retention_ms == 14 * DAY_MS
    assert letters.settings.redrive is not None
    assert letters.settings.redrive.receives_max == 2
    assert (await line(place, store, "later")).queue.settings.long_delay


@pytest.mark.parametrize("version", [each for each in VERSIONS if each >= ACCOUNTS_SINCE])
async def test_account_of_older_code_keeps_key_role_and_quota(place: Place, version: int) -> None:
    store = await opened(place, version)
    (billing,) = await store.catalogue.accounts()
    assert (billing.number, billing.name) == ("111122223333", "billing")
    assert billing.role is Role.VIEWER
    assert billing.quotas.queues_max == 10
    assert len(billing.credentials) == 1
    assert billing.password_hash is not None


@pytest.mark.parametrize("version", [each for each in VERSIONS if each >= JOBS_SINCE])
async def test_job_of_older_code_is_running(place: Place, version: int) -> None:
    store = await opened(place, version)
    (job,) = (await store.ledger.page(LedgerAsk(JOB_KIND, 10))).entries
    assert (job.type, job.state) == ("shop", "running")
    assert await (await line(place, store, "topic-A")).visible() == 1


@each_version
async def test_database_of_older_code_can_be_restored_as_a_backup(
    place: Place, version: int, tmp_path: Path
) -> None:
    """A backup is such a file. It is copied, so that the older release can still read it."""
    older = tmp_path / "older"
    place.clock = ManualClock(unpack(version, older))
    restore_backup(older / DATABASE_NAME, place.directory)
    letters = await line(place, await place.open(), "letters")
    assert len(await letters.bodies()) == 3
    assert read_rows(older / DATABASE_NAME, "PRAGMA user_version") == [(version,)]


def test_server_refuses_a_newer_schema_and_says_what_to_do(tmp_path: Path) -> None:
    data = tmp_path / "data"
    unpack(max(VERSIONS), data)
    # Only the newer release could write seals that fit.
    (data / SEALS_NAME).unlink()
    newer = max(VERSIONS) + 1
    connection = apsw.Connection(str(data / DATABASE_NAME))
    connection.pragma("user_version", newer)
    connection.close()
    said = f"schema version {newer}, this release knows {newer - 1}; use the release that wrote it"
    with pytest.raises(StartFailed, match=said):
        LocalServer(data).start()
    assert read_rows(data / DATABASE_NAME, "PRAGMA user_version") == [(newer,)]
