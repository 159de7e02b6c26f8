"""The location of a store, parsed from its URL or from a directory."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from dovemq.settings import SettingInvalid
from dovemq.stores.cassandra.location import CassandraLocation, parse_cassandra_url
from dovemq.stores.postgresql.location import PostgresqlLocation, parse_postgresql_url
from dovemq.stores.redis_cluster.location import RedisLocation, parse_redis_url

EMBEDDED: Final = "embedded://"
MEMORY: Final = "memory://"


class EmbeddedLocation(Struct, frozen=True):
    directory: Path


class MemoryLocation(Struct, frozen=True):
    """Memory of the process: messages are gone when it ends."""


SharedLocation = CassandraLocation | PostgresqlLocation | RedisLocation
"""A database that several front ends share."""

StoreLocation = EmbeddedLocation | MemoryLocation | SharedLocation

_SHARED: Final[Mapping[str, Callable[[str], SharedLocation]]] = {
    "cassandra": parse_cassandra_url,
    "postgresql": parse_postgresql_url,
    "redis": parse_redis_url,
    "rediss": parse_redis_url,
}
_KNOWN: Final = ", ".join([EMBEDDED, MEMORY, *(f"{scheme}://" for scheme in _SHARED)])


def parse_store_url(url: str, data: Path) -> StoreLocation:
    if url == EMBEDDED:
        return EmbeddedLocation(data)
    if url == MEMORY:
        return MemoryLocation()
    scheme, mark, _ = url.partition("://")
    if mark and scheme in _SHARED:
        return _SHARED[scheme](url)
    # The text does not repeat the URL, which may hold a password.
    raise SettingInvalid("store", "the URL names no store", f"use one of {_KNOWN}")


def parse_path(path: str | Path) -> StoreLocation:
    """The location that `dovemq.open` is given: a directory, or `memory://`."""
    if isinstance(path, str) and "://" in path:
        if path == MEMORY:
            return MemoryLocation()
        raise SettingInvalid("path", f"{path!r} names no store", f"use a directory or {MEMORY}")
    return EmbeddedLocation(Path(path).expanduser())
