"""The table of queue attributes: the wire's name of each setting, and the form of its value.

Reading turns wire values into changes of settings and checks their form; the core checks their
range. Writing turns a queue into wire values.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, get_args

from msgspec import Struct

from dovemq.core.commands import Counts
from dovemq.core.errors import InvalidAttribute, UnknownAttribute
from dovemq.core.limits import NAMES_LISTED_MAX, SECOND_MS
from dovemq.core.queue import ADAPTIVE_ORDER, ANY_ORDER, AUTO, Queue, QueueSettings, sizing_changes
from dovemq.sqs.arns import QueueNames
from dovemq.sqs.bounds import check_length
from dovemq.sqs.errors import AttributesConflict
from dovemq.sqs.policies import checked_policy
from dovemq.sqs.redrive import read_allow, read_redrive, write_allow, write_redrive

Form = Literal[
    "seconds",
    "number",
    "tuned",
    "sizing",
    "flag",
    "text",
    "choice",
    "order",
    "redrive",
    "allow",
    "policy",
]


class QueueAttribute(Struct, frozen=True):
    name: str
    field: str
    form: Form
    fifo: bool = False
    extended: bool = False
    """Not an attribute of SQS: returned only if the client names it or asks for `AllExtended`."""


SETTABLE: Final = (
    QueueAttribute("VisibilityTimeout", "lease_ms", "seconds"),
    QueueAttribute("MaximumMessageSize", "message_bytes_max", "number"),
    QueueAttribute("MessageRetentionPeriod", "retention_ms", "seconds"),
    QueueAttribute("DelaySeconds", "delay_ms", "seconds"),
    QueueAttribute("ReceiveMessageWaitTimeSeconds", "wait_ms", "seconds"),
    QueueAttribute("Policy", "policy", "policy"),
    QueueAttribute("RedrivePolicy", "redrive", "redrive"),
    QueueAttribute("RedriveAllowPolicy", "redrive_allow", "allow"),
    QueueAttribute("FifoQueue", "fifo", "flag", fifo=True),
    QueueAttribute("ContentBasedDeduplication", "content_deduplication", "flag", fifo=True),
    QueueAttribute("DeduplicationScope", "deduplication_scope", "choice", fifo=True),
    QueueAttribute("FifoThroughputLimit", "throughput_limit", "choice", fifo=True),
    QueueAttribute("KmsMasterKeyId", "encryption_key", "text"),
    QueueAttribute("KmsDataKeyReusePeriodSeconds", "encryption_reuse_seconds", "number"),
    QueueAttribute("SqsManagedSseEnabled", "encryption_managed", "flag"),
    QueueAttribute("OrderHint", "order_hint", "order", extended=True),
    QueueAttribute("Coordination", "coordination", "choice", extended=True),
    QueueAttribute("ReceiveDraw", "receive_draw", "choice", extended=True),
    QueueAttribute("DeliveryPaused", "delivery_paused", "flag", extended=True),
    QueueAttribute("LongDelay", "long_delay", "flag", extended=True),
    QueueAttribute("GroupConcurrency", "group_concurrency", "number", extended=True),
    QueueAttribute("GroupRatePerSecond", "group_rate_per_second", "number", extended=True),
    QueueAttribute("Partitions", "partitions", "sizing", extended=True),
    QueueAttribute("PartitionsMin", "partitions_min", "number", extended=True),
    QueueAttribute("PartitionsMax", "partitions_max", "number", extended=True),
    QueueAttribute("InhibitionSeconds", "inhibition_ms", "seconds", extended=True),
    QueueAttribute("DequeueStrategy", "dequeue_strategy", "choice", extended=True),
    QueueAttribute("DequeueFanout", "dequeue_fanout", "number", extended=True),
    QueueAttribute("RdsSleepMilliseconds", "rds_sleep_ms", "tuned", extended=True),
    QueueAttribute("RdsWake", "rds_wake", "choice", extended=True),
    QueueAttribute("PmsPeriodMilliseconds", "pms_period_ms", "number", extended=True),
    QueueAttribute("SessionMigration", "session_migration", "choice", extended=True),
)
COUNTED: Final = {
    "ApproximateNumberOfMessages": "visible",
    "ApproximateNumberOfMessagesNotVisible": "leased",
    "ApproximateNumberOfMessagesDelayed": "delayed",
}
READ_ONLY: Final = (*COUNTED, "CreatedTimestamp", "LastModifiedTimestamp", "QueueArn")
ALL: Final = "All"
ALL_EXTENDED: Final = "AllExtended"

_BY_NAME: Final = {attribute.name: attribute for attribute in SETTABLE}
_BY_FIELD: Final = {attribute.field: attribute.name for attribute in SETTABLE} | {
    "auto": "Partitions"
}
_OWN: Final = (*READ_ONLY, *(a.name for a in SETTABLE if not a.extended))
_EXTENDED: Final = tuple(a.name for a in SETTABLE if a.extended)
_REMOVABLE: Final = ("group_concurrency", "group_rate_per_second")
_ANY_ORDER_TEXT: Final = "any"
CHOICES: Final = {
    attribute.field: get_args(QueueSettings.__annotations__[attribute.field])
    for attribute in SETTABLE
    if attribute.form == "choice"
}
_NUMBER: Final = re.compile(r"-?[0-9]{1,18}", re.ASCII)


def wire_name_of(field: str) -> str:
    return _BY_FIELD.get(field, field)


def asked_names(names: Sequence[str]) -> dict[str, None]:
    """The attributes that a list of names stands for, each once and in the order of the list."""
    check_length("AttributeNames", names, NAMES_LISTED_MAX)
    asked: dict[str, None] = {}
    for name in names:
        if name == ALL:
            asked.update(dict.fromkeys(_OWN))
        elif name == ALL_EXTENDED:
            asked.update(dict.fromkeys(_EXTENDED))
        elif name in _BY_NAME or name in READ_ONLY:
            asked[name] = None
        else:
            raise UnknownAttribute(name)
    return asked


def read_changes(
    attributes: Mapping[str, str], names: QueueNames, owner: str, *, fifo: bool, creating: bool
) -> dict[str, Any]:
    """The changes of settings that these attributes stand for."""
    _check_encryption(attributes)
    changes: dict[str, Any] = {}
    for name, text in attributes.items():
        attribute = _BY_NAME.get(name)
        if attribute is None:
            raise UnknownAttribute(name)
        if attribute.fifo and not fifo:
            _refuse_fifo_only(attribute, creating=creating)
        value = _read(attribute, text, names, owner)
        if attribute.form == "sizing":
            changes.update(sizing_changes(value))
        else:
            changes[attribute.field] = value
    if changes.get("fifo") is False:
        raise InvalidAttribute("fifo", "Modifying queue type is not supported.")
    if not creating:
        changes.pop("fifo", None)
    if changes.get("encryption_key"):
        changes["encryption_managed"] = False
    elif changes.get("encryption_managed"):
        changes["encryption_key"] = None
    return changes


def written(name: str, queue: Queue, names: QueueNames, counts: Counts | None) -> str | None:
    """The value of one attribute; None if the queue does not have it."""
    if name in COUNTED:
        return str(getattr(counts, COUNTED[name])) if counts else None
    if name == "QueueArn":
        return names.arn(queue.key)
    if name == "CreatedTimestamp":
        return str(queue.created_ms // SECOND_MS)
    if name == "LastModifiedTimestamp":
        return str(queue.modified_ms // SECOND_MS)
    attribute = _BY_NAME[name]
    settings = queue.settings
    if attribute.fifo and not settings.fifo:
        return None
    if name == "KmsDataKeyReusePeriodSeconds" and settings.encryption_key is None:
        return None
    if attribute.form == "sizing" and settings.auto:
        return AUTO
    value = getattr(settings, attribute.field)
    return None if value is None else _write(attribute.form, value, names)


def _write(form: Form, value: Any, names: QueueNames) -> str:
    match form:
        case "seconds":
            return str(value // SECOND_MS)
        case "flag":
            return "true" if value else "false"
        case "order":
            return _ANY_ORDER_TEXT if value == ANY_ORDER else str(value)
        case "redrive":
            return write_redrive(value, names)
        case "allow":
            return write_allow(value, names)
        case _:
            return str(value)


def _read(attribute: QueueAttribute, text: str, names: QueueNames, owner: str) -> Any:
    field = attribute.field
    match attribute.form:
        case "seconds":
            return _number(field, text) * SECOND_MS
        case "number":
            return None if not text and field in _REMOVABLE else _number(field, text)
        case "tuned" | "sizing":
            return AUTO if text == AUTO else _number(field, text)
        case "flag":
            return _one_of(field, text.lower(), ("true", "false")) == "true"
        case "choice":
            return _one_of(field, text, CHOICES[field])
        case "order":
            if text == ADAPTIVE_ORDER:
                return ADAPTIVE_ORDER
            # No number stands for any order on the wire: 0 becomes a value that is refused.
            return ANY_ORDER if text == _ANY_ORDER_TEXT else _number(field, text) or -1
        case "redrive":
            return read_redrive(text, names)
        case "allow":
            return read_allow(text, names)
        case "policy":
            return checked_policy(text, owner)
        case "text":
            return text or None


def _number(field: str, text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise InvalidAttribute(field, value=text)
    return int(text)


def _one_of(field: str, text: str, allowed: Sequence[str]) -> str:
    if text not in allowed:
        raise InvalidAttribute(field, value=text)
    return text


def _refuse_fifo_only(attribute: QueueAttribute, *, creating: bool) -> None:
    if attribute.form == "choice" and creating:
        raise AttributesConflict(
            f"You can specify the {attribute.name} only when FifoQueue is set to true."
        )
    raise UnknownAttribute(attribute.name)


def _check_encryption(attributes: Mapping[str, str]) -> None:
    managed = attributes.get("SqsManagedSseEnabled", "").lower() == "true"
    if managed and attributes.get("KmsMasterKeyId"):
        raise AttributesConflict(
            "You can use one type of server-side encryption (SSE) at one time. "
            "You can either enable KMS SSE or SQS SSE."
        )
