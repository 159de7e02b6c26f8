"""Front ends over shared databases, as the contract opens them: one at a time, each alone.

Its lease never ends, since the clock of leases stands still. A store that is opened after a crash
need not wait for the end of the old lease: the dead front end is declared dead at once. Waiting for
it is tested in tests/cluster.
"""

import functools
import itertools
import random
from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

from dovemq.cluster.heartbeats import KIND, declare_dead, front_end_of
from dovemq.cluster.ports import Link
from dovemq.cluster.store import ClusterStore
from dovemq.core.observing import Observer
from dovemq.core.ports import Store
from dovemq.stores.owned.bodies import CacheRoom
from dovemq.stores.owned.logged.opening import Surroundings, open_partition
from dovemq.stores.owned.logged.ports import Database
from dovemq.stores.shared_index.opening import SharedIndexes
from dovemq.stores.shared_index.ports import IndexTables
from dovemq.testing.clock import ManualClock

CACHE_BYTES_MAX: Final = 4_096
"""Small, so that the sentences read bodies from the cache and from the database."""
DatabaseOpener = Callable[[], Awaitable[Database]]


class NewFrontEnd:
    """Makes front ends whose tokens and receipt key are the same in each run."""

    def __init__(self) -> None:
        self._tokens = itertools.count(1)

    def __call__(
        self,
        database: Database,
        clock: ManualClock,
        rng: random.Random,
        observer: Observer,
        *,
        link: Link | None = None,
        address: str | None = None,
    ) -> ClusterStore:
        around = Surroundings(rng, clock, observer, CacheRoom(CACHE_BYTES_MAX))
        return ClusterStore(
            database,
            functools.partial(open_partition, around=around),
            link=link,
            address=address,
            release="1",
            clock=clock,
            monotonic_ms=lambda: 0,
            new_token=lambda: f"token-{next(self._tokens)}",
            new_key=lambda: b"receipt key of the contract",
            unowned=_unowned(database, clock, rng, observer),
        )


def _unowned(
    database: Database, clock: ManualClock, rng: random.Random, observer: Observer
) -> SharedIndexes | None:
    if database.index_tables is None:
        return None
    return SharedIndexes(
        ClockedTables.of(database.index_tables, clock),
        database.records,
        clock=clock,
        monotonic_ms=clock.now_ms,
        rng=rng,
        observer=observer,
    )


class ClockedTables:
    """Tables whose node has the clock of the test."""

    def __init__(self, inner: IndexTables, clock: ManualClock) -> None:
        self._inner = inner
        self._clock = clock

    @classmethod
    def of(cls, inner: IndexTables, clock: ManualClock) -> IndexTables:
        return cast(IndexTables, cls(inner, clock))

    async def node_ms(self) -> int:
        return self._clock.now_ms()

    def at_quorum(self) -> IndexTables:
        return self.of(self._inner.at_quorum(), self._clock)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class SharedOpener:
    """Opens front ends over one database, which is emptied of queues and accounts first."""

    def __init__(self, open_database: DatabaseOpener) -> None:
        self._open_database = open_database
        self._new_front_end = NewFrontEnd()
        self._before: Database | None = None

    async def __call__(self, clock: ManualClock, rng: random.Random, observer: Observer) -> Store:
        if self._before is not None:
            # A killed process has no connections either.
            await self._before.close()
        database = await self._open_database()
        if self._before is None:
            await _empty(database)
        self._before = database
        for record in await database.records.all(KIND):
            front_end = front_end_of(record)
            if not front_end.ended:
                await declare_dead(database.records, front_end)
        store = self._new_front_end(database, clock, rng, observer)
        await store.start()
        return store


async def _empty(database: Database) -> None:
    """Remove what the test before has left; numbers of queues go on rising."""
    records = database.records
    for kind in ("queue", "account", "account_name", "move"):
        for record in await records.all(kind):
            await records.remove(kind, record.name, record.version)
