"""The directories that the store accepts, and the errors for all others."""

import asyncio
import contextlib
import os
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dovemq.core.errors import StoreUnusable
from dovemq.stores.sqlite.connection import check_library
from dovemq.stores.sqlite.directory import DirectoryLock, Reserve, prepare_directory
from tests.unit.embedded import Place

NOBODY = 65_534


@pytest.fixture
def read_only() -> Iterator[Path]:
    """A directory that exists and cannot be written, also when root runs the tests."""
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        directory.chmod(0o555)
        was = os.geteuid()
        if was == 0:
            os.seteuid(NOBODY)
        try:
            yield directory
        finally:
            os.seteuid(was)
            directory.chmod(0o700)


async def test_directory_is_made_private_with_its_parents(place: Place) -> None:
    place.directory = place.directory / "deep" / "down"
    await place.open()
    assert stat.S_IMODE(place.directory.stat().st_mode) == 0o700
    assert place.database.is_file()


async def test_files_of_a_store_are_for_their_owner_alone(place: Place) -> None:
    was = os.umask(0)
    try:
        store = await place.open()
        line = await place.line(store)
        await line.send("a")
    finally:
        os.umask(was)
    files = list(place.directory.iterdir())
    assert {"dovemq.db", "dovemq.db-wal"} <= {path.name for path in files}
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in files} == {
        path.name: 0o600 for path in files
    }


async def test_files_that_others_may_read_are_closed_to_them(place: Place) -> None:
    (await place.open()).abandon()
    files = [path for path in place.directory.iterdir() if path.name.startswith("dovemq.db")]
    for path in files:
        path.chmod(0o664)
    await place.open()
    assert [stat.S_IMODE(path.stat().st_mode) for path in files] == [0o600] * len(files)


async def test_file_that_cannot_be_closed_to_others_is_refused(place: Place) -> None:
    await (await place.open()).close()
    place.database.chmod(0o644)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "chmod", _not_the_owner)
        with pytest.raises(StoreUnusable, match=r"others may read it \(mode 0644\); chmod 600"):
            await place.open()


@contextlib.contextmanager
def of_another_user(path: Path) -> Iterator[int]:
    """Root gives the path away; any other user claims to be somebody else."""
    owner = path.stat().st_uid
    with pytest.MonkeyPatch.context() as patch:
        if owner == 0:
            os.chown(path, NOBODY, -1)
        else:
            patch.setattr(os, "geteuid", lambda: owner + 1)
        yield owner or NOBODY
    if owner == 0:
        os.chown(path, owner, -1)


def _not_the_owner(path: Path, mode: int) -> None:
    raise PermissionError


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777])
def test_directory_that_others_may_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(StoreUnusable, match=rf"may write to it \(mode {mode:04o}\); .* chmod go-w"):
        prepare_directory(tmp_path)


def test_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    with (
        of_another_user(tmp_path) as owner,
        pytest.raises(StoreUnusable, match=f"belongs to user {owner}, .*run it as user {owner}"),
    ):
        prepare_directory(tmp_path)


@pytest.mark.parametrize("name", ["dovemq.db", "dovemq.db-wal", "dovemq.seals", "lock", "reserve"])
async def test_link_in_the_place_of_a_file_is_refused_and_not_followed(
    place: Place, name: str
) -> None:
    await (await place.open()).close()
    victim = place.directory.parent / "victim"
    victim.write_text("precious")
    (place.directory / name).unlink(missing_ok=True)
    (place.directory / name).symlink_to(victim)
    with pytest.raises(StoreUnusable, match=f"{name}: is a symbolic link"):
        await place.open()
    assert victim.read_text() == "precious"


async def test_second_store_on_a_directory_is_refused_with_the_holder(place: Place) -> None:
    line = await place.line(await place.open())
    with pytest.raises(StoreUnusable, match=f"in use by process {os.getpid()}; stop"):
        await place.open()
    await line.send("the first goes on")
    assert await line.visible() == 1


async def test_closed_directory_can_be_opened_again(place: Place) -> None:
    await (await place.open()).close()
    store = await place.open()
    assert await store.catalogue.page(None, "", "", 10) == []


def test_lock_of_a_process_that_died_does_not_hold(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path;"
        "from dovemq.stores.sqlite.directory import DirectoryLock;"
        "DirectoryLock(Path(sys.argv[1])); os._exit(9)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert done.returncode == 9
    assert (tmp_path / "lock").read_text().strip().isdigit()
    DirectoryLock(tmp_path).release()


def test_read_only_directory_is_refused_and_left_alone(read_only: Path) -> None:
    with pytest.raises(StoreUnusable, match="cannot write there"):
        DirectoryLock(read_only)
    assert list(read_only.iterdir()) == []


def test_file_in_the_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StoreUnusable, match="cannot be made a directory"):
        prepare_directory(tmp_path / "file" / "data")
    assert (tmp_path / "file").read_text() == "mine"


async def test_file_that_is_no_database_is_refused_and_left_alone(place: Place) -> None:
    place.directory.mkdir()
    place.database.write_bytes(b"certainly no database " * 1_000)
    before = place.database.read_bytes()
    with pytest.raises(StoreUnusable, match="restore a backup"):
        await place.open()
    assert place.database.read_bytes() == before


async def test_refused_directory_is_unlocked_again(place: Place) -> None:
    place.directory.mkdir()
    place.database.write_bytes(b"certainly no database " * 1_000)
    with pytest.raises(StoreUnusable):
        await place.open()
    place.database.unlink()
    store = await place.open()
    assert await store.catalogue.page(None, "", "", 10) == []


@pytest.mark.parametrize("version", ["3.40.1", "3.51.2", "3.7.17"])
def test_old_library_is_refused(version: str) -> None:
    with pytest.raises(StoreUnusable, match=f"version {version}; install 3.51.3 or newer"):
        check_library(version)


@pytest.mark.parametrize("version", ["3.51.3", "3.52.0", "4.0.0"])
def test_newer_library_is_accepted(version: str) -> None:
    check_library(version)


def test_reserve_is_made_given_back_and_made_again(tmp_path: Path) -> None:
    reserve = Reserve(tmp_path)
    assert reserve.make()
    assert (tmp_path / "reserve").stat().st_blocks * 512 >= 8 * 1024 * 1024
    reserve.release()
    assert not (tmp_path / "reserve").exists()
    assert reserve.make()


async def test_closed_store_leaves_no_thread_behind(place: Place) -> None:
    await (await place.open()).close()
    assert not [thread for thread in threading.enumerate() if "dovemq" in thread.name]


async def test_opening_that_was_cancelled_releases_the_directory(place: Place) -> None:
    opening = asyncio.create_task(place.open())
    while not (place.directory / "lock").exists():
        await asyncio.sleep(0)
    opening.cancel()
    await asyncio.wait([opening])
    while True:
        try:
            await place.open()
            break
        except StoreUnusable:
            await asyncio.sleep(0.01)
    assert opening.cancelled()


async def test_files_are_for_the_owner_alone_in_a_directory_that_others_may_read(
    place: Place,
) -> None:
    place.database.parent.mkdir(mode=0o755, exist_ok=True)
    place.database.parent.chmod(0o755)
    await place.open()
    files = list(place.database.parent.iterdir())
    assert {file.name: stat.S_IMODE(file.stat().st_mode) for file in files} == {
        file.name: 0o600 for file in files
    }
