"""The data pipeline: measures traces, calibrates and sweeps models, and reads queues as data.

Transforms take a DataFrame of events and return DataFrames, inside any Spark job:

    from dovemq import pipeline

    events = pipeline.read_events(spark, "s3a://bucket/trace")      # or spark.table("trace")
    slow = pipeline.messages(events).where("leased_us - sent_us > 60e6")
    with pipeline.measured(events, window_us=60_000_000) as tables:
        tables.by_queue.write.saveAsTable("queue_metrics")

The pipeline uses only files and the public APIs. Names are imported at their first use, so that the
parts without Spark work without it.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from dovemq.pipeline.calibration.spark import observations as observations
    from dovemq.pipeline.events import EVENT_SCHEMA as EVENT_SCHEMA
    from dovemq.pipeline.events import quarantine as quarantine
    from dovemq.pipeline.events import read_events as read_events
    from dovemq.pipeline.events import valid_events as valid_events
    from dovemq.pipeline.metrics.messages import messages as messages
    from dovemq.pipeline.metrics.messages import requests as requests
    from dovemq.pipeline.metrics.order import order as order
    from dovemq.pipeline.metrics.spark import measured as measured


_MODULES: Final = {
    "EVENT_SCHEMA": "events",
    "measured": "metrics.spark",
    "messages": "metrics.messages",
    "observations": "calibration.spark",
    "order": "metrics.order",
    "quarantine": "events",
    "read_events": "events",
    "requests": "metrics.messages",
    "valid_events": "events",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
