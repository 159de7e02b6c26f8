"""Clients of a real Cassandra for its own tests: databases, sessions, and what must be in them."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dovemq.stores.cassandra import open_database
from dovemq.stores.cassandra.database import CassandraDatabase
from dovemq.stores.cassandra.location import CassandraLocation, parse_cassandra_url
from dovemq.stores.cassandra.session import CassandraSession, open_session
from dovemq.testing.local_cassandra import LocalCassandra


def new_location(cluster: LocalCassandra, **parameters: str) -> CassandraLocation:
    """A keyspace that no other test uses, with these parameters in place of the usual ones."""
    usual = parse_cassandra_url(cluster.url_of(f"t_{uuid.uuid4().hex}"))
    return parse_again(usual, **parameters) if parameters else usual


def parse_again(location: CassandraLocation, **changes: str) -> CassandraLocation:
    """The same keyspace with other parameters."""
    given = "&".join(f"{name}={value}" for name, value in changes.items())
    return parse_cassandra_url(f"{location}?{given}")


@asynccontextmanager
async def opened(location: CassandraLocation) -> AsyncIterator[CassandraDatabase]:
    database = await open_database(location)
    try:
        yield database
    finally:
        await database.close()


@asynccontextmanager
async def connected(
    location: CassandraLocation, keyspace: str | None
) -> AsyncIterator[CassandraSession]:
    session = await open_session(location, keyspace)
    try:
        yield session
    finally:
        await session.close()
