"""Options of a queue for programs: settings with times in seconds and queues by name."""

from typing import Any, Final, TypedDict

from dovemq.core import limits
from dovemq.core.errors import InvalidAttribute, UnknownAttribute
from dovemq.core.queue import ANY_ORDER, QueueKey, Redrive, sizing_changes


class QueueOptions(TypedDict, total=False):
    """Options of a queue. `lease`, `delay`, `retention`, `wait` and `inhibition` are in seconds.

    `deduplication_scope` and `throughput_limit` have the values of SQS's `DeduplicationScope` and
    `FifoThroughputLimit`. None removes a limit of groups.
    """

    lease: float
    delay: float
    retention: float
    wait: float
    message_bytes_max: int
    dead_letters: str
    """The name of the queue for messages that were received more than `receives_max` times."""
    receives_max: int
    content_deduplication: bool
    deduplication_scope: str
    throughput_limit: str
    order_hint: int | str | None
    """A receive draws among this many of the first messages; None asks for no order. `adaptive` is
    1, except on queues without owners."""
    delivery_paused: bool
    long_delay: bool
    group_concurrency: int | None
    group_rate_per_second: int | None
    partitions: int | str
    """A number, or auto."""
    partitions_min: int
    partitions_max: int
    inhibition: float
    """The time after a change of the partitions by auto in which it makes no other, in seconds."""
    dequeue_strategy: str
    """How a receive searches several partitions: conventional, pms or rds."""
    dequeue_fanout: int
    rds_sleep_ms: int | str
    """A number, or auto."""
    rds_wake: str
    pms_period_ms: int
    session_migration: str
    """Whether sessions may move to another partition: on or off."""


_SECONDS: Final = ("lease", "delay", "retention", "wait", "inhibition")
_RECEIVES_MAX: Final = 5
"""Receives before a message moves to the dead-letter queue, unless `receives_max` is given."""


def changes_of(key: QueueKey, options: QueueOptions) -> dict[str, Any]:
    """Returns the fields of `QueueSettings` that the options set, with their values."""
    changes: dict[str, Any] = {}
    for name, value in options.items():
        if name not in QueueOptions.__annotations__:
            raise UnknownAttribute(name)
        if name in _SECONDS:
            changes[name + "_ms"] = _ms(name, value)
        elif name == "order_hint":
            changes[name] = ANY_ORDER if value is None else value
        elif name == "partitions":
            changes.update(sizing_changes(value))
        elif name not in ("dead_letters", "receives_max"):
            changes[name] = value
    if "dead_letters" in options:
        target = QueueKey(key.account, options["dead_letters"])
        changes["redrive"] = Redrive(target, options.get("receives_max", _RECEIVES_MAX))
    elif "receives_max" in options:
        raise InvalidAttribute("redrive", "receives_max needs dead_letters.")
    return changes


def _ms(name: str, seconds: object) -> int:
    try:
        return round(float(str(seconds)) * limits.SECOND_MS)
    except (ValueError, OverflowError):
        raise InvalidAttribute(name, "not a number of seconds", seconds) from None
