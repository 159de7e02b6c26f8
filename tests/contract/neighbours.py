"""A front end beside a partner that owns some of the partitions, as the contract opens it."""

import random
from typing import Final

from dovemq.cluster.store import ClusterStore
from dovemq.core.observing import Observer
from dovemq.core.ports import Store
from dovemq.testing.clock import ManualClock
from dovemq.testing.memory_database import MemoryDatabase, MemoryDatabaseState
from tests.cluster.network import Network, NetworkLink
from tests.contract.shared import NewFrontEnd

PARTNER: Final = "partner:7000"
TESTED: Final = "tested:7000"


class NeighbourOpener:
    """Opens two front ends over one database; the second is the one that is tested."""

    def __init__(self) -> None:
        self._state = MemoryDatabaseState()
        self._network = Network()
        self._new_front_end = NewFrontEnd()

    async def __call__(self, clock: ManualClock, rng: random.Random, observer: Observer) -> Store:
        partner = await self._joined(PARTNER, clock, rng, observer)
        return _Beside(await self._joined(TESTED, clock, rng, observer), partner)

    async def _joined(
        self, address: str, clock: ManualClock, rng: random.Random, observer: Observer
    ) -> ClusterStore:
        link = NetworkLink(self._network, address)
        database = MemoryDatabase(self._state)
        store = self._new_front_end(database, clock, rng, observer, link=link, address=address)
        self._network.listening[address] = (store.local, clock)
        await store.start()
        return store


class _Beside:
    """A front end that takes its partner along when it closes."""

    def __init__(self, store: ClusterStore, partner: ClusterStore) -> None:
        self._store = store
        self._partner = partner
        self.receipt_key = store.receipt_key
        self.coordinations = store.coordinations
        self.catalogue = store.catalogue
        self.ledger = store.ledger
        self.partition = store.partition

    async def close(self) -> None:
        await self._store.close()
        await self._partner.close()
