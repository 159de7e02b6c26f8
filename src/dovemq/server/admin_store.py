"""Routes for health, metrics, totals, backups and checks of the store."""

import asyncio
from http import HTTPStatus
from typing import Final

import msgspec

from dovemq.core import limits
from dovemq.core.accounts import Role
from dovemq.core.commands import Counts
from dovemq.http import HttpResponse
from dovemq.server.admin_context import AdminCall, AdminContext, AdminRefusal, AdminRoute
from dovemq.server.admin_views import Document, counts_document
from dovemq.server.traffic import StreamedResponse
from dovemq.telemetry.metrics import CONTENT_TYPE as METRICS_TEXT

METRICS_PATH: Final = "/metrics"
_ABOUT: Final = b"""This is the admin API of DoveMQ. SQS clients use another port.

Send an access key by HTTP Basic:

    curl --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" http://127.0.0.1:9325/v1/queues

A signature (SigV4 with the service name dovemq) or the token of a login (POST /v1/sessions) is
accepted too. /health/live and /health/ready need no key. The command `dovemq` uses this API.
"""


async def about(admin: AdminContext, call: AdminCall) -> HttpResponse:
    return HttpResponse(HTTPStatus.OK, "text/plain", _ABOUT)


async def live(admin: AdminContext, call: AdminCall) -> Document:
    return {"live": True}


async def ready(admin: AdminContext, call: AdminCall) -> Document:
    if reason := admin.unready_reason():
        raise AdminRefusal(HTTPStatus.SERVICE_UNAVAILABLE, "NotReady", reason)
    return {"ready": True}


async def health(admin: AdminContext, call: AdminCall) -> Document:
    damage = len(admin.care.damage()) if admin.care else 0
    return {
        "live": True,
        "ready": admin.unready_reason() is None,
        "store": admin.store_state,
        "damage": damage,
    }


async def show_damage(admin: AdminContext, call: AdminCall) -> Document:
    reports = admin.care.damage() if admin.care else ()
    return {"reports": msgspec.to_builtins(list(reports))}


async def show_counters(admin: AdminContext, call: AdminCall) -> Document:
    count, total = 0, Counts(0, 0, 0)
    after = ""
    queues = admin.service.queues
    while page := await queues.page(None, "", after, limits.QUEUES_LISTED.most):
        for queue in page:
            total = _sum(total, await queues.counts(queue))
        count += len(page)
        after = str(page[-1].key)
        await asyncio.sleep(0)
    return {
        "queues": count,
        "messages": counts_document(total),
        "polls_parked": admin.service.polls.parked,
        **admin.gauges(),
        "store": msgspec.to_builtins(admin.care.statistics) if admin.care else None,
    }


async def show_metrics(admin: AdminContext, call: AdminCall) -> HttpResponse:
    if admin.metrics is None:
        raise AdminRefusal(HTTPStatus.NOT_FOUND, "NotFound", "This server has no metrics.")
    return HttpResponse(HTTPStatus.OK, METRICS_TEXT, await admin.metrics.text())


async def make_backup(admin: AdminContext, call: AdminCall) -> StreamedResponse:
    if admin.backups is None:
        raise _not_kept("copied")
    if admin.backups.running:
        raise AdminRefusal(
            HTTPStatus.CONFLICT, "BackupRunning", "Another backup is running; try again later."
        )
    return await admin.backups.make()


async def verify_store(admin: AdminContext, call: AdminCall) -> Document:
    if admin.care is None:
        raise _not_kept("verified")
    if admin.verifying:
        raise AdminRefusal(
            HTTPStatus.CONFLICT, "VerificationRunning", "Another check is running; try again later."
        )
    admin.verifying = True
    # The store's thread goes on reading when the client leaves; no second check may start then.
    checking = asyncio.ensure_future(admin.care.verify())
    checking.add_done_callback(lambda _: admin.verified())
    return {"findings": list((await asyncio.shield(checking)).findings)}


HEALTH_ROUTES: Final = (
    AdminRoute(
        "about", "GET", "/", "A text about this port and its use.", about, None, signed=False
    ),
    AdminRoute(
        "live", "GET", "/health/live", "200 while the process runs.", live, None, signed=False
    ),
    AdminRoute(
        "ready",
        "GET",
        "/health/ready",
        "200 if the server should get requests, else 503.",
        ready,
        None,
        signed=False,
    ),
    AdminRoute(
        "health",
        "GET",
        "/v1/health",
        "Whether it is live and ready, the state of the store, and how often it was rebuilt.",
        health,
        Role.VIEWER,
    ),
    AdminRoute(
        "show metrics",
        "GET",
        METRICS_PATH,
        "All metrics in the text format of Prometheus.",
        show_metrics,
        Role.VIEWER,
    ),
)

STORE_ROUTES: Final = (
    AdminRoute(
        "show counters",
        "GET",
        "/v1/counters",
        "Totals of all queues, connections, parked polls, and counters of the store.",
        show_counters,
        Role.VIEWER,
    ),
    AdminRoute(
        "make backup",
        "POST",
        "/v1/backups",
        "Answers with a consistent copy of the store, which includes the secrets of accounts.",
        make_backup,
        Role.ADMIN,
        audited=True,
    ),
    AdminRoute(
        "show damage",
        "GET",
        "/v1/damage",
        "The losses of each rebuilding of a damaged store, by queue and message id.",
        show_damage,
        Role.VIEWER,
    ),
    AdminRoute(
        "verify store",
        "POST",
        "/v1/verifications",
        "Reads every message and lists what is damaged.",
        verify_store,
        Role.OPERATOR,
    ),
)


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
    return AdminRefusal(
        HTTPStatus.NOT_IMPLEMENTED,
        "NotKept",
        f"This store is in memory and cannot be {what}.",
    )
