"""Routes that many viewers ask each second. All answers are parts of one shared snapshot."""

import itertools
import math
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any, Final

import msgspec

from dovemq.core import limits
from dovemq.core.accounts import Role
from dovemq.core.queue import QueueKey
from dovemq.server.admin_context import AdminCall, AdminContext, AdminRefusal, AdminRoute
from dovemq.server.admin_views import Document
from dovemq.server.queue_rows import AT_REST, QueueRow, total_of
from dovemq.server.snapshots import Snapshot, Snapshots

TOP_MAX: Final = 10
ALERTS_MAX: Final = 50
ROWS: Final = limits.Range(1, 1_000)
ROWS_DEFAULT: Final = 50
CLIENTS_LISTED_MAX: Final = 200
OFFSET: Final = limits.Range(0, 1_000_000)
_KEYS: Final[dict[str, Callable[[QueueRow], Any]]] = {
    "name": lambda row: row.name,
    "visible": lambda row: row.visible,
    "leased": lambda row: row.leased,
    "delayed": lambda row: row.delayed,
    "age": lambda row: -math.inf if row.oldest_ms is None else -row.oldest_ms,
    "sent": lambda row: row.rates.sent,
    "received": lambda row: row.rates.received,
    "settled": lambda row: row.rates.settled,
    "consumers": lambda row: row.consumers,
    "alerts": lambda row: len(row.alerts),
}
_ORDERS: Final = ("up", "down")


def _size(row: QueueRow) -> int:
    return row.visible + row.leased + row.delayed


@AdminRoute("GET", "/v1/overview", Role.VIEWER, own=True)
async def show_overview(admin: AdminContext, call: AdminCall) -> Document:
    """Totals, their history, alerts and the largest queues, from a snapshot of all queues.

    Rates are those of the front end that is asked. Without a role it covers one's own queues.
    """
    snapshots = _snapshots(admin)
    snapshot = await snapshots.current()
    sees_all = _sees_all(call)
    rows = _visible(snapshot.ordered("size", _size, downwards=True), call)
    alerting = [
        row for row in _visible(snapshot.ordered("name", _KEYS["name"]), call) if row.alerts
    ]
    alerts = itertools.chain.from_iterable(map(_alert_documents, alerting))
    total = snapshot.total if sees_all else total_of(rows, snapshot.at_ms)
    return {
        "at_ms": snapshot.at_ms,
        "queues": len(rows),
        "total": total,
        "misses": round(sum(row.rates.misses for row in rows if row.rates is not AT_REST), 2),
        "history": snapshots.totals if sees_all else [],
        "alerts": list(itertools.islice(alerts, ALERTS_MAX)),
        "alert_count": sum(len(row.alerts) for row in alerting),
        "largest": [_document(row, snapshot) for row in rows[:TOP_MAX]],
        "health": _health(admin) if sees_all else None,
        "polls_parked": admin.service.polls.parked if sees_all else None,
        **(admin.gauges() if sees_all else {}),
    }


@AdminRoute(
    "GET",
    "/v1/overview/queues",
    Role.VIEWER,
    query=("contains", "sort", "order", "offset", "limit"),
    own=True,
)
async def list_rows(admin: AdminContext, call: AdminCall) -> Document:
    """Queues of the shared snapshot whose name contains a text, sorted by a column.

    `sort` is name, visible, leased, delayed, age, sent, received, settled, consumers or alerts;
    `order` is up or down.
    """
    snapshot = await _snapshots(admin).current()
    text = call.query.get("contains", "")
    name = _choice(call, "sort", tuple(_KEYS))
    downwards = _choice(call, "order", _ORDERS) == "down"
    rows = _visible(snapshot.ordered(name, _KEYS[name], downwards=downwards), call)
    if text:
        rows = [row for row in rows if text in row.label]
    offset = call.number("offset", 0, OFFSET)
    count_max = call.number("limit", ROWS_DEFAULT, ROWS)
    return {
        "at_ms": snapshot.at_ms,
        "matching": len(rows),
        "queues": [_document(row, snapshot) for row in rows[offset : offset + count_max]],
    }


@AdminRoute("GET", "/v1/queues/{account}/{name}/history", Role.VIEWER, own=True)
async def show_history(admin: AdminContext, call: AdminCall) -> Document:
    """The row of a queue in the shared snapshot, and its last quarter of an hour.

    A point is [time, visible, leased, delayed, age of the oldest, sent, received, settled]; the
    last three are rates. Points are kept while somebody looks, and an hour longer.
    """
    queue = await admin.service.queues.find(call.queue)
    snapshots = _snapshots(admin)
    points = await snapshots.history(queue)
    snapshot = await snapshots.current()
    row = snapshot.rows.get(queue.key)
    now = _document(row, snapshot) if row else None
    return {"at_ms": snapshot.at_ms, "now": now, "points": points}


@AdminRoute("GET", "/v1/queues/{account}/{name}/clients", Role.VIEWER, own=True)
async def list_clients(admin: AdminContext, call: AdminCall) -> Document:
    """Connections that send to a queue or receive from it at this front end, the newest use first.

    A connection that never asked, or was silent for an hour, is not listed. `waiting` is the
    number of receives that wait for a message.
    """
    queue = await admin.service.queues.find(call.queue)
    now_ms = admin.now_ms
    clients = admin.service.clients.of_queue(queue.key, now_ms)
    return {
        "clients": [
            {
                "peer": each.peer,
                "account": each.account,
                "role": "producer" if each.producer else "consumer",
                "agent": each.agent,
                "first_ms": each.first_ms,
                "last_ms": each.last_ms,
                "requests": each.requests,
            }
            for each in clients[:CLIENTS_LISTED_MAX]
        ],
        "count": len(clients),
        "waiting": admin.service.polls.parked_at(queue.number),
    }


@AdminRoute("GET", "/v1/decisions", Role.VIEWER, query=("queue",))
async def list_decisions(admin: AdminContext, call: AdminCall) -> Document:
    """The newest changes that the service made to queues that size themselves, with their rules.

    `queue` is ACCOUNT/NAME; without it those of all queues.
    """
    text = call.query.get("queue", "")
    key = QueueKey.parse(text) if text else None
    return {"decisions": await admin.control_actions.newest(key)}


def _snapshots(admin: AdminContext) -> Snapshots:
    if admin.snapshots is None:
        text = "This server keeps no snapshots."
        raise AdminRefusal("NoSnapshots", text, HTTPStatus.NOT_FOUND)
    return admin.snapshots


def _sees_all(call: AdminCall) -> bool:
    assert call.caller is not None
    return call.caller.account.role is not None


def _visible(rows: list[QueueRow], call: AdminCall) -> list[QueueRow]:
    """The rows that the caller may see, in the same order."""
    if _sees_all(call):
        return rows
    return [row for row in rows if row.account == call.own_account]


def _document(row: QueueRow, snapshot: Snapshot) -> Document:
    document: Document = msgspec.structs.asdict(row)
    del document["oldest_ms"]
    return {**document, "oldest_age_ms": row.age_ms(snapshot.at_ms)}


def _alert_documents(row: QueueRow) -> Iterator[Document]:
    for alert in row.alerts:
        yield {"account": row.account, "name": row.name, **msgspec.structs.asdict(alert)}


def _choice(call: AdminCall, name: str, allowed: tuple[str, ...]) -> str:
    value = call.query.get(name) or allowed[0]
    if value not in allowed:
        raise AdminRefusal("InvalidValue", f"{name} must be one of {', '.join(allowed)}.")
    return value


def _health(admin: AdminContext) -> Document:
    reason = admin.unready_reason()
    return {
        "ready": reason is None,
        "reason": reason,
        "store": admin.store_state,
        "damage": len(admin.care.damage()) if admin.care else 0,
        "shared": admin.cluster is not None,
    }
