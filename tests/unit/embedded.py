"""An embedded store in a directory of the test, on a disk that can be made to fail."""

import itertools
import random
import threading
from pathlib import Path
from typing import Any, Final

import apsw

from dovemq.core.commands import Ask, Draft, Lease, Receipt
from dovemq.core.queue import Queue, QueueKey, QueueSettings
from dovemq.stores.owned.partition import OwnedPartition
from dovemq.stores.sqlite import SqliteStore, open_store
from dovemq.testing.clock import ManualClock

ACCOUNT: Final = "000000000000"
LEASE_MS: Final = 30_000
TEST_SECONDS_MAX: Final = 60
DATABASE: Final = "dovemq.db"


class FaultyDisk(apsw.VFS):
    """A disk that works until the test makes it fail.

    A full disk lets files be overwritten but not grow, except by what the reserve gave back. With
    `volume_bytes` the files of the data directory share so many bytes.
    """

    def __init__(self, name: str, reserve: Path) -> None:
        self.name = name
        self.sync_fails = False
        self.checkpoint_fails = False
        self.full = False
        self.spare_bytes = 8 * 1024 * 1024
        self.volume_bytes: int | None = None
        self.syncs = 0
        self.may_sync = threading.Event()
        self.may_sync.set()
        self.is_held = threading.Event()
        """Set once a sync waits for `may_sync`."""
        self._reserve = reserve
        super().__init__(name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> "FaultyFile":
        return FaultyFile(self, name, flags)

    def volume_free_bytes(self) -> int:
        used = sum(path.stat().st_size for path in self._reserve.parent.iterdir())
        return max(0, (self.volume_bytes or 0) - used)

    def grow(self, count: int) -> None:
        if self.volume_bytes is not None and count > self.volume_free_bytes():
            raise apsw.FullError("no space left")
        if not self.full or count <= 0:
            return
        if self._reserve.exists() or count > self.spare_bytes:
            raise apsw.FullError("no space left")
        self.spare_bytes -= count


class FaultyFile(apsw.VFSFile):
    def __init__(
        self, disk: FaultyDisk, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        self._disk = disk
        self._is_database = bool(flags[0] & apsw.SQLITE_OPEN_MAIN_DB)
        super().__init__("", name, flags)

    def xSync(self, flags: int) -> None:
        if not self._disk.may_sync.is_set():
            self._disk.is_held.set()
            self._disk.may_sync.wait(TEST_SECONDS_MAX)
        self._disk.syncs += 1
        # Only a checkpoint syncs the database itself.
        if self._disk.sync_fails or (self._is_database and self._disk.checkpoint_fails):
            raise apsw.IOError("the disk does not answer")
        super().xSync(flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.grow(offset + len(data) - self.xFileSize())
        super().xWrite(data, offset)


def read_rows(database: Path, statement: str) -> list[tuple[Any, ...]]:
    """Rows read on a connection of its own, as another process would."""
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close(True)


class Place:
    """A data directory, a clock, and whatever store is open there now."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "data"
        self.clock = ManualClock()
        self.disk = FaultyDisk(f"faulty-{directory}", self.directory / "reserve")
        self._ids = itertools.count(1)
        self._stores: list[SqliteStore] = []

    @property
    def database(self) -> Path:
        return self.directory / DATABASE

    async def open(self, cache_bytes_max: int = 1 << 20) -> SqliteStore:
        store = await open_store(
            self.directory,
            rng=random.Random(7),
            cache_bytes_max=cache_bytes_max,
            clock=self.clock,
            vfs=self.disk.name,
        )
        self._stores.append(store)
        return store

    async def line(
        self, store: SqliteStore, name: str = "q", settings: QueueSettings | None = None
    ) -> "Line":
        settings = settings or QueueSettings(fifo=name.endswith(".fifo"))
        now_ms = self.clock.now_ms()
        made = Queue(0, QueueKey(ACCOUNT, name), settings, now_ms, now_ms)
        return Line(self, store, await store.catalogue.create(made))

    def new_id(self) -> str:
        return f"m-{next(self._ids)}"

    def leave(self) -> None:
        self.disk.may_sync.set()
        for store in self._stores:
            store.abandon()


class Line:
    """One queue of a store, with the clock filled in."""

    def __init__(self, place: Place, store: SqliteStore, queue: Queue) -> None:
        self.place = place
        self.store = store
        self.queue = queue

    @property
    def partition(self) -> OwnedPartition:
        return self.store.partition(self.queue, 0)

    @property
    def now_ms(self) -> int:
        return self.place.clock.now_ms()

    def draft(self, body: str, deduplication_id: str | None = None) -> Draft:
        message_id = self.place.new_id()
        if self.queue.settings.fifo:
            return Draft(
                message_id,
                body,
                ACCOUNT,
                group="g",
                deduplication_id=deduplication_id or message_id,
            )
        return Draft(message_id, body, ACCOUNT)

    async def send(self, *bodies: str) -> list[int]:
        drafts = [self.draft(body) for body in bodies]
        return [sent.sequence for sent in await self.partition.send(drafts, self.now_ms)]

    async def lease(self, count: int = 10, lease_ms: int = LEASE_MS) -> list[Lease]:
        return (await self.partition.lease(Ask(count, lease_ms), self.now_ms)).messages

    async def bodies(self, count: int = 10) -> list[str]:
        return [lease.message.body for lease in await self.lease(count)]

    async def settle(self, *receipts: Receipt) -> None:
        await self.partition.settle(receipts, self.now_ms)

    async def visible(self) -> int:
        return (await self.partition.counts(self.now_ms)).visible
