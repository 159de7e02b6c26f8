"""Opens a partition for a new owner: scan the log, seal it, serve.

    bookmark ─► seals of earlier epochs ─► scan, replayed ─► seal appended ─► first entries loaded

An epoch is used for one opening. If it fails, the next attempt needs a higher one: the seal may be
in the log, and a position is never used for two groups.
"""

import asyncio
import itertools
import random
import sys
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import Struct

from dovemq.core import limits
from dovemq.core.errors import OwnerChanged, StoreUnusable
from dovemq.core.index import index_for
from dovemq.core.observing import Observer
from dovemq.core.ports import Clock
from dovemq.core.queue import Queue
from dovemq.stores.owned.bodies import CACHE_BYTES_DEFAULT, Bodies, BodyCache, CacheRoom
from dovemq.stores.owned.context import OwnerContext
from dovemq.stores.owned.group import PartitionKey
from dovemq.stores.owned.logged.appending import Appending, Holds
from dovemq.stores.owned.logged.encoding import GroupCodec, GroupUnreadable
from dovemq.stores.owned.logged.loading import loading
from dovemq.stores.owned.logged.messages import LoggedMessages
from dovemq.stores.owned.logged.partition import LoggedPartition
from dovemq.stores.owned.logged.policy import LogPolicy
from dovemq.stores.owned.logged.ports import Log
from dovemq.stores.owned.logged.positions import epoch_of, first_position, first_sequence
from dovemq.stores.owned.logged.replay import LogReplay
from dovemq.stores.owned.logged.seals import Seals
from dovemq.stores.owned.logged.segments import Segments
from dovemq.stores.owned.logged.upkeep import Bookmarked, LogParts, Upkeep
from dovemq.stores.owned.logged.writer import LogWriter
from dovemq.stores.owned.statistics import Statistics, StoreState

SEALS_READ_MAX: Final = 64
"""Seals that are read at a time."""


class Ownership(Struct, frozen=True):
    """The right to a partition: the epoch, and whether it holds now.

    `holds` is false from the end of the front end's lease on. `lost` is called once when the owner
    has found out that another one has taken the partition, or that its lease has ended.
    """

    epoch: int
    holds: Holds
    lost: Callable[[], None]


class Surroundings(Struct, frozen=True):
    """The parts of its process that a partition uses."""

    rng: random.Random
    clock: Clock
    observer: Observer = Observer()
    cache_room: CacheRoom = msgspec.field(default_factory=lambda: CacheRoom(CACHE_BYTES_DEFAULT))
    policy: LogPolicy = LogPolicy()
    removed: Callable[[Queue], None] = lambda _: None
    """Called when a send was committed after the queue had been removed."""


async def open_partition(
    log: Log, queue: Queue, number: int, ownership: Ownership, around: Surroundings
) -> LoggedPartition:
    """Take the partition over and serve it. `log` was opened for the epoch of the ownership.

    Raises `StoreUnreachable`, `OwnerChanged`, or `StoreUnusable` for a log that cannot be read.
    """
    place = (queue.number, number)
    bookmark = await log.bookmark()
    segments = Segments(ownership.epoch, around.policy.segment_bytes)
    replay = await _replayed(log, place, ownership.epoch, bookmark, segments)
    now_ms = around.clock.now_ms()
    appending = Appending(log, place, ownership.epoch, replay.segments, around.clock)
    await _seal(replay, appending, ownership, now_ms)
    _require_complete(replay, place, now_ms)
    return _serve(log, queue, place, ownership, around, replay, appending)


async def _replayed(
    log: Log, place: PartitionKey, epoch: int, bookmark: int, segments: Segments
) -> LogReplay:
    codec = GroupCodec()
    position = bookmark
    try:
        seals = await _seals(log, bookmark, epoch, codec)
        replay = LogReplay(segments, bookmark, Seals(seals.ends))
        async for page in log.scan(bookmark):
            for position, data in page:
                if epoch_of(position) >= epoch:
                    raise OwnerChanged(*place)
                seals.take_newest(replay, before=position)
                if not seals.came_late(position):
                    replay.take(position, data)
        seals.take_newest(replay)
    except GroupUnreadable as error:
        raise _unusable(place, f"position {position} holds {error.found}") from error
    return replay


class _FoundSeals:
    """The seals that were there before the scan.

    The newest may be in doubt: a scan may miss it, and then it is replayed all the same, because
    what it makes void is in it. A seal that only the scan has found came late. Its owner was dead
    by then and has answered nothing, so for us and for all after us it is void.
    """

    def __init__(self, bookmark: int) -> None:
        self.ends: dict[int, int] = {}
        self.newest: tuple[int, bytes] | None = None
        self._since = epoch_of(bookmark)

    def take_newest(self, replay: LogReplay, before: int = sys.maxsize) -> None:
        """Replay the newest seal, if the scan has gone past it without showing it."""
        if self.newest is not None and before >= self.newest[0]:
            if before > self.newest[0]:
                replay.take(*self.newest)
            self.newest = None

    def came_late(self, position: int) -> bool:
        epoch = epoch_of(position)
        is_seal = position == first_position(epoch)
        return is_seal and epoch > self._since and epoch not in self.ends


async def _seals(log: Log, bookmark: int, epoch: int, codec: GroupCodec) -> _FoundSeals:
    """Read the seals of all epochs since the bookmark."""
    seals = _FoundSeals(bookmark)
    for begin in range(epoch_of(bookmark) + 1, epoch, SEALS_READ_MAX):
        epochs = range(begin, min(begin + SEALS_READ_MAX, epoch))
        found = await log.read([first_position(each) for each in epochs])
        for position in sorted(found):
            end = codec.decode(found[position]).seal
            if end is not None:
                seals.ends[epoch_of(position)] = end
                seals.newest = (position, found[position])
    return seals


async def _seal(replay: LogReplay, appending: Appending, ownership: Ownership, now_ms: int) -> None:
    """Make earlier epochs void beyond what was found, and append again what is in doubt."""
    doubt = replay.in_doubt()
    group = msgspec.structs.replace(doubt.group, at_ms=now_ms, seal=doubt.end)
    position = await appending.append(group, ownership.holds, grow=False)
    replay.take_effect(position, group)


def _require_complete(replay: LogReplay, place: PartitionKey, now_ms: int) -> None:
    """Refuse a log that lacks pages of its snapshot.

    If the log was left alone for longer than messages live, the database may have removed them.
    """
    outlived_ms = now_ms - limits.RETENTION_MS.most
    left_alone = replay.first_ms is None or replay.first_ms < outlived_ms
    if not replay.is_complete() and not left_alone:
        raise _unusable(place, f"pages of the snapshot at {replay.bookmark} are missing")


def _serve(
    log: Log,
    queue: Queue,
    place: PartitionKey,
    ownership: Ownership,
    around: Surroundings,
    replay: LogReplay,
    appending: Appending,
) -> LoggedPartition:
    loop = asyncio.get_running_loop()
    index = index_for(queue.settings, around.rng)
    statistics = Statistics()
    segments, identities = replay.segments, replay.identities
    messages = LoggedMessages(loop, log, segments, index)

    def lost() -> None:
        partition.lost()
        ownership.lost()

    def committed(items: int, seconds: float) -> None:
        statistics.committed(items, seconds)
        around.observer.committed(items, seconds)

    writer = LogWriter(
        loop,
        statistics,
        committed,
        place=place,
        appending=appending,
        segments=segments,
        identities=identities,
        index=index,
        holds=ownership.holds,
        lost=lost,
    )
    cache = BodyCache(around.cache_room, statistics)
    context = OwnerContext(
        loop,
        writer,
        messages,
        Bodies(messages, cache, statistics),
        itertools.count(first_sequence(ownership.epoch)),
        statistics,
        around.observer,
    )
    partition = LoggedPartition(queue, place[1], writer, index, context, around.removed)
    parts = LogParts(log, segments, identities, index, messages, appending, around.policy)
    bookmarked = Bookmarked(
        replay.bookmark, replay.snapshot_ms, replay.snapshot_bytes, replay.tail_bytes
    )
    upkeep = Upkeep(
        parts,
        bookmarked,
        ownership.epoch,
        ownership.holds,
        writer.commit,
        lambda: statistics.state is StoreState.FULL,
    )
    partition.load(loading(replay), upkeep)
    return partition


def _unusable(place: PartitionKey, found: str) -> StoreUnusable:
    return StoreUnusable(
        f"log of partition {place[1]} of queue {place[0]}",
        found,
        "restore the database from a backup, or remove the queue",
    )
