"""The only composition root: from settings to a running service.

Everything that is handed down by constructors is made here: clock, randomness, ids, store.
"""

import asyncio
import contextlib
import logging
import random
import secrets
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dovemq.core.access import Keyring
from dovemq.core.observing import Observer
from dovemq.core.ports import Clock, Store
from dovemq.server.admin import AdminApi
from dovemq.server.admin_context import AdminContext
from dovemq.server.audit import AuditLog, DurableAudit, PassingAudit
from dovemq.server.audit_files import AuditFiles
from dovemq.server.care import StoreCare
from dovemq.server.certificates import Certificates
from dovemq.server.limits import HttpLimits
from dovemq.server.local_only import local_only
from dovemq.server.measurements import Measurements
from dovemq.server.metrics import Metrics, request_samples, store_samples
from dovemq.server.proxies import Proxies
from dovemq.server.run import Server, allow_connections, reload_on_hangup, until_stopped
from dovemq.server.sessions import LoginLimits
from dovemq.server.traffic import Handle
from dovemq.service import Service, build_service
from dovemq.service.audit import OK, AuditEntry, bounded
from dovemq.service.failure_limits import FailureLimit
from dovemq.service.throttle import Throttle
from dovemq.settings import (
    ACCOUNT,
    CACHE_BYTES_MAX,
    Settings,
    is_loopback,
    reachable_host,
    read_toml,
)
from dovemq.sqs.declared import DeclaredQueue, read_declared
from dovemq.sqs.declaring import ServiceOwner, declare
from dovemq.sqs.endpoint import SqsEndpoint
from dovemq.stores.memory import MemoryStore
from dovemq.stores.urls import MemoryPlace, Place, parse_store_url
from dovemq.system.clock import SystemClock
from dovemq.system.collector import calm_collector
from dovemq.system.key_file import ensure_key, read_key
from dovemq.telemetry.meter import Meter
from dovemq.telemetry.metrics import Sample
from dovemq.telemetry.tracing import Tracing, open_tracing

if TYPE_CHECKING:
    from dovemq.stores.sqlite import SqliteStore
    from dovemq.stores.sqlite.damage.report import Report
    from dovemq.stores.sqlite.statistics import Statistics
    from dovemq.stores.sqlite.verification import Verification

log = logging.getLogger(__name__)

_RECEIPT_KEY_BYTES: Final = 32

THREADS_ASIDE_MAX: Final = 4
"""For what would keep the loop waiting: the audit log, passwords, backups, the text of metrics."""


class Opened(Struct, frozen=True):
    """A started service over its store, with the ids that its callers give to messages.

    `care` is there for stores that can be copied and verified.
    """

    service: Service
    new_id: Callable[[], str]
    care: StoreCare | None


class Listening(Struct, frozen=True):
    """Where a server can be reached, and what its clients must know; no secret."""

    endpoint_url: str
    admin_url: str | None
    data: str
    region: str
    account: str


class Gate(Struct, frozen=True):
    """What both listeners ask about a caller; without a keyring nobody is asked for a signature."""

    keyring: Keyring | None
    failures: FailureLimit
    throttle: Throttle


class Findings(Struct, frozen=True):
    findings: tuple[str, ...]


class EmbeddedCare:
    """The embedded store as the admin API knows stores: damage told in lines."""

    def __init__(self, store: "SqliteStore") -> None:
        self._store = store

    @property
    def statistics(self) -> "Statistics":
        return self._store.statistics

    async def backup(self, target: Path) -> None:
        await self._store.backup(target)

    async def verify(self) -> Findings:
        """What earlier starts had to give up is told as long as its evidence is there."""
        earlier = [line for report in self.damage() for line in report.lines()]
        return Findings((*earlier, *damage_lines(await self._store.verify())))

    def damage(self) -> "list[Report]":
        return self._store.damage()


def damage_lines(found: "Verification") -> Iterator[str]:
    """One line for each damage; none when all is well."""
    yield from found.problems
    for each in found.damaged:
        name = f"{each.message_id} (sequence {each.sequence})" if each.message_id else each.sequence
        yield f"queue {each.queue}, message {name}: {each.reason}"
    if found.damaged_count > len(found.damaged):
        yield f"{found.damaged_count - len(found.damaged)} more damaged messages"
    if found.strays:
        yield f"{found.strays} bodies that belong to no message"


async def open_service(
    place: Place,
    *,
    root: str = ACCOUNT,
    cache_bytes_max: int = CACHE_BYTES_MAX,
    strict_aws: bool = False,
    observer: Observer | None = None,
) -> Opened:
    clock = SystemClock()
    rng = random.Random(secrets.randbits(256))
    new_id = random_ids(random.Random(secrets.randbits(256)))
    store, care = await _open_store(place, rng, cache_bytes_max, clock, observer)
    async with contextlib.AsyncExitStack() as undo:
        undo.push_async_callback(store.close)
        service = build_service(
            store, clock, new_id, root=root, strict_aws=strict_aws, observer=observer
        )
        await service.start()
        undo.pop_all()
    return Opened(service, new_id, care)


async def _open_store(
    place: Place,
    rng: random.Random,
    cache_bytes_max: int,
    clock: Clock,
    observer: Observer | None,
) -> tuple[Store, StoreCare | None]:
    if isinstance(place, MemoryPlace):
        return MemoryStore(rng, secrets.token_bytes(_RECEIPT_KEY_BYTES), observer), None
    # Only here: a program over `memory://` needs no SQLite.
    from dovemq.stores.sqlite import open_store

    store = await open_store(
        place.directory, rng=rng, cache_bytes_max=cache_bytes_max, clock=clock, observer=observer
    )
    return store, EmbeddedCare(store)


def random_ids(rng: random.Random) -> Callable[[], str]:
    """UUIDs of version 4 as text, at a third of the cost of `uuid.uuid4`."""
    bits = rng.getrandbits

    def new_id() -> str:
        text = f"{bits(128):032x}"
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"

    return new_id


async def serve(settings: Settings, announce: Callable[[Listening], None]) -> None:
    """Run until SIGTERM or SIGINT; every answer that was owed is given before it returns."""
    allow_connections(settings.http.connections_max)
    aside = ThreadPoolExecutor(THREADS_ASIDE_MAX, "dovemq-aside")
    asyncio.get_running_loop().set_default_executor(aside)
    place = parse_store_url(settings.store, settings.data)
    declared = _declared(settings)
    certificates = _certificates(settings)
    async with contextlib.AsyncExitStack() as ending:
        tracing = _open_tracing(settings)
        if tracing is not None:
            ending.push_async_callback(tracing.close)
        meter = Meter(tracing.trace if tracing else None)
        opened = await open_service(
            place,
            root=settings.account,
            cache_bytes_max=settings.cache_bytes_max,
            strict_aws=settings.strict_aws,
            observer=meter,
        )
        service = opened.service
        ending.push_async_callback(service.close)
        audit = _open_audit(place, settings)
        ending.push_async_callback(audit.close)
        await _declare(declared, settings, opened, audit)
        server = _build_server(settings, opened, audit, certificates, meter, tracing)
        await server.start()
        _warn_if_clear(settings)
        calm_collector()
        # The signals are ours before anyone is told that we listen.
        stopped = asyncio.get_running_loop().create_task(until_stopped())
        if certificates is not None:
            reload_on_hangup(certificates)
        await asyncio.sleep(0)
        announce(_listening(settings, server))
        await stopped
        if not await server.drain(settings.drain_seconds, service.drain):
            log.warning("clients were cut off after %d seconds", settings.drain_seconds)


def _open_audit(place: Place, settings: Settings) -> AuditLog:
    """A service that keeps no messages keeps no record of them either."""
    if isinstance(place, MemoryPlace):
        return PassingAudit()
    files = AuditFiles(
        settings.data,
        bytes_max=settings.audit_bytes_max,
        files_max=settings.audit_files_max,
        refuse_when_full=settings.audit_when_full == "refuse",
    )
    return DurableAudit(files)


def _open_tracing(settings: Settings) -> Tracing | None:
    """Its clock follows no change of the machine's: rows must stay in the order of events."""
    epoch_ns = time.time_ns() - time.monotonic_ns()
    return open_tracing(settings, secrets.token_hex(4), time.monotonic_ns, epoch_ns)


def _declared(settings: Settings) -> list[DeclaredQueue]:
    if settings.queues is None:
        return []
    document = read_toml(settings.queues, "name another file by --queues")
    return read_declared(document, str(settings.queues))


async def _declare(
    queues: list[DeclaredQueue], settings: Settings, opened: Opened, audit: AuditLog
) -> None:
    if not queues:
        return
    owner = ServiceOwner(opened.service, settings.region, settings.account, opened.new_id)
    outcome = await declare(queues, owner, str(settings.queues))
    log.info(
        "%s: %d queues created, %d changed, %d as they were",
        settings.queues,
        len(outcome.created),
        len(outcome.changed),
        len(outcome.unchanged),
    )
    if outcome.created or outcome.changed:
        await audit.add(
            AuditEntry(
                at_ms=opened.service.clock.now_ms(),
                request_id=opened.new_id(),
                account=settings.account,
                key_id=None,
                peer="",
                action="declare queues",
                target=str(settings.queues),
                outcome=OK,
                details=bounded({"created": outcome.created, "changed": outcome.changed}),
            )
        )


def _certificates(settings: Settings) -> Certificates | None:
    if settings.tls_certificate is None or settings.tls_key is None:
        return None
    return Certificates(settings.tls_certificate, settings.tls_key)


def _gate(settings: Settings, service: Service) -> Gate:
    # Also made where nobody is asked for it, so that `dovemq env` always has one to print.
    service.accounts.use_root_key(read_key(ensure_key(settings.data), settings.account))
    quotas = service.accounts.quotas
    return Gate(
        None if settings.insecure_no_auth else service.accounts,
        FailureLimit(settings.failures_max, settings.failure_seconds * 1_000, "signatures"),
        Throttle(lambda number: quotas(number).requests_per_second_max),
    )


def _gauges(server: Server) -> dict[str, int]:
    return {
        "connections": server.connections,
        "requests": server.requests,
        "tasks": len(asyncio.all_tasks()),
    }


def _samples(opened: Opened, endpoint: SqsEndpoint, tracing: Tracing | None) -> Iterator[Sample]:
    yield Sample("dovemq_long_polls_parked", opened.service.polls.parked)
    yield from request_samples(endpoint.requests)
    if opened.care is not None:
        yield from store_samples(opened.care.statistics)
    if tracing is not None:
        yield from tracing.samples()


def _build_server(
    settings: Settings,
    opened: Opened,
    audit: AuditLog,
    certificates: Certificates | None,
    meter: Meter,
    tracing: Tracing | None,
) -> Server:
    service = opened.service
    trace = tracing.trace if tracing else None
    gate = _gate(settings, service)
    endpoint = SqsEndpoint(
        service,
        gate.keyring,
        settings.region,
        settings.account,
        settings.public_url,
        opened.new_id,
        audit,
        gate.failures,
        gate.throttle,
        trace=trace,
        log_requests=settings.log_requests,
    )

    def samples() -> Iterator[Sample]:
        yield Sample("dovemq_connections", server.connections)
        yield from _samples(opened, endpoint, tracing)

    admin = _build_admin(settings, opened, audit, gate, meter, samples, lambda: _gauges(server))
    handles: list[Handle] = [endpoint.handle, admin.handle]
    if settings.insecure_no_auth:
        handles = [local_only(handle) for handle in handles]
    server = Server(
        handles[0],
        handles[1] if settings.admin else None,
        host=settings.host,
        port=settings.port,
        admin_host=settings.admin_host_chosen,
        admin_port=settings.admin_port_chosen,
        limits=HttpLimits.of(settings.http),
        clock=service.clock,
        certificates=certificates,
        proxies=Proxies(settings.proxy_networks) if settings.proxy_networks else None,
        now_ns=trace.now_ns if trace else None,
        check_head=endpoint.check_head,
    )
    return server


def _build_admin(
    settings: Settings,
    opened: Opened,
    audit: AuditLog,
    gate: Gate,
    meter: Meter,
    samples: Callable[[], Iterator[Sample]],
    gauges: Callable[[], dict[str, int]],
) -> AdminApi:
    service = opened.service
    measurements = Measurements()
    logins = FailureLimit(settings.failures_max, settings.failure_seconds * 1_000, "logins")
    context = AdminContext(
        service,
        gauges,
        opened.care,
        settings.data,
        opened.new_id,
        region=settings.region,
        audit=audit,
        logins=LoginLimits(logins, settings.address_logins_max),
        metrics=Metrics(service, meter, settings.metrics_queues_max, [samples], measurements),
        measurements=measurements,
    )
    return AdminApi(
        context,
        gate.keyring,
        settings.region,
        opened.new_id,
        gate.failures,
        gate.throttle,
        metrics_open=settings.metrics_open,
        log_requests=settings.log_requests,
    )


def _warn_if_clear(settings: Settings) -> None:
    if settings.tls_certificate is not None:
        return
    hosts = {settings.host, settings.admin_host_chosen} if settings.admin else {settings.host}
    for host in sorted(hosts):
        if not is_loopback(host):
            log.warning(
                "listening on %s without TLS: others on the network can read messages; set "
                "tls_certificate and tls_key, or let a proxy speak TLS",
                host,
            )


def _listening(settings: Settings, server: Server) -> Listening:
    origin = f"{settings.scheme}://{reachable_host(settings.host)}"
    admin_origin = f"{settings.scheme}://{reachable_host(settings.admin_host_chosen)}"
    return Listening(
        endpoint_url=f"{origin}:{server.port}",
        admin_url=f"{admin_origin}:{server.admin_port}" if settings.admin else None,
        data=str(settings.data.absolute()),
        region=settings.region,
        account=settings.account,
    )
