"""Logs and records in Redis; the module of the package says what is promised."""

from typing import Self

from dovemq.core.errors import StoreUnusable
from dovemq.stores.owned.group import PartitionKey
from dovemq.stores.redis_cluster.connections import connecting_to
from dovemq.stores.redis_cluster.fitness import require_fit
from dovemq.stores.redis_cluster.ledger import RedisLedger
from dovemq.stores.redis_cluster.location import RedisLocation
from dovemq.stores.redis_cluster.log import RedisLog
from dovemq.stores.redis_cluster.records import RedisRecords
from dovemq.stores.redis_cluster.routing import RedisRouter
from dovemq.stores.redis_cluster.scripts import load_scripts
from dovemq.stores.redis_cluster.topology import RedisTopology


class RedisDatabase:
    index_tables = None

    def __init__(self, location: RedisLocation, router: RedisRouter) -> None:
        self.name = router.name
        self._prefix = location.prefix
        self._router = router
        self._scripts = load_scripts()
        self.records = RedisRecords(router, self._scripts, location.prefix)
        self.ledger = RedisLedger(router, self._scripts, location.prefix)

    @classmethod
    async def open(cls, location: RedisLocation) -> Self:
        router = new_router(location)
        try:
            await require_fit(router, location)
        except BaseException:
            await router.topology.close()
            raise
        return cls(location, router)

    async def open_log(self, place: PartitionKey, epoch: int) -> RedisLog:
        log = self._log(place, epoch)
        await log.take()
        return log

    async def remove_log(self, place: PartitionKey) -> None:
        await self._log(place, 0).remove()

    async def close(self) -> None:
        await self._router.topology.close()

    def _log(self, place: PartitionKey, epoch: int) -> RedisLog:
        return RedisLog(self._router, self._scripts, self._prefix, place, epoch)


def new_router(location: RedisLocation) -> RedisRouter:
    """A router that has not connected yet."""
    try:
        topology = RedisTopology(location, connecting_to(location))
    except OSError as error:
        found = f"a file of TLS cannot be used ({error})"
        raise StoreUnusable(str(location), found, "correct ca, cert and key") from error
    return RedisRouter(str(location), topology, location.wait)
