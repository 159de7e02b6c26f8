"""A service over its store, with the clock, random generator and ids that it needs."""

import asyncio
import contextlib
import logging
import random
import secrets
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO, Final

from msgspec import Struct

from dovemq.core.observing import Observer
from dovemq.core.ports import Clock, Store
from dovemq.fabric.load_reports import NoTraffic, PartitionTraffic
from dovemq.fabric.sizing import SizingPorts
from dovemq.fabric.store import FabricStore
from dovemq.server.care import StoreCare
from dovemq.service import Service, build_service
from dovemq.settings import ACCOUNT, CACHE_BYTES_MAX, STORE_WAIT_SECONDS
from dovemq.stores.memory import MemoryStore
from dovemq.stores.urls import EmbeddedLocation, MemoryLocation, StoreLocation
from dovemq.system.clock import SystemClock
from dovemq.system.cpu import CpuUse, cpu_cores

if TYPE_CHECKING:
    from dovemq.bootstrap.cluster_view import SharedView
    from dovemq.bootstrap.shared import Advertised, SharedStore
    from dovemq.cluster.catalogue import CatalogueChange
    from dovemq.stores.owned.statistics import Statistics
    from dovemq.stores.sqlite import SqliteStore
    from dovemq.stores.sqlite.damage.report import DamageReport
    from dovemq.stores.sqlite.verification import Verification

log = logging.getLogger(__name__)

_RECEIPT_KEY_BYTES: Final = 32


class Opened(Struct, frozen=True):
    """A started service over its fabric, with the generator of ids for messages and requests.

    Only stores that can be backed up and verified have a `care`; only those that several front ends
    share have a `shared`, and a `cluster` that shows it.
    """

    service: Service
    fabric: FabricStore
    new_id: Callable[[], str]
    care: StoreCare | None = None
    shared: "SharedStore | None" = None
    cluster: "SharedView | None" = None

    async def close(self) -> None:
        await self.service.close()
        if self.shared is not None:
            await self.shared.close_listener()


class StoreFindings(Struct, frozen=True):
    findings: tuple[str, ...]


class EmbeddedCare:
    """The embedded store as the admin API uses it, with damage reported as lines of text."""

    def __init__(self, store: "SqliteStore") -> None:
        self._store = store

    @property
    def statistics(self) -> "Statistics":
        return self._store.statistics

    async def backup(self) -> BinaryIO:
        return await self._store.backup()

    async def verify(self) -> StoreFindings:
        """Verify the store. Damage of earlier starts is listed while its evidence is kept."""
        earlier = [line for report in self.damage() for line in report.lines()]
        return StoreFindings((*earlier, *damage_lines(await self._store.verify())))

    def damage(self) -> "list[DamageReport]":
        return self._store.damage()


def damage_lines(found: "Verification") -> Iterator[str]:
    """One line for each damage, and none for a sound store."""
    yield from found.problems
    yield from (each.line() for each in found.damaged)
    if found.damaged_count > len(found.damaged):
        yield f"{found.damaged_count - len(found.damaged)} more damaged messages"
    if found.strays:
        yield f"{found.strays} bodies that belong to no message"


async def open_service(
    place: StoreLocation,
    *,
    root: str = ACCOUNT,
    cache_bytes_max: int = CACHE_BYTES_MAX,
    strict_aws: bool = False,
    observer: Observer | None = None,
    advertised: "Advertised | None" = None,
    store_wait_seconds: int = STORE_WAIT_SECONDS,
    traffic: PartitionTraffic | None = None,
) -> Opened:
    clock = SystemClock()
    rng = random.Random(secrets.randbits(256))
    new_id = random_ids(random.Random(secrets.randbits(256)))
    care: StoreCare | None = None
    shared: SharedStore | None = None
    store: Store
    if isinstance(place, MemoryLocation):
        store = MemoryStore(rng, secrets.token_bytes(_RECEIPT_KEY_BYTES), observer)
    elif isinstance(place, EmbeddedLocation):
        embedded = await _open_embedded(place, rng, cache_bytes_max, clock, observer)
        store, care = embedded, EmbeddedCare(embedded)
    else:
        from dovemq.bootstrap.shared import open_shared_store

        # Imported here, since most programs need neither a cluster nor its links.
        shared = await open_shared_store(
            place,
            advertised,
            wait_seconds=store_wait_seconds,
            rng=rng,
            clock=clock,
            cache_bytes_max=cache_bytes_max,
            observer=observer or Observer(),
        )
        store = shared.store
    fabric = _fabric(store, clock, observer, shared, traffic or NoTraffic())
    async with contextlib.AsyncExitStack() as undo:
        undo.push_async_callback(fabric.close)
        service = build_service(
            fabric,
            clock,
            new_id,
            root=root,
            strict_aws=strict_aws,
            observer=observer,
            leads=shared.store.leads if shared else None,
            on_drain=fabric.drain,
            join=fabric.join,
        )
        await service.start()
        fabric.start(shared.store.leads if shared else lambda: True)
        undo.pop_all()
    if shared is None:
        return Opened(service, fabric, new_id, care)
    from dovemq.bootstrap.cluster_view import SharedView

    shared.store.report_load(fabric.sizing.reports.encoded)
    shared.store.watch_catalogue(_Following(service, fabric).changed)
    return Opened(service, fabric, new_id, care, shared, SharedView(shared))


def _fabric(
    store: Store,
    clock: Clock,
    observer: Observer | None,
    shared: "SharedStore | None",
    traffic: PartitionTraffic,
) -> FabricStore:
    sizing, hints = _sizing(shared, traffic), shared.hints if shared else None
    return FabricStore(store, clock, observer, sizing.is_local, sizing, hints=hints)


def _sizing(shared: "SharedStore | None", traffic: PartitionTraffic) -> SizingPorts:
    use = CpuUse(time.process_time, time.monotonic, cpu_cores)
    if shared is None:
        return SizingPorts(traffic, use.look)
    store = shared.store
    return SizingPorts(
        traffic,
        use.look,
        lambda: store.loads_of_others().values(),
        store.wanted_at,
        store.is_local,
    )


class _Following:
    """Gives the changes that other front ends make to the service and the fabric."""

    def __init__(self, service: Service, fabric: FabricStore) -> None:
        self._service = service
        self._fabric = fabric
        self._tasks: set[asyncio.Task[None]] = set()

    def changed(self, change: "CatalogueChange") -> None:
        for queue in change.queues:
            self._fabric.noticed(queue)
        numbers = [queue.number for queue in (*change.queues, *change.removed)]
        following = self._service.catalogue_changed(numbers, accounts=change.accounts)
        task = asyncio.get_running_loop().create_task(following)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.debug("A change of the catalogue could not be followed (%s).", error)


async def _open_embedded(
    place: EmbeddedLocation,
    rng: random.Random,
    cache_bytes_max: int,
    clock: Clock,
    observer: Observer | None,
) -> "SqliteStore":
    # Imported here, since a program over `memory://` needs no SQLite.
    from dovemq.stores.sqlite import open_store

    return await open_store(
        place.directory, rng=rng, cache_bytes_max=cache_bytes_max, clock=clock, observer=observer
    )


def random_ids(rng: random.Random) -> Callable[[], str]:
    """A generator of UUIDs (version 4) as text, three times as fast as `uuid.uuid4`."""
    bits = rng.getrandbits

    def new_id() -> str:
        text = f"{bits(128):032x}"
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"

    return new_id
