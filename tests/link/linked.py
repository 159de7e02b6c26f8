"""Two front ends in one process with a real connection between them, for the tests.

The owner's side is any store; the caller's side sees its partitions over the link.
"""

import random
from collections.abc import Callable
from typing import Final

from dovemq.cluster.link.dialling import Dialling
from dovemq.cluster.link.greeting import NONCE_BYTES, ClusterIdentity
from dovemq.cluster.link.links import PeerLinks
from dovemq.cluster.link.listener import LinkListener
from dovemq.cluster.link.remote import RemotePartition
from dovemq.cluster.link.tls import LinkCertificate, dialling_context
from dovemq.cluster.ports import Link
from dovemq.core.ports import Catalogue, Clock, Ledger, Partition, Store
from dovemq.core.queue import Queue
from dovemq.stores.owned.group import PartitionKey

HOST: Final = "127.0.0.1"
SECRET: Final = b"a secret that only the tests know"


def identity(
    *, secret: bytes = SECRET, cluster: str = "tests", incarnation: str = "one"
) -> ClusterIdentity:
    return ClusterIdentity(lambda: cluster, "1.0", lambda: incarnation, secret)


def nonces(seed: int) -> Callable[[], bytes]:
    rng = random.Random(seed)
    return lambda: rng.randbytes(NONCE_BYTES)


class StorePartitions:
    """The partitions of a store, for verbs that arrive over the link."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._queues: dict[int, Queue] = {}

    def know(self, queue: Queue) -> None:
        """Stands for the catalogue, which all front ends read."""
        self._queues[queue.number] = queue

    def partition(self, queue_number: int, partition: int, version: int = 0) -> Partition:
        return self._store.partition(self._queues[queue_number], partition)


class LinkedStore:
    """A store whose partitions are asked over a link, and its catalogue and ledger directly."""

    def __init__(
        self,
        owner: Store,
        clock: Clock,
        *,
        certificate: Callable[[], LinkCertificate] | None = None,
    ) -> None:
        self.owner = owner
        self.receipt_key = owner.receipt_key
        self.coordinations = owner.coordinations
        self.local = StorePartitions(owner)
        self.listener = LinkListener(self.local, clock, identity(), nonces(1), certificate)
        context = dialling_context() if certificate is not None else None
        self.links = PeerLinks(
            Dialling(identity(incarnation="two"), random.Random(3), nonces(2), context)
        )
        self.address = ""
        self._partitions: dict[PartitionKey, RemotePartition] = {}

    async def start(self) -> "LinkedStore":
        await self.listener.start(HOST, 0)
        self.address = f"{HOST}:{self.listener.port}"
        return self

    @property
    def catalogue(self) -> Catalogue:
        return self.owner.catalogue

    @property
    def ledger(self) -> Ledger:
        return self.owner.ledger

    def partition(self, queue: Queue, number: int) -> RemotePartition:
        self.local.know(queue)
        # The owner reads the new version of the queue from the catalogue.
        self.owner.partition(queue, number)
        place = (queue.number, number)
        if place not in self._partitions:
            self._partitions[place] = self.links.partition(self.address, queue, place)
        return self._partitions[place]

    @property
    def link(self) -> Link:
        return self.links

    async def close(self) -> None:
        await self.links.close()
        await self.listener.close()
        await self.owner.close()
