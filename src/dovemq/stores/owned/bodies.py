"""The bodies of messages that are about to be handed out, from a cache or from the journal.

The cache holds recent sends and is bounded in bytes. One read of the journal fetches what is wanted
and what will probably be wanted next. No message is read twice at the same time.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Protocol
from weakref import WeakSet

from msgspec import Struct

from dovemq.core.commands import Peek, Peeked, Visibility
from dovemq.core.entry import Entry
from dovemq.core.message import Message
from dovemq.stores.owned.group import PartitionKey
from dovemq.stores.owned.statistics import Statistics

CACHE_BYTES_DEFAULT: Final = 32 * 1024 * 1024
MESSAGE_OVERHEAD_BYTES: Final = 600
"""Memory that a cached message takes beyond its record: the object and its strings."""

AHEAD_COUNT: Final = 256
AHEAD_SHARE: Final = 4
"""One read ahead may fill this part of the cache: a quarter."""

Ahead = Callable[[int], list[int]]
"""Up to this many sequences that are likely to be wanted next."""


class MessageReader(Protocol):
    """Reads durable messages back from a journal. Raises an `UnavailableError` if it cannot."""

    def fetch(
        self, wanted: Sequence[int], ahead: Sequence[int], ahead_bytes_max: int
    ) -> asyncio.Future[tuple[dict[int, Message], int]]:
        """The messages by sequence and the size of their records; damaged ones are left out.

        Those of `ahead` are read only while they fit.
        """

    def peek(self, place: PartitionKey, page: Peek, now_ms: int) -> Awaitable[list[Peeked]]:
        """Messages in order of sequence, with their leases of now; damaged ones are left out."""


class CacheRoom:
    """The memory that all caches of a process share.

    Caches hold messages in two generations. When the young ones together fill half of the room,
    every cache drops its old generation as a whole. Eviction therefore costs nothing per message,
    the newest messages stay longest, and a busy partition may use the room of idle ones.
    """

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self._caches: WeakSet[BodyCache] = WeakSet()
        self._young_bytes = 0
        self._old_bytes = 0

    def join(self, cache: "BodyCache") -> None:
        self._caches.add(cache)

    def take(self, size: int) -> int:
        """Make room for messages of this size; returns the bytes in use."""
        if self._young_bytes + size > self.bytes_max // 2:
            for cache in self._caches:
                cache.grow_old()
            self._old_bytes, self._young_bytes = self._young_bytes, 0
        self._young_bytes += size
        return self._young_bytes + self._old_bytes


class BodyCache:
    """The messages of one journal in the `room` of the process."""

    def __init__(self, room: CacheRoom, statistics: Statistics) -> None:
        self.room = room
        self._statistics = statistics
        self._young: dict[int, Message] = {}
        self._old: dict[int, Message] = {}
        room.join(self)

    def get(self, sequence: int) -> Message | None:
        return self._young.get(sequence) or self._old.get(sequence)

    def get_all(self, entries: Sequence[Entry]) -> list[Message] | None:
        """The messages of all these entries, or None when one is not cached."""
        young, old = self._young, self._old
        found = []
        for entry in entries:
            message = young.get(entry.sequence) or old.get(entry.sequence)
            if message is None:
                return None
            found.append(message)
        return found

    def put_all(self, messages: Mapping[int, Message], records_bytes: int) -> None:
        size = records_bytes + MESSAGE_OVERHEAD_BYTES * len(messages)
        self._statistics.cache_bytes = self.room.take(size)
        self._young.update(messages)

    def discard(self, sequence: int) -> None:
        if self._young.pop(sequence, None) is None:
            self._old.pop(sequence, None)

    def absent(self, sequences: Sequence[int]) -> set[int]:
        return set(sequences).difference(self._young).difference(self._old)

    def grow_old(self) -> None:
        """Drop the old generation; the young one takes its place."""
        self._old, self._young = self._young, {}


class Fetch(Struct, frozen=True, eq=False):
    """One read under way."""

    sequences: frozenset[int]
    reading: asyncio.Future[tuple[dict[int, Message], int]]

    async def messages(self) -> Mapping[int, Message]:
        # Shielded: a caller that goes away must not cancel the read of the others.
        return (await asyncio.shield(self.reading))[0]


class Bodies:
    def __init__(self, reader: MessageReader, cache: BodyCache, statistics: Statistics) -> None:
        self.cache = cache
        self._reader = reader
        self._statistics = statistics
        self._under_way: list[Fetch] = []

    async def load(self, wanted: Sequence[int], ahead: Ahead) -> dict[int, Message]:
        """The wanted messages that are not cached; damaged and missing ones are left out."""
        self._statistics.cache_misses += len(wanted)
        found: dict[int, Message] = {}
        for fetch in [f for f in self._under_way if not f.sequences.isdisjoint(wanted)]:
            _take(await fetch.messages(), wanted, found)
        # What others read ahead may have stopped short of what is wanted here.
        rest = [sequence for sequence in wanted if sequence not in found]
        if rest:
            fetch = self._fetch(rest, ahead(AHEAD_COUNT))
            _take(await fetch.messages(), rest, found)
        return found

    def _fetch(self, wanted: list[int], likely: list[int]) -> Fetch:
        absent = self.cache.absent(likely).difference(wanted)
        for other in self._under_way:
            absent -= other.sequences
        ahead = sorted(absent)
        reading = self._reader.fetch(wanted, ahead, self.cache.room.bytes_max // AHEAD_SHARE)
        fetch = Fetch(frozenset((*wanted, *ahead)), reading)
        self._under_way.append(fetch)
        fetch.reading.add_done_callback(lambda _: self._arrived(fetch))
        return fetch

    def _arrived(self, fetch: Fetch) -> None:
        self._under_way.remove(fetch)
        if fetch.reading.exception() is None:
            self.cache.put_all(*fetch.reading.result())


def _take(read: Mapping[int, Message], wanted: Sequence[int], found: dict[int, Message]) -> None:
    found.update((sequence, read[sequence]) for sequence in wanted if sequence in read)


def peeked(
    message: Message, visible_ms: int, receive_count: int, first_received_ms: int, now_ms: int
) -> Peeked:
    if visible_ms <= now_ms:
        visibility = Visibility.VISIBLE
    else:
        visibility = Visibility.LEASED if receive_count else Visibility.DELAYED
    return Peeked(message, visibility, visible_ms, receive_count, first_received_ms)
