"""The kinds of stores that can run on this machine, by the names that commands use."""

from collections.abc import Mapping
from typing import Final

from dovemq.testing.local_cassandra import LocalCassandra
from dovemq.testing.local_cluster import LocalCluster
from dovemq.testing.local_postgres import LocalPostgres
from dovemq.testing.local_redis import LocalRedisCluster

LOCAL_STORES: Final[Mapping[str, type[LocalCluster]]] = {
    kind.kind: kind for kind in (LocalCassandra, LocalRedisCluster, LocalPostgres)
}
