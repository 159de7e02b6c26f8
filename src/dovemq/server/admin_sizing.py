"""Routes for the decisions of resource managers, and for what happens in a workflow now."""

from http import HTTPStatus
from typing import Any, Final

import msgspec
from msgspec import Struct

from dovemq.core import limits
from dovemq.core.accounts import Role
from dovemq.core.queue import QueueKey
from dovemq.core.workflows.specification import TopicSpec
from dovemq.server.admin_context import AdminCall, AdminContext, AdminRefusal, AdminRoute
from dovemq.server.admin_views import Document
from dovemq.server.admin_workflows import account_of
from dovemq.server.snapshots import Snapshot
from dovemq.service.workflows.sizing_records import (
    DECISIONS_KEPT,
    SizingRecord,
    SizingReport,
    TopicSizing,
)

PAGE: Final = limits.Range(1, DECISIONS_KEPT)
PAGE_DEFAULT: Final = 50
FRESH_MS: Final = 5 * limits.MINUTE_MS
"""A utilisation that was published earlier is not shown as that of now."""
_ACCOUNT: Final = ("account",)


@AdminRoute(
    "POST",
    "/v1/sizing/decisions",
    Role.OPERATOR,
    query=_ACCOUNT,
    body=SizingReport,
    own=True,
)
async def publish_sizing(admin: AdminContext, call: AdminCall) -> Document:
    """A resource manager publishes a decision. The newest 200 of an account are kept for 30 days.

    Rounds that change nothing for the same cause are one record.
    """
    account = account_of(call, Role.OPERATOR)
    sizing = admin.service.workflows.sizing
    return _document(await sizing.publish(account, call.body, call.own_account))


@AdminRoute("GET", "/v1/sizing/decisions", Role.VIEWER, query=("account", "limit"), own=True)
async def list_sizings(admin: AdminContext, call: AdminCall) -> Document:
    """The newest decisions of the resource manager of an account: consumers before and after, the
    reason, and response times measured and predicted, in milliseconds.
    """
    count_max = call.number("limit", PAGE_DEFAULT, PAGE)
    account = account_of(call, Role.VIEWER)
    records = await admin.service.workflows.sizing.page(account, count_max)
    return {"decisions": [_document(record) for record in records]}


@AdminRoute("GET", "/v1/sizing", Role.VIEWER, query=_ACCOUNT, own=True)
async def show_sizing(admin: AdminContext, call: AdminCall) -> Document:
    """The consumers of each topic after the newest decision, and that decision; 404 if none was
    published.
    """
    record = await admin.service.workflows.sizing.newest(account_of(call, Role.VIEWER))
    if record is None:
        text = "No resource manager has published a decision; `dovemq workflow manager` does."
        raise AdminRefusal("NotSized", text, HTTPStatus.NOT_FOUND)
    consumers = {name: each.after for name, each in record.report.topics.items()}
    return {"consumers": consumers, "decision": _document(record)}


class TopicActivity(Struct, frozen=True):
    """Messages of a topic's queue and of its dead-letter queue; connections that receive here.

    `workers` and `utilisation` are those of the newest decision, null if it is old.
    """

    queue: str
    visible: int
    leased: int
    delayed: int
    oldest_age_ms: int | None
    dead: int
    consumers: int
    workers: int | None
    utilisation: float | None


@AdminRoute("GET", "/v1/workflows/{type}/activity", Role.VIEWER, query=_ACCOUNT, own=True)
async def show_activity(admin: AdminContext, call: AdminCall) -> Document:
    """Messages, consumers and utilisation of each topic of a workflow, from the shared snapshot.

    `bottleneck` is the topic with the highest utilisation, or without a fresh decision the one with
    the most visible messages; `basis` says which.
    """
    account = account_of(call, Role.VIEWER)
    spec = await admin.service.workflows.specs.newest(account, call.path["type"])
    if admin.snapshots is None:
        text = "This server keeps no snapshots."
        raise AdminRefusal("NoSnapshots", text, HTTPStatus.NOT_FOUND)
    snapshot = await admin.snapshots.current()
    record = await admin.service.workflows.sizing.newest(account)
    sized = _fresh_topics(record, admin.now_ms)
    topics = {
        topic.name: _activity(snapshot, account, topic, sized.get(topic.name))
        for topic in spec.topics
    }
    return {
        "type": spec.type,
        "version": spec.version,
        "at_ms": snapshot.at_ms,
        "topics": topics,
        "bottleneck": _bottleneck(topics),
        "decided_ms": record.published_ms if record and sized else None,
    }


def _fresh_topics(record: SizingRecord | None, now_ms: int) -> dict[str, TopicSizing]:
    if record is None or now_ms - record.published_ms > FRESH_MS:
        return {}
    return record.report.topics


def _activity(
    snapshot: Snapshot, account: str, topic: TopicSpec, sized: TopicSizing | None
) -> TopicActivity:
    row = snapshot.rows.get(QueueKey(account, topic.queue))
    dead = snapshot.rows.get(QueueKey(account, topic.dead_queue))
    return TopicActivity(
        topic.queue,
        row.visible if row else 0,
        row.leased if row else 0,
        row.delayed if row else 0,
        row.age_ms(snapshot.at_ms) if row else None,
        dead.visible + dead.leased + dead.delayed if dead else 0,
        row.consumers if row else 0,
        sized.after if sized else None,
        sized.utilisation_after if sized else None,
    )


def _bottleneck(topics: dict[str, TopicActivity]) -> dict[str, Any] | None:
    loads = {name: each.utilisation for name, each in topics.items() if each.utilisation}
    if loads:
        return {"topic": max(loads, key=lambda name: loads[name] or 0.0), "basis": "utilisation"}
    waiting = {name: each.visible for name, each in topics.items() if each.visible}
    if waiting:
        return {"topic": max(waiting, key=lambda name: waiting[name]), "basis": "visible"}
    return None


def _document(record: SizingRecord) -> Document:
    """The record with the fields of its report beside its own."""
    document: Document = msgspec.to_builtins(record)
    report = document.pop("report")
    return {**document, "changes": record.report.changes, **report}
