"""A store that several front ends share: its database, its partitions, its links to the others."""

import asyncio
import functools
import logging
import random
import secrets
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Final

from msgspec import Struct

from dovemq.cluster.link import (
    ClusterIdentity,
    Dialling,
    LinkCertificate,
    LinkListener,
    LinkRejected,
    PeerLinks,
    cluster_name,
    dialling_context,
    read_fingerprint,
)
from dovemq.cluster.store import ClusterStore
from dovemq.core.errors import DoveError, StoreUnreachable
from dovemq.core.hint_meters import HintMeters
from dovemq.core.observing import Observer
from dovemq.core.ports import Clock
from dovemq.server.certificates import Certificates
from dovemq.settings import SettingInvalid
from dovemq.stores.cassandra.location import CassandraLocation
from dovemq.stores.owned.bodies import CacheRoom
from dovemq.stores.owned.logged.opening import Surroundings, open_partition
from dovemq.stores.owned.logged.ports import Database
from dovemq.stores.redis_cluster.location import RedisLocation
from dovemq.stores.shared_index.opening import SharedIndexes
from dovemq.stores.urls import SharedLocation
from dovemq.system.clock import monotonic_ms

log = logging.getLogger(__name__)

RETRY_SECONDS: Final = 2
NONCE_BYTES: Final = 32


class StoreNotReached(DoveError):
    """The database did not answer at the start."""

    def __init__(self, found: str, seconds: int) -> None:
        super().__init__(
            f"{found} Gave up after {seconds} seconds: start the database or correct --store; "
            "--store-wait-seconds changes the time."
        )


class Advertised(Struct, frozen=True):
    """The place at which other front ends reach this one, and the secret that they share."""

    host: str
    port: int
    secret: bytes
    certificates: Certificates | None = None
    certificate_file: Path | None = None

    @property
    def address(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class SharedStore(Struct, frozen=True):
    """A joined front end. `listener` and `links` are there if it is advertised."""

    store: ClusterStore
    database: str
    listener: LinkListener | None
    links: PeerLinks | None
    hints: HintMeters

    async def close_listener(self) -> None:
        """Call it after the store is closed: until then others are told where to ask."""
        if self.listener is not None:
            await self.listener.drain()
            await self.listener.close()


async def open_shared_store(
    location: SharedLocation,
    advertised: Advertised | None,
    *,
    wait_seconds: int,
    rng: random.Random,
    clock: Clock,
    cache_bytes_max: int,
    observer: Observer,
) -> SharedStore:
    """Wait for the database, join the front ends that share it, and listen to them."""
    services = Surroundings(rng, clock, observer, CacheRoom(cache_bytes_max))
    until_ms = monotonic_ms() + wait_seconds * 1_000
    while True:
        try:
            return await _joined(location, advertised, services)
        except StoreUnreachable as error:
            if monotonic_ms() + RETRY_SECONDS * 1_000 > until_ms:
                raise StoreNotReached(error.found, wait_seconds) from None
            log.warning("%s Trying again in %d seconds.", error.found, RETRY_SECONDS)
        await asyncio.sleep(RETRY_SECONDS)


async def _joined(
    location: SharedLocation, advertised: Advertised | None, services: Surroundings
) -> SharedStore:
    database = await _open(location)
    hints = HintMeters()
    try:
        identity = _identity(advertised, lambda: store)
        links = _links(advertised, identity, services.rng)
        store = ClusterStore(
            database,
            functools.partial(open_partition, around=services),
            link=links,
            address=advertised.address if advertised else None,
            release=version("dovemq"),
            clock=services.clock,
            monotonic_ms=monotonic_ms,
            new_token=lambda: secrets.token_hex(16),
            new_key=_new_key,
            unowned=_unowned(database, services, hints),
        )
        listener = await _listening(advertised, store, services.clock, identity)
    except BaseException:
        await database.close()
        raise
    try:
        await store.start()
    except BaseException:
        if listener is not None:
            await listener.close()
        await store.close()
        raise
    return SharedStore(store, database.name, listener, links, hints)


def _unowned(database: Database, services: Surroundings, hints: HintMeters) -> SharedIndexes | None:
    """The queues without an owner, if the database can have them."""
    if database.index_tables is None:
        return None
    return SharedIndexes(
        database.index_tables,
        database.records,
        clock=services.clock,
        monotonic_ms=monotonic_ms,
        rng=services.rng,
        observer=services.observer,
        hints=hints,
    )


async def _open(location: SharedLocation) -> Database:
    # Each driver is an extra of its own, and is imported only if it is used.
    if isinstance(location, CassandraLocation):
        from dovemq.stores.cassandra import open_database as open_cassandra

        return await open_cassandra(location)
    if isinstance(location, RedisLocation):
        from dovemq.stores.redis_cluster import open_database as open_redis

        return await open_redis(location)
    from dovemq.stores.postgresql import open_database as open_postgresql

    return await open_postgresql(location)


def _identity(
    advertised: Advertised | None, store: Callable[[], ClusterStore]
) -> ClusterIdentity | None:
    """The identity for greetings. It is asked for its values only after the store was made."""
    if advertised is None:
        return None
    identity = ClusterIdentity(
        lambda: cluster_name(store().receipt_key),
        version("dovemq"),
        lambda: str(store().membership.incarnation),
        advertised.secret,
    )
    try:
        identity.check()
    except LinkRejected as error:
        remedy = "make another secret with: openssl rand -hex 32"
        raise SettingInvalid("cluster_secret_file", str(error), remedy) from None
    return identity


def _links(
    advertised: Advertised | None, identity: ClusterIdentity | None, rng: random.Random
) -> PeerLinks | None:
    if advertised is None or identity is None:
        return None
    context = dialling_context() if advertised.certificates else None
    return PeerLinks(Dialling(identity, rng, _new_nonce, context))


async def _listening(
    advertised: Advertised | None,
    store: ClusterStore,
    clock: Clock,
    identity: ClusterIdentity | None,
) -> LinkListener | None:
    if advertised is None or identity is None:
        return None
    listener = LinkListener(store.local, clock, identity, _new_nonce, _certificate(advertised))
    try:
        await listener.start(advertised.host, advertised.port)
    except OSError as error:
        found = f"cannot listen at {advertised.address} ({error.strerror})"
        remedy = "advertise an address of this machine and a free port"
        raise SettingInvalid("advertise", found, remedy) from None
    return listener


def _certificate(advertised: Advertised) -> Callable[[], LinkCertificate] | None:
    certificates, file = advertised.certificates, advertised.certificate_file
    if certificates is None or file is None:
        return None
    return lambda: LinkCertificate(certificates.context, read_fingerprint(file))


def _new_key() -> bytes:
    return secrets.token_bytes(32)


def _new_nonce() -> bytes:
    return secrets.token_bytes(NONCE_BYTES)
