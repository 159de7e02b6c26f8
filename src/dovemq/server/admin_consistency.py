"""Routes for the consistency of a queue: a monitor publishes it, others read it."""

from http import HTTPStatus
from typing import Final

import msgspec

from dovemq.core.accounts import Role
from dovemq.server.admin_context import AdminCall, AdminContext, AdminRefusal, AdminRoute
from dovemq.server.admin_views import Document
from dovemq.server.measurements import Measurement, PublishedMeasurement


async def publish_consistency(admin: AdminContext, call: AdminCall) -> Document:
    measurement: Measurement = call.body
    _check(measurement)
    assert call.caller is not None
    queue = await admin.service.queues.find(call.queue)
    measured = PublishedMeasurement(measurement, admin.now_ms, call.caller.account.number)
    admin.measurements.put(queue, measured)
    return _document(measured)


async def show_consistency(admin: AdminContext, call: AdminCall) -> Document:
    measured = admin.measurements.get(await admin.service.queues.find(call.queue))
    if measured is None:
        raise AdminRefusal(
            HTTPStatus.NOT_FOUND,
            "NotMeasured",
            "No measurement of this queue was published since the server started; "
            "`dovemq pipeline monitor --publish` does.",
        )
    return _document(measured)


def _check(told: Measurement) -> None:
    if told.to_ms < told.from_ms:
        raise _contradiction("to_ms is before from_ms")
    if told.lost + told.open > told.messages:
        raise _contradiction("more messages are lost or open than there are")
    if told.ordered > told.received or told.out_of_order > told.ordered:
        raise _contradiction("received, ordered and out_of_order do not fit together")


def _contradiction(what: str) -> AdminRefusal:
    return AdminRefusal(
        HTTPStatus.BAD_REQUEST, "InvalidBody", f"The counts contradict each other: {what}."
    )


def _document(measured: PublishedMeasurement) -> Document:
    told = measured.measurement
    return {
        **msgspec.structs.asdict(told),
        **told.rates,
        "published_ms": measured.published_ms,
        "published_by": measured.account,
    }


CONSISTENCY_ROUTES: Final = (
    AdminRoute(
        "show consistency",
        "GET",
        "/v1/queues/{account}/{name}/consistency",
        "Counts and rates of lost, repeated and reordered messages, as a monitor published them "
        "last, with period, time and account. 404 if there are none since the server started.",
        show_consistency,
        Role.VIEWER,
        own=True,
    ),
    AdminRoute(
        "publish consistency",
        "PUT",
        "/v1/queues/{account}/{name}/consistency",
        "Replaces the counts of this queue, which are kept in memory.",
        publish_consistency,
        Role.OPERATOR,
        body=Measurement,
        own=True,
    ),
)
