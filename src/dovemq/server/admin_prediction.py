"""The route for the prediction of a queue."""

from typing import Final

from dovemq.core import limits
from dovemq.core.accounts import Role
from dovemq.models.live import SERVERS_MAX
from dovemq.server.admin_context import AdminCall, AdminContext, AdminRefusal, AdminRoute
from dovemq.server.admin_views import Document
from dovemq.server.predictions import WhatIf

CONSUMERS: Final = limits.Range(1, SERVERS_MAX)
PARTITIONS: Final = limits.Range(1, 100)
TARGET_MS: Final = limits.Range(1, 7 * limits.DAY_MS)
ARRIVAL_RATE: Final = (0.001, 1_000_000.0)
PERCENTILE: Final = (50.0, 99.9)
_DIGITS_MAX: Final = 12


@AdminRoute(
    "GET",
    "/v1/queues/{account}/{name}/prediction",
    Role.VIEWER,
    query=("arrival_rate", "consumers", "partitions", "percentile", "target_ms"),
    own=True,
)
async def predict_queue(admin: AdminContext, call: AdminCall) -> Document:
    """Times and throughput of a queue as measured here in the last five minutes, and as a model
    predicts them.

    Parameters replace what was measured: messages per second, consumers, partitions that divide
    the consumers, the percentile of the times. With `target_ms` it says how many consumers keep
    that percentile of the responses within it. Null stands for infinity.
    """
    queue = await admin.service.queues.find(call.queue)
    what_if = WhatIf(
        _decimal(call, "arrival_rate", *ARRIVAL_RATE),
        _whole(call, "consumers", CONSUMERS),
        _whole(call, "partitions", PARTITIONS),
        _decimal(call, "percentile", *PERCENTILE),
        _whole(call, "target_ms", TARGET_MS),
    )
    return await admin.predictions.of(queue, what_if)


def _whole(call: AdminCall, name: str, allowed: limits.Range) -> int | None:
    return call.number(name, 0, allowed) or None


def _decimal(call: AdminCall, name: str, least: float, most: float) -> float | None:
    text = call.query.get(name)
    if not text:
        return None
    digits = text.replace(".", "", 1)
    plain = text.isascii() and digits.isdigit() and len(text) <= _DIGITS_MAX
    if not plain or not least <= float(text) <= most:
        raise AdminRefusal("InvalidValue", f"{name} must be a number from {least:g} to {most:,g}.")
    return float(text)
