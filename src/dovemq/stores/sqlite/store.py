"""The embedded store: queues and messages in one SQLite database of one data directory.

Implements `core.ports.Store`. The event loop owns the indexes and decides; one thread writes, one
reads. Nothing is visible before it is durable, and nothing is accepted after a commit failed.
"""

import asyncio
import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

import apsw

from dovemq.core.coordination import OWNED
from dovemq.core.errors import QueueMissing
from dovemq.core.index import Index, index_for
from dovemq.core.observing import Observer
from dovemq.core.ports import Clock
from dovemq.core.queue import Queue
from dovemq.stores.owned.bodies import CACHE_BYTES_DEFAULT, Bodies, BodyCache, CacheRoom
from dovemq.stores.owned.context import OwnerContext
from dovemq.stores.owned.group import PartitionKey
from dovemq.stores.owned.partition import OwnedPartition
from dovemq.stores.owned.statistics import Statistics
from dovemq.stores.sqlite.backup import back_up
from dovemq.stores.sqlite.catalogue import SqliteCatalogue
from dovemq.stores.sqlite.committer import Committer
from dovemq.stores.sqlite.connection import check_library, open_reader, unusable
from dovemq.stores.sqlite.damage.evidence import read_reports
from dovemq.stores.sqlite.damage.report import DamageReport
from dovemq.stores.sqlite.directory import (
    DATABASE_NAME,
    DirectoryLock,
    Reserve,
    prepare_directory,
    remove_leftovers,
)
from dovemq.stores.sqlite.ledger import SqliteLedger
from dovemq.stores.sqlite.messages import SqliteMessages
from dovemq.stores.sqlite.reader import BodyReader, Reader
from dovemq.stores.sqlite.recovery import Recovered, recover
from dovemq.stores.sqlite.statements import Statements, load_statements
from dovemq.stores.sqlite.verification import (
    Progress,
    Verification,
    no_progress,
    verify,
    with_damaged_pages,
)
from dovemq.stores.sqlite.writer import Writer

T = TypeVar("T")

EXPIRY_PERIOD_SECONDS: Final = 60
"""The interval at which expired messages of unused queues are removed."""


class SqliteStore:
    """A store of one data directory. Made by `open_store`, on the loop that uses it."""

    coordinations = OWNED

    def __init__(
        self,
        directory: Path,
        lock: DirectoryLock,
        recovered: Recovered,
        *,
        sql: Statements,
        rng: random.Random,
        cache_bytes_max: int,
        clock: Clock,
        observer: Observer,
        vfs: str | None,
    ) -> None:
        self.receipt_key = recovered.receipt_key
        self.statistics = Statistics()
        self.statistics.damaged = recovered.report.lost_count if recovered.report else 0
        self._reports = read_reports(directory)
        self._path = directory / DATABASE_NAME
        self._vfs = vfs
        self._lock = lock
        self._closing = asyncio.Lock()
        self._rng = rng
        self._clock = clock
        self._observer = observer
        self._loop = asyncio.get_running_loop()
        self._partitions: dict[PartitionKey, OwnedPartition] = {}
        reserve = Reserve(directory)
        self._seals = recovered.seals
        committer = Committer(
            recovered.writing,
            sql,
            reserve,
            recovered.sequence_reserved,
            recovered.seals,
            recovered.messages,
        )
        self._writer = Writer(
            self._loop, committer, reserve, self.statistics, recovered.orphans, self._committed
        )
        self._reader = Reader(self._loop, recovered.reading)
        self._context = self._new_context(sql, cache_bytes_max, recovered.sequence_reserved)
        self.catalogue = SqliteCatalogue(
            self._writer,
            sql,
            recovered.queues,
            recovered.moves,
            recovered.accounts,
            self._forget,
        )
        self.ledger = SqliteLedger(self._writer, self._reader, sql)
        queues = {queue.number: queue for queue in recovered.queues}
        for (queue_number, number), index in recovered.indexes.items():
            self._add_partition(queues[queue_number], number, index)
        self._timer = self._loop.call_later(EXPIRY_PERIOD_SECONDS, self._expire)

    def partition(self, queue: Queue, number: int) -> OwnedPartition:
        partition = self._partitions.get((queue.number, number))
        if partition is None:
            partition = self._new_partition(queue, number)
        if queue.version > partition.queue.version:
            partition.follow(queue)
        return partition

    async def flush(self) -> None:
        """Commit everything that is pending, leases included."""
        await self._writer.flush()

    async def close(self) -> None:
        self._timer.cancel()
        async with self._closing:
            await self._writer.close()
            self._reader.stop()
            await asyncio.to_thread(self._reader.join)
            self._seals.close()
            self._lock.release()

    def abandon(self) -> None:
        """Leave the directory as a killed process would. For tests."""
        self._timer.cancel()
        self._writer.abandon()
        self._reader.stop()
        self._reader.join()
        self._seals.close()
        self._lock.release()

    async def backup(self, progress: Progress = no_progress) -> BinaryIO:
        """A consistent copy while the store goes on: an open file without a name."""
        await self._writer.flush()
        directory = self._path.parent
        return await self._aside(lambda connection: back_up(connection, directory, progress))

    async def verify(self, progress: Progress = no_progress) -> Verification:
        """Read and check everything while the store goes on."""
        await self._writer.flush()
        found = await self._aside(lambda connection: verify(connection, progress))
        unsound = await asyncio.to_thread(self._seals.unsound)
        still = await self._writer.work(
            lambda _: self._seals.still_unsound(unsound), lambda _: None
        )
        return with_damaged_pages(found, still)

    def damage(self) -> list[DamageReport]:
        """Reports on damage that this and earlier starts found, while its files are kept."""
        directory = self._path.parent
        return [each for each in self._reports if (directory / each.evidence).is_dir()]

    async def _aside(self, read: Callable[[apsw.Connection], T]) -> T:
        """Read on a thread and a connection of its own: the reader thread serves receives."""

        def run() -> T:
            connection = open_reader(self._path, self._vfs)
            try:
                return read(connection)
            except apsw.Error as error:
                raise unusable(self._path, error) from error
            finally:
                connection.close(True)

        return await asyncio.to_thread(run)

    def _new_context(self, sql: Statements, cache_bytes_max: int, sequence: int) -> OwnerContext:
        messages = SqliteMessages(self._reader, BodyReader(sql), sql, self._writer.flush)
        cache = BodyCache(CacheRoom(cache_bytes_max), self.statistics)
        return OwnerContext(
            self._loop,
            self._writer,
            messages,
            Bodies(messages, cache, self.statistics),
            itertools.count(sequence + 1),
            self.statistics,
            self._observer,
        )

    def _new_partition(self, queue: Queue, number: int) -> OwnedPartition:
        self._writer.check_open()
        if not self.catalogue.holds(queue):
            raise QueueMissing(str(queue.key))
        return self._add_partition(queue, number, index_for(queue.settings, self._rng))

    def _add_partition(self, queue: Queue, number: int, index: Index) -> OwnedPartition:
        partition = OwnedPartition(queue, number, index, self._context, self._sweep)
        self._partitions[queue.number, number] = partition
        return partition

    def _forget(self, queue: Queue) -> None:
        for place in [place for place in self._partitions if place[0] == queue.number]:
            self._partitions.pop(place).close()
        self._sweep(queue)

    def _sweep(self, queue: Queue) -> None:
        """Remove the rows of a removed queue; sends that were under way may have added some."""
        self._writer.sweep(queue.number)

    def _committed(self, items: int, seconds: float) -> None:
        self.statistics.committed(items, seconds)
        self._observer.committed(items, seconds)

    def _expire(self) -> None:
        now_ms = self._clock.now_ms()
        for partition in self._partitions.values():
            partition.expire(now_ms)
        self._timer = self._loop.call_later(EXPIRY_PERIOD_SECONDS, self._expire)


async def open_store(
    directory: Path,
    *,
    rng: random.Random,
    clock: Clock,
    cache_bytes_max: int = CACHE_BYTES_DEFAULT,
    observer: Observer | None = None,
    vfs: str | None = None,
) -> SqliteStore:
    """Lock the directory, bring its schema up to date and rebuild the indexes.

    `vfs` names a virtual file system registered with SQLite; tests use it to make disks fail.
    """
    check_library(apsw.sqlite_lib_version())
    sql = load_statements()
    opening = asyncio.ensure_future(
        asyncio.to_thread(_open, directory, sql, rng, vfs, clock.now_ms())
    )
    try:
        lock, recovered = await asyncio.shield(opening)
    except asyncio.CancelledError:
        # The thread goes on and takes the lock, which nobody would release.
        opening.add_done_callback(_give_up)
        raise
    return SqliteStore(
        directory,
        lock,
        recovered,
        sql=sql,
        rng=rng,
        cache_bytes_max=cache_bytes_max,
        clock=clock,
        observer=observer or Observer(),
        vfs=vfs,
    )


def _give_up(opening: "asyncio.Future[tuple[DirectoryLock, Recovered]]") -> None:
    if opening.cancelled() or opening.exception() is not None:
        return
    lock, recovered = opening.result()
    recovered.writing.close(True)
    recovered.reading.close(True)
    recovered.seals.close()
    lock.release()


def _open(
    directory: Path, sql: Statements, rng: random.Random, vfs: str | None, now_ms: int
) -> tuple[DirectoryLock, Recovered]:
    prepare_directory(directory)
    lock = DirectoryLock(directory)
    path = directory / DATABASE_NAME
    try:
        remove_leftovers(directory)
        return lock, recover(path, sql, rng, vfs, now_ms)
    except (apsw.Error, OSError) as error:
        lock.release()
        raise unusable(path, error) from error
    except BaseException:
        lock.release()
        raise
