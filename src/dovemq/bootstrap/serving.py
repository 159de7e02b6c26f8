"""A server from its settings: store, service, endpoints and listeners."""

import asyncio
import contextlib
import logging
import os
import secrets
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dovemq.bootstrap.opening import Opened, open_service
from dovemq.configuration import is_loopback, reachable_host, read_toml
from dovemq.console import Console
from dovemq.core.access import Keyring
from dovemq.fabric.autonomic import ActionKind
from dovemq.server.admin import AdminApi
from dovemq.server.admin_context import AdminContext
from dovemq.server.audit import AuditLog, DurableAudit, MemoryAudit
from dovemq.server.audit_files import AuditFiles
from dovemq.server.certificates import Certificates
from dovemq.server.control_audit import ControlAudit, HintAudit
from dovemq.server.limits import HttpLimits
from dovemq.server.local_only import local_only
from dovemq.server.measurements import Measurements
from dovemq.server.metrics import Metrics, request_samples, store_samples
from dovemq.server.proxies import Proxies
from dovemq.server.run import Server, allow_connections, reload_on_hangup, until_stopped
from dovemq.server.sessions import LoginLimits
from dovemq.server.snapshots import Snapshots
from dovemq.server.traffic import Handle
from dovemq.service import Service
from dovemq.service.audit import OK, AuditEntry, bounded
from dovemq.service.failure_limits import FailureLimit
from dovemq.service.throttle import Throttle
from dovemq.settings import SettingInvalid, Settings
from dovemq.sqs.declared import DeclaredQueue, read_declared
from dovemq.sqs.declaring import ServiceOwner, declare
from dovemq.sqs.endpoint import SqsEndpoint
from dovemq.stores.urls import (
    EmbeddedLocation,
    MemoryLocation,
    StoreLocation,
    parse_store_url,
)
from dovemq.system.collector import calm_collector
from dovemq.system.key_file import ensure_key, read_key
from dovemq.system.private_files import make_private_directory
from dovemq.system.running import RunningServer, announced, front_end_directory
from dovemq.system.systemd import READY, STOPPING, tell_systemd
from dovemq.telemetry.meter import Meter
from dovemq.telemetry.metrics import MetricSample
from dovemq.telemetry.otel import open_span_export
from dovemq.telemetry.tracing import Tracing, open_tracing

if TYPE_CHECKING:
    from dovemq.bootstrap.shared import Advertised
    from dovemq.telemetry.span_export import SpanExport

log = logging.getLogger(__name__)

THREADS_ASIDE_MAX: Final = 4
"""Threads for work that would block the loop: audit log, passwords, backups, text of metrics."""


class Listening(Struct, frozen=True):
    """The addresses of a server and what its clients must know. It holds no secret."""

    endpoint_url: str
    admin_url: str | None
    data: str
    region: str
    account: str
    database: str | None
    """The database of a shared store."""


class Gate(Struct, frozen=True):
    """The checks of callers for both listeners. Without a keyring no signature is checked."""

    keyring: Keyring | None
    failures: FailureLimit
    throttle: Throttle


async def serve(settings: Settings, announce: Callable[[Listening], None]) -> None:
    """Run until SIGTERM or SIGINT. Requests that have arrived are answered before it returns."""
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
        exporting = _open_span_export(settings)
        if exporting is not None:
            ending.push_async_callback(exporting.close)
        meter = Meter(tracing.trace if tracing else None)
        opened = await open_service(
            place,
            root=settings.account,
            cache_bytes_max=settings.cache_bytes_max,
            strict_aws=settings.strict_aws,
            observer=meter,
            advertised=_advertised(settings, place, certificates),
            store_wait_seconds=settings.store_wait_seconds,
            traffic=meter,
        )
        service = opened.service
        ending.push_async_callback(opened.close)
        audit = _open_audit(place, settings)
        ending.push_async_callback(audit.close)
        opened.fabric.sizing.controller.recorder = ControlAudit(audit, opened.new_id)
        hint_audit = HintAudit(audit, opened.new_id)
        ending.push_async_callback(hint_audit.close)
        opened.fabric.hints.recorder = hint_audit.record
        await _declare(declared, settings, opened, audit)
        server = _build_server(settings, opened, audit, certificates, meter, tracing, exporting)
        await server.start()
        _warn_if_clear(settings)
        calm_collector()
        # Signals are handled before the server is announced.
        stopped = asyncio.get_running_loop().create_task(until_stopped())
        if certificates is not None:
            reload_on_hangup(certificates)
        await asyncio.sleep(0)
        listening = _listening(settings, server, opened)
        with announced(_own_directory(settings), _running(settings, listening)):
            announce(listening)
            tell_systemd(READY)
            await stopped
            tell_systemd(STOPPING)
        await _leave(server, settings.leave_seconds_chosen)
        if not await server.drain(settings.drain_seconds, service.drain):
            log.warning("requests were cut off after %d seconds", settings.drain_seconds)


async def _leave(server: Server, seconds: int) -> None:
    """Serve on while load balancers find out that the server is not ready any more."""
    if seconds:
        log.info(
            "stopping: not ready from now on, and no new connections in %d seconds; "
            "a second signal ends the server at once",
            seconds,
        )
        server.begin_leaving()
        await asyncio.sleep(seconds)


def _open_audit(place: StoreLocation, settings: Settings) -> AuditLog:
    """The audit log, which is kept on disk only if messages are."""
    if isinstance(place, MemoryLocation):
        return MemoryAudit()
    directory = _own_directory(settings)
    for each in (settings.data, directory):
        make_private_directory(each)
    files = AuditFiles(
        directory,
        bytes_max=settings.audit_bytes_max,
        files_max=settings.audit_files_max,
        refuse_when_full=settings.audit_when_full == "refuse",
    )
    return DurableAudit(files)


def _own_directory(settings: Settings) -> Path:
    """The directory for files that front ends which share a data directory must not share."""
    if settings.advertise is None:
        return settings.data
    return front_end_directory(settings.data, settings.advertise.rpartition(":")[2])


def _advertised(
    settings: Settings, place: StoreLocation, certificates: Certificates | None
) -> "Advertised | None":
    address, file = settings.advertise, settings.cluster_secret_file
    if address is None:
        return None
    if isinstance(place, EmbeddedLocation | MemoryLocation):
        found = "this store belongs to one server"
        raise SettingInvalid("advertise", found, "leave it out, or name a shared store by --store")
    if file is None:
        remedy = "make one by `openssl rand -hex 32 > FILE` and chmod 600, the same for all servers"
        raise SettingInvalid("cluster_secret_file", "it is needed with advertise", remedy)
    from dovemq.bootstrap.shared import Advertised
    from dovemq.cluster.link import read_cluster_secret

    host, _, port = address.rpartition(":")
    secret = read_cluster_secret(file)
    return Advertised(host.strip("[]"), int(port), secret, certificates, settings.tls_certificate)


def _open_tracing(settings: Settings) -> Tracing | None:
    """Open the trace. Its clock is monotonic, so that rows stay in the order of events."""
    epoch_ns = time.time_ns() - time.monotonic_ns()
    return open_tracing(settings, secrets.token_hex(4), time.monotonic_ns, epoch_ns)


def _open_span_export(settings: Settings) -> "SpanExport | None":
    """Open the export of spans, whose clock is as that of the trace."""
    epoch_ns = time.time_ns() - time.monotonic_ns()
    return open_span_export(settings, secrets.token_hex(4), lambda: epoch_ns + time.monotonic_ns())


def _declared(settings: Settings) -> list[DeclaredQueue]:
    if settings.queues is None:
        return []
    document = read_toml(settings.queues, "name another file with --queues")
    return read_declared(document, str(settings.queues))


async def _declare(
    queues: list[DeclaredQueue], settings: Settings, opened: Opened, audit: AuditLog
) -> None:
    if not queues:
        return
    owner = ServiceOwner(opened.service, settings.region, settings.account, opened.new_id)
    outcome = await declare(queues, owner, str(settings.queues))
    log.info(
        "%s: %d queues created, %d changed, %d unchanged",
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
    # The key is made even if signatures are not checked, so that `dovemq env` can print one.
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


def _samples(
    opened: Opened,
    endpoint: SqsEndpoint,
    tracing: Tracing | None,
    exporting: "SpanExport | None",
) -> Iterator[MetricSample]:
    parked = opened.service.polls.parked + opened.fabric.parked
    yield MetricSample("dovemq_long_polls_parked", parked)
    sizing = opened.fabric.sizing
    yield MetricSample("dovemq_queues_auto", sizing.count)
    for kind in ActionKind:
        actions = sizing.controller.actions[kind]
        yield MetricSample("dovemq_partition_actions_total", actions, (kind.value,))
    yield from request_samples(endpoint.requests)
    if opened.care is not None:
        yield from store_samples(opened.care.statistics)
    if opened.cluster is not None:
        yield from opened.cluster.samples()
    if tracing is not None:
        yield from tracing.samples()
    if exporting is not None:
        yield from exporting.samples()


def _build_server(
    settings: Settings,
    opened: Opened,
    audit: AuditLog,
    certificates: Certificates | None,
    meter: Meter,
    tracing: Tracing | None,
    exporting: "SpanExport | None",
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
        spans=exporting.spans if exporting else None,
        log_requests=settings.log_requests,
    )

    def samples() -> Iterator[MetricSample]:
        yield MetricSample("dovemq_connections", server.connections)
        yield from _samples(opened, endpoint, tracing, exporting)

    admin = _build_admin(
        settings,
        opened,
        audit,
        gate,
        meter,
        samples,
        lambda: _gauges(server),
        lambda: server.leaving,
        tracing,
    )
    admin_handle = Console().around(admin.handle) if settings.console else admin.handle
    handles: list[Handle] = [endpoint.handle, admin_handle]
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
    samples: Callable[[], Iterator[MetricSample]],
    gauges: Callable[[], dict[str, int]],
    leaving: Callable[[], bool],
    tracing: Tracing | None,
) -> AdminApi:
    service = opened.service
    measurements = Measurements()
    logins = FailureLimit(settings.failures_max, settings.failure_seconds * 1_000, "logins")
    metrics = Metrics(service, meter, settings.metrics_queues_max, [samples], measurements)
    context = AdminContext(
        service,
        gauges,
        opened.care,
        new_id=opened.new_id,
        snapshots=Snapshots(service, metrics.tally, alone=opened.cluster is None),
        cluster=opened.cluster,
        leaving=leaving,
        region=settings.region,
        audit=audit,
        logins=LoginLimits(logins, settings.address_logins_max),
        explain=opened.fabric.explain,
        metrics=metrics,
        measurements=measurements,
        k_of=opened.fabric.hints.k_of,
        trace_status=(lambda: tracing.status) if tracing is not None else None,
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


def _running(settings: Settings, listening: Listening) -> RunningServer:
    return RunningServer(
        endpoint_url=listening.endpoint_url,
        admin_url=listening.admin_url,
        public_url=settings.public_url,
        region=settings.region,
        pid=os.getpid(),
    )


def _listening(settings: Settings, server: Server, opened: Opened) -> Listening:
    origin = f"{settings.scheme}://{reachable_host(settings.host)}"
    admin_origin = f"{settings.scheme}://{reachable_host(settings.admin_host_chosen)}"
    return Listening(
        endpoint_url=f"{origin}:{server.port}",
        admin_url=f"{admin_origin}:{server.admin_port}" if settings.admin else None,
        data=str(settings.data.absolute()),
        region=settings.region,
        account=settings.account,
        database=opened.shared.database if opened.shared else None,
    )
