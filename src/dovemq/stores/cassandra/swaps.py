"""Compare-and-sets whose outcome is found out, also when their answer is lost.

A *shelf* is a partition of a table, and what one compare-and-set can contend with. One process has
one under way for each shelf: others of its own would only make both try again.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final
from zlib import crc32

from msgspec import Struct

from dovemq.core.errors import StoreUnreachable
from dovemq.stores.cassandra.session import SERIAL, CassandraSession, Prepared

ATTEMPTS_MAX: Final = 4
"""Compare-and-sets that are tried before an outcome is left unknown."""
TURNS: Final = 64
"""Locks for all shelves; two shelves that share one wait for each other without need."""
WRITE_SECONDS_MAX: Final = 15.0
"""A write ends within this time, the wait for its turn included."""


class Swap(Struct, frozen=True):
    """A statement that writes a row if `version` is stored; the row is then `wanted`.

    `find` and `key` read the row, and `decode` turns it into a value with a version, or None.
    """

    shelf: str
    statement: Prepared
    values: tuple[object, ...]
    version: int
    wanted: Any
    find: Prepared
    key: tuple[object, ...]
    decode: Callable[[Any], Any]


class Swaps:
    def __init__(self, session: CassandraSession) -> None:
        self._session = session
        self._turns = [asyncio.Lock() for _ in range(TURNS)]

    async def write(self, swap: Swap) -> bool:
        """Write in the turn of the shelf."""
        turn = self._turns[crc32(swap.shelf.encode()) % TURNS]
        try:
            async with asyncio.timeout(WRITE_SECONDS_MAX), turn:
                return await self._resolved(swap)
        except TimeoutError:
            raise StoreUnreachable(self._session.name, "a compare-and-set took too long") from None

    async def _resolved(self, swap: Swap) -> bool:
        """Try until the outcome is known.

        When a compare-and-set was not applied, or its answer was lost, the stored row decides. A
        read at `SERIAL` ends an unfinished one, so that it is either seen there or will never be
        done. If others have written after a lost one, nobody can say whether it was done.
        """
        wanted, version = swap.wanted, swap.version
        is_lost = False
        for _ in range(ATTEMPTS_MAX):
            outcome = await self._session.swap(swap.statement, swap.values)
            is_lost |= outcome is None
            if outcome is not None:
                applied, stored = outcome
                if applied:
                    return True
                if not is_lost and (wanted is None or stored != wanted.version):
                    return False
            found = await self._session.ask(swap.find, swap.key, consistency=SERIAL)
            row = swap.decode(found.first())
            if row == wanted:
                return True
            stored = row.version if row else 0
            if stored != version:
                if is_lost and stored != version + 1:
                    break
                return False
        raise StoreUnreachable(self._session.name, "others write the same record")
