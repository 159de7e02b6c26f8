"""Sequences without a counter that front ends share: 63 bits, unique and nearly in order of time.

    0 | milliseconds since 2020 (41) | number of the writer (17) | place in the millisecond (4)
    1 | digest of message id, sequence at the source and source queue (62)

A message that moves here from another queue gets a sequence of the second kind: two front ends that
move the same message, or one that repeats a move, write the same message once. Its sequence at the
source differs each time that it comes back, so a later move of the same message is another one.

The number of a writer is given out by compare-and-set when a front end starts, and again once a
day, since numbers are used again after `WRITERS` of them.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import Final

from dovemq.core.errors import StoreUnreachable
from dovemq.core.message import Message
from dovemq.stores.owned.logged.ports import Records

EPOCH_MS: Final = 1_577_836_800_000
TIME_BITS: Final = 41
WRITER_BITS: Final = 17
PLACE_BITS: Final = 4
WRITERS: Final = 1 << WRITER_BITS
NUMBER_MS_MAX: Final = 24 * 3_600_000
KIND: Final = "writer"
_NAME: Final = "last"
_ADOPTED: Final = 1 << 62
_ATTEMPTS_MAX: Final = 20


async def new_writer(records: Records, token: int) -> int:
    """A number that no other writer has got among the last `WRITERS`.

    `token` is a random number: equal values of two front ends would both count as written.
    """
    for _ in range(_ATTEMPTS_MAX):
        last = await records.get(KIND, _NAME)
        number = int(last.value.split()[0]) + 1 if last else 1
        value = b"%d %d" % (number, token)
        if await records.put(KIND, _NAME, value, last.version if last else 0):
            return number % WRITERS
    raise StoreUnreachable("the database", "many front ends start at the same time")


class Sequences:
    """The sequences of one front end."""

    def __init__(
        self, claim_writer: Callable[[], Awaitable[int]], monotonic_ms: Callable[[], int]
    ) -> None:
        self._claim_writer = claim_writer
        self._monotonic_ms = monotonic_ms
        self._writer: int | None = None
        self._claimed_ms = 0
        self._last = 0
        # The first sends of a front end come together and would compete for numbers.
        self._turn = asyncio.Lock()

    async def claim(self) -> None:
        """Take a number, unless there is a young one."""
        now_ms = self._monotonic_ms()
        if self._writer is None:
            async with self._turn:
                if self._writer is None:
                    self._writer, self._claimed_ms = await self._claim_writer(), now_ms
        elif now_ms - self._claimed_ms > NUMBER_MS_MAX:
            # An old number goes on if there is no majority to give a new one.
            self._claimed_ms = now_ms
            try:
                self._writer = await self._claim_writer()
            except StoreUnreachable:
                self._claimed_ms = now_ms - NUMBER_MS_MAX // 2

    def next(self, now_ms: int) -> int:
        """A sequence that nobody else has, higher than the one before."""
        assert self._writer is not None, "claim comes first"
        slot = max((now_ms - EPOCH_MS) << PLACE_BITS, self._last + 1)
        self._last = slot
        time, place = slot >> PLACE_BITS, slot & ((1 << PLACE_BITS) - 1)
        return (time << WRITER_BITS | self._writer) << PLACE_BITS | place


def adopted_sequence(message: Message, queue: int) -> int:
    text = f"{message.message_id} {message.sequence} {message.source} {queue}"
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return _ADOPTED | int.from_bytes(digest) >> 2
