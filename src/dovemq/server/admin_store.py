"""Routes for health, metrics, totals, backups and checks of the store, and for the audit log."""

import asyncio
from http import HTTPStatus
from typing import Final

import msgspec

from dovemq.core import limits
from dovemq.core.accounts import Role
from dovemq.core.commands import Counts
from dovemq.http import HttpResponse
from dovemq.server.admin_context import (
    PAGE,
    PAGE_DEFAULT,
    AdminCall,
    AdminContext,
    AdminRefusal,
    AdminRoute,
)
from dovemq.server.admin_views import Document
from dovemq.server.answers import StreamedResponse
from dovemq.telemetry.metrics import CONTENT_TYPE as METRICS_TEXT

METRICS_PATH: Final = "/metrics"
_SEQUENCE: Final = limits.Range(0, 2**53)
_ABOUT: Final = b"""This is the admin API of DoveMQ. SQS clients use another port.

Send an access key by HTTP Basic:

    curl --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" http://127.0.0.1:9325/v1/queues

A signature (SigV4 with the service name dovemq) or the token of a login (POST /v1/sessions) is
accepted too. /health/live and /health/ready need no key. The command `dovemq` uses this API.
"""


@AdminRoute("GET", "/", None, signed=False)
async def about(admin: AdminContext, call: AdminCall) -> HttpResponse:
    """A text about this port and its use."""
    return HttpResponse(HTTPStatus.OK, "text/plain", _ABOUT)


@AdminRoute("GET", "/v1/openapi.json", None, signed=False)
async def show_openapi(admin: AdminContext, call: AdminCall) -> Document:
    """The OpenAPI document of this API."""
    return admin.openapi


@AdminRoute("GET", "/health/live", None, signed=False)
async def live(admin: AdminContext, call: AdminCall) -> Document:
    """200 while the process runs."""
    return {"live": True}


@AdminRoute("GET", "/health/ready", None, signed=False)
async def ready(admin: AdminContext, call: AdminCall) -> Document:
    """200 if the server should get requests, else 503."""
    if reason := admin.unready_reason():
        raise AdminRefusal("NotReady", reason, HTTPStatus.SERVICE_UNAVAILABLE)
    return {"ready": True}


@AdminRoute("GET", "/v1/health", Role.VIEWER)
async def health(admin: AdminContext, call: AdminCall) -> Document:
    """Whether it is ready, or why not; the state of the store, and how often it was rebuilt."""
    damage = len(admin.care.damage()) if admin.care else 0
    reason = admin.unready_reason()
    return {
        "live": True,
        "ready": reason is None,
        "reason": reason,
        "store": admin.store_state,
        "damage": damage,
    }


@AdminRoute("GET", "/v1/damage", Role.VIEWER)
async def show_damage(admin: AdminContext, call: AdminCall) -> Document:
    """The losses of each rebuilding of a damaged store, by queue and message id."""
    reports = admin.care.damage() if admin.care else ()
    return {"reports": msgspec.to_builtins(list(reports))}


@AdminRoute("GET", "/v1/counters", Role.VIEWER)
async def show_counters(admin: AdminContext, call: AdminCall) -> Document:
    """Totals of all queues, connections, parked polls, and counters of the store."""
    count, total = 0, Counts(0, 0, 0)
    queues = admin.service.queues
    async for queue in queues.each():
        total = _sum(total, await queues.counts(queue))
        count += 1
    return {
        "queues": count,
        "messages": msgspec.structs.asdict(total),
        "polls_parked": admin.service.polls.parked,
        **admin.gauges(),
        "store": msgspec.to_builtins(admin.care.statistics) if admin.care else None,
    }


@AdminRoute("GET", METRICS_PATH, Role.VIEWER)
async def show_metrics(admin: AdminContext, call: AdminCall) -> HttpResponse:
    """All metrics in the text format of Prometheus."""
    if admin.metrics is None:
        raise AdminRefusal("NotFound", "This server has no metrics.", HTTPStatus.NOT_FOUND)
    return HttpResponse(HTTPStatus.OK, METRICS_TEXT, await admin.metrics.text())


@AdminRoute("GET", "/v1/traces", Role.VIEWER)
async def show_trace(admin: AdminContext, call: AdminCall) -> Document:
    """Whether this front end writes a trace, where, its rows since the start, its files and bytes,
    and the last failure.
    """
    if admin.trace_status is None:
        return {"on": False}
    return {"on": True, **msgspec.structs.asdict(admin.trace_status())}


@AdminRoute("POST", "/v1/backups", Role.ADMIN, audited=True)
async def make_backup(admin: AdminContext, call: AdminCall) -> StreamedResponse:
    """Answers with a consistent copy of the store, which includes the secrets of accounts."""
    if admin.backups is None:
        raise _not_kept("copied")
    if admin.backups.running:
        text = "Another backup is running; try again later."
        raise AdminRefusal("BackupRunning", text, HTTPStatus.CONFLICT)
    return await admin.backups.make()


@AdminRoute("POST", "/v1/verifications", Role.OPERATOR)
async def verify_store(admin: AdminContext, call: AdminCall) -> Document:
    """Reads every message and lists what is damaged."""
    if admin.care is None:
        raise _not_kept("verified")
    if admin.verifying:
        text = "Another check is running; try again later."
        raise AdminRefusal("VerificationRunning", text, HTTPStatus.CONFLICT)
    admin.verifying = True
    # The store's thread goes on reading when the client leaves; no second check may start then.
    checking = asyncio.ensure_future(admin.care.verify())

    def finished(_: object) -> None:
        admin.verifying = False

    checking.add_done_callback(finished)
    return {"findings": list((await asyncio.shield(checking)).findings)}


@AdminRoute("GET", "/v1/audit", Role.ADMIN, query=("after", "limit"))
async def list_audit(admin: AdminContext, call: AdminCall) -> Document:
    """Changes and denied changes, oldest first: those after a sequence, or the newest."""
    count_max = call.number("limit", PAGE_DEFAULT, PAGE)
    if not call.query.get("after"):
        return {"entries": await admin.audit.page(None, count_max), "next": None}
    entries = await admin.audit.page(call.number("after", 0, _SEQUENCE), count_max)
    return {
        "entries": entries,
        "next": entries[-1]["sequence"] if len(entries) == count_max else None,
    }


def _sum(one: Counts, other: Counts) -> Counts:
    ages = [age for age in (one.oldest_ms, other.oldest_ms) if age is not None]
    return Counts(
        one.visible + other.visible,
        one.leased + other.leased,
        one.delayed + other.delayed,
        min(ages, default=None),
        one.bytes + other.bytes,
    )


def _not_kept(what: str) -> AdminRefusal:
    text = f"Only the embedded store can be {what} here; a database has its own means."
    return AdminRefusal("NotKept", text, HTTPStatus.NOT_IMPLEMENTED)
