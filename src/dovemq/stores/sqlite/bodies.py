"""Messages by sequence, for those about to be handed out.

A cache of recent sends, bounded in bytes, before the reader thread. One read fetches what is
wanted and what will probably be wanted next; nobody reads what somebody else is reading already.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import apsw

from dovemq.core.entry import Entry
from dovemq.core.errors import StoreFailed
from dovemq.core.message import Message
from dovemq.stores.sqlite.reader import BodyReader, Reader
from dovemq.stores.sqlite.statistics import Statistics

CACHE_BYTES_DEFAULT: Final = 32 * 1024 * 1024
MESSAGE_OVERHEAD_BYTES: Final = 600
"""What a cached message weighs beyond its record: the object, its strings, its place."""

AHEAD_COUNT: Final = 256
AHEAD_SHARE: Final = 4
"""Reading ahead may use this part of the cache at a time."""

Ahead = Callable[[int], list[int]]
"""Up to so many sequences that are likely to be wanted next."""


class BodyCache:
    """Two generations: when the young one has its share of bytes, the old one is let go whole.

    No message costs anything to evict, and what was put in last stays longest.
    """

    def __init__(self, bytes_max: int, statistics: Statistics) -> None:
        self.bytes_max = bytes_max
        self._statistics = statistics
        self._young: dict[int, Message] = {}
        self._old: dict[int, Message] = {}
        self._young_bytes = 0
        self._old_bytes = 0

    def get(self, sequence: int) -> Message | None:
        return self._young.get(sequence) or self._old.get(sequence)

    def get_all(self, entries: Sequence[Entry]) -> list[Message] | None:
        """The messages of all these, or None when one is not here."""
        young, old = self._young, self._old
        found = []
        for entry in entries:
            message = young.get(entry.sequence) or old.get(entry.sequence)
            if message is None:
                return None
            found.append(message)
        return found

    def put_all(self, messages: Mapping[int, Message], records_bytes: int) -> None:
        self._make_room(records_bytes + MESSAGE_OVERHEAD_BYTES * len(messages))
        self._young.update(messages)

    def discard(self, sequence: int) -> None:
        if self._young.pop(sequence, None) is None:
            self._old.pop(sequence, None)

    def absent(self, sequences: Sequence[int]) -> set[int]:
        return set(sequences).difference(self._young).difference(self._old)

    def _make_room(self, size: int) -> None:
        if self._young_bytes + size > self.bytes_max // 2:
            self._old, self._old_bytes = self._young, self._young_bytes
            self._young, self._young_bytes = {}, 0
        self._young_bytes += size
        self._statistics.cache_bytes = self._young_bytes + self._old_bytes


class Fetch:
    """One read under way. Each waiter has a future of its own, so that it can be cancelled."""

    def __init__(self, sequences: frozenset[int]) -> None:
        self.sequences = sequences
        self.found: Mapping[int, Message] = {}
        self.ended = False
        self._waiters: list[asyncio.Future[None]] = []

    def wait(self, loop: asyncio.AbstractEventLoop) -> asyncio.Future[None]:
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiters.append(waiter)
        return waiter

    def end(self, error: Exception | None) -> None:
        self.ended = True
        for waiter in self._waiters:
            if waiter.done():
                continue
            if error is None:
                waiter.set_result(None)
            else:
                waiter.set_exception(error)


class Bodies:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        reader: Reader,
        body_reader: BodyReader,
        cache: BodyCache,
        statistics: Statistics,
    ) -> None:
        self.cache = cache
        self._loop = loop
        self._reader = reader
        self._body_reader = body_reader
        self._statistics = statistics
        self._under_way: list[Fetch] = []

    async def load(self, wanted: Sequence[int], ahead: Ahead) -> dict[int, Message]:
        """The wanted messages that are not cached; damaged and missing ones are left out."""
        self._statistics.cache_misses += len(wanted)
        found: dict[int, Message] = {}
        for fetch in [f for f in self._under_way if not f.sequences.isdisjoint(wanted)]:
            if not fetch.ended:
                # Those after the first may have ended while that one was waited for.
                await fetch.wait(self._loop)
            found.update((s, fetch.found[s]) for s in wanted if s in fetch.found)
        # What others read ahead may have stopped short of what is wanted here.
        rest = [sequence for sequence in wanted if sequence not in found]
        if rest:
            fetch = self._fetch(rest, ahead(AHEAD_COUNT))
            await fetch.wait(self._loop)
            found.update((s, fetch.found[s]) for s in rest if s in fetch.found)
        return found

    def _fetch(self, wanted: list[int], likely: list[int]) -> Fetch:
        absent = self.cache.absent(likely).difference(wanted)
        for other in self._under_way:
            absent -= other.sequences
        ahead = sorted(absent)
        fetch = Fetch(frozenset((*wanted, *ahead)))
        ahead_bytes_max = self.cache.bytes_max // AHEAD_SHARE

        def read(connection: apsw.Connection) -> tuple[dict[int, Message], int]:
            return self._body_reader.read(connection, wanted, ahead, ahead_bytes_max)

        reading = self._reader.look_up(read)
        self._under_way.append(fetch)
        reading.add_done_callback(lambda done: self._arrived(fetch, done))
        return fetch

    def _arrived(self, fetch: Fetch, done: asyncio.Future[tuple[dict[int, Message], int]]) -> None:
        self._under_way.remove(fetch)
        error = done.exception()
        if error is not None:
            fetch.end(StoreFailed(f"messages cannot be read: {error}"))
            return
        fetch.found, size = done.result()
        self.cache.put_all(fetch.found, size)
        fetch.end(None)
