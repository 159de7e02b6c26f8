"""Routes for the consistency of a queue: a monitor publishes it, others read it."""

from http import HTTPStatus

import msgspec

from dovemq.core.accounts import Role
from dovemq.server.admin_context import AdminCall, AdminContext, AdminRefusal, AdminRoute
from dovemq.server.admin_views import Document
from dovemq.server.consistency_history import history_document
from dovemq.server.measurements import Measurement, PublishedMeasurement


@AdminRoute(
    "PUT", "/v1/queues/{account}/{name}/consistency", Role.OPERATOR, body=Measurement, own=True
)
async def publish_consistency(admin: AdminContext, call: AdminCall) -> Document:
    """Replaces the counts of this queue, and adds them to its history."""
    measurement: Measurement = call.body
    _check(measurement)
    assert call.caller is not None
    queue = await admin.service.queues.find(call.queue)
    measured = PublishedMeasurement(measurement, admin.now_ms, call.caller.account.number)
    admin.measurements.put(queue, measured)
    await admin.consistency.add(queue, measured, admin.k_of(queue))
    return _document(measured)


@AdminRoute("GET", "/v1/queues/{account}/{name}/consistency", Role.VIEWER, own=True)
async def show_consistency(admin: AdminContext, call: AdminCall) -> Document:
    """Counts and rates of lost, repeated and reordered messages, as a monitor published them last,
    with period, time and account. 404 if there are none of the last 30 days.
    """
    measured = await admin.consistency.newest(await admin.service.queues.find(call.queue))
    if measured is None:
        raise AdminRefusal(
            "NotMeasured",
            "No measurement of this queue was published in the last 30 days; "
            "`dovemq pipeline monitor --publish` does.",
            HTTPStatus.NOT_FOUND,
        )
    return _document(measured)


@AdminRoute("GET", "/v1/queues/{account}/{name}/consistency/history", Role.VIEWER, own=True)
async def show_consistency_history(admin: AdminContext, call: AdminCall) -> Document:
    """The consistency over time with the K in force, the oldest first: at most 300 points, at least
    a minute apart. `recent` are the rates since the point before; `by_k` those of each K.
    """
    queue = await admin.service.queues.find(call.queue)
    return history_document(await admin.consistency.points(queue))


def _check(given: Measurement) -> None:
    if given.to_ms < given.from_ms:
        raise _contradiction("to_ms is before from_ms")
    if given.lost + given.open > given.messages:
        raise _contradiction("more messages are lost or open than there are")
    if given.ordered > given.received or given.out_of_order > given.ordered:
        raise _contradiction("received, ordered and out_of_order do not fit together")


def _contradiction(what: str) -> AdminRefusal:
    return AdminRefusal("InvalidBody", f"The counts contradict each other: {what}.")


def _document(measured: PublishedMeasurement) -> Document:
    return {
        **msgspec.structs.asdict(measured.measurement),
        **measured.measurement.rates,
        "published_ms": measured.published_ms,
        "published_by": measured.account,
    }
