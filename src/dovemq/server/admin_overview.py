"""Routes that many viewers ask each second. All answers are parts of one shared snapshot."""

from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any, Final

import msgspec

from dovemq.core import limits
from dovemq.core.accounts import Role
from dovemq.core.queue import QueueKey
from dovemq.server.admin_context import AdminCall, AdminContext, AdminRefusal, AdminRoute
from dovemq.server.admin_views import Document
from dovemq.server.control_audit import control_actions
from dovemq.server.snapshots import QueueRow, Snapshot, Snapshots, total_of

TOP_MAX: Final = 10
ALERTS_MAX: Final = 50
ROWS: Final = limits.Range(1, 1_000)
ROWS_DEFAULT: Final = 50
CLIENTS_LISTED_MAX: Final = 200
OFFSET: Final = limits.Range(0, 1_000_000)
_KEYS: Final[dict[str, Callable[[QueueRow], Any]]] = {
    "name": lambda row: (row.name, row.account),
    "visible": lambda row: row.visible,
    "leased": lambda row: row.leased,
    "delayed": lambda row: row.delayed,
    "age": lambda row: row.oldest_age_ms or 0,
    "sent": lambda row: row.rates.sent,
    "received": lambda row: row.rates.received,
    "settled": lambda row: row.rates.settled,
    "consumers": lambda row: row.consumers,
    "alerts": lambda row: len(row.alerts),
}
_ORDERS: Final = ("up", "down")


@AdminRoute("GET", "/v1/overview", Role.VIEWER, own=True)
async def show_overview(admin: AdminContext, call: AdminCall) -> Document:
    """Totals, their history, alerts and the largest queues, from a snapshot of all queues.

    Rates are those of the front end that is asked. Without a role it covers one's own queues.
    """
    snapshots = _snapshots(admin)
    snapshot = await snapshots.current()
    rows = _visible_rows(snapshot, call)
    sees_all = _sees_all(call)
    alerts = [
        {"account": row.account, "name": row.name, **msgspec.to_builtins(alert)}
        for row in rows
        for alert in row.alerts
    ]
    largest = sorted(rows, key=lambda row: -(row.visible + row.leased + row.delayed))[:TOP_MAX]
    total = snapshot.total if sees_all else total_of(rows, snapshot.at_ms)
    return {
        "at_ms": snapshot.at_ms,
        "queues": len(rows),
        "total": total,
        "misses": round(sum(row.rates.misses for row in rows), 2),
        "history": snapshots.totals if sees_all else [],
        "alerts": alerts[:ALERTS_MAX],
        "alert_count": len(alerts),
        "largest": largest,
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
    rows = [row for row in _visible_rows(snapshot, call) if text in str(row.key)]
    rows.sort(key=_KEYS["name"])
    rows.sort(
        key=_KEYS[_choice(call, "sort", tuple(_KEYS))],
        reverse=_choice(call, "order", _ORDERS) == "down",
    )
    offset = call.number("offset", 0, OFFSET)
    count_max = call.number("limit", ROWS_DEFAULT, ROWS)
    return {
        "at_ms": snapshot.at_ms,
        "matching": len(rows),
        "queues": rows[offset : offset + count_max],
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
    return {"at_ms": snapshot.at_ms, "now": snapshot.rows.get(queue.key), "points": points}


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
    return {"decisions": await control_actions(admin.audit, key)}


def _snapshots(admin: AdminContext) -> Snapshots:
    if admin.snapshots is None:
        text = "This server keeps no snapshots."
        raise AdminRefusal("NoSnapshots", text, HTTPStatus.NOT_FOUND)
    return admin.snapshots


def _sees_all(call: AdminCall) -> bool:
    assert call.caller is not None
    return call.caller.account.role is not None


def _visible_rows(snapshot: Snapshot, call: AdminCall) -> list[QueueRow]:
    rows: Iterable[QueueRow] = snapshot.rows.values()
    if not _sees_all(call):
        rows = (row for row in rows if row.account == call.own_account)
    return list(rows)


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
