"""The rows of a trace as both engines read them: expressions of SQL that both know."""

from typing import Final

from dovemq.pipeline.metrics.rules import MOMENT

EVENTS: Final = (
    "event",
    "queue",
    f"{MOMENT} AS moment_us",
    "message_id",
    "receive_count",
    "client",
    "front_end",
    "job_type",
    "latency_us",
    "ot_us - latency_us AS asked_us",
    "ot_us AS answered_us",
)
