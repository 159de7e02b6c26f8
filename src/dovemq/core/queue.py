"""A queue: its key, its settings, and the rules that connect them."""

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from dovemq.core import limits
from dovemq.core.coordination import COORDINATION_IS_FIXED, Coordination, check_coordination
from dovemq.core.errors import InvalidAttribute, InvalidValue
from dovemq.core.partitions import ControlMemory, Layout, resized

ANY_ORDER: Final = 0
"""The value of `order_hint` that asks for no order at all: K = ∞ in bdqs."""
ADAPTIVE_ORDER: Final = "adaptive"
"""The value of `order_hint` for a K that follows the claims that compete."""


class QueueKey(Struct, frozen=True, order=True):
    account: str
    name: str

    def __str__(self) -> str:
        return f"{self.account}/{self.name}"

    @property
    def fifo(self) -> bool:
        return self.name.endswith(limits.FIFO_SUFFIX)

    @classmethod
    def parse(cls, text: str) -> "QueueKey":
        account, _, name = text.partition("/")
        return cls(account, name)


class Redrive(Struct, frozen=True):
    """Messages that were received more than `receives_max` times go to `target`."""

    target: QueueKey
    receives_max: int


class RedriveAllow(Struct, frozen=True):
    """The queues that may name this one as their dead-letter queue."""

    permission: Literal["allowAll", "denyAll", "byQueue"] = "allowAll"
    sources: tuple[QueueKey, ...] = ()

    def allows(self, source: QueueKey) -> bool:
        if self.permission == "byQueue":
            return source in self.sources
        return self.permission == "allowAll"


class QueueSettings(Struct, frozen=True):
    """Everything that an owner can set. Times are in milliseconds."""

    fifo: bool = False
    lease_ms: int = 30 * limits.SECOND_MS
    delay_ms: int = 0
    retention_ms: int = 4 * limits.DAY_MS
    wait_ms: int = 0
    message_bytes_max: int = limits.MESSAGE_BYTES.most
    content_deduplication: bool = False
    deduplication_scope: Literal["queue", "messageGroup"] = "queue"
    throughput_limit: Literal["perQueue", "perMessageGroupId"] = "perQueue"
    redrive: Redrive | None = None
    redrive_allow: RedriveAllow | None = None
    policy: str | None = None
    encryption_key: str | None = None
    encryption_reuse_seconds: int = 300
    encryption_managed: bool = True
    order_hint: int | Literal["adaptive"] = 1
    """K: a receive draws among the K first visible messages; `ANY_ORDER` asks for no order, and
    `ADAPTIVE_ORDER` for a K that avoids collisions of claims, where there are any."""
    coordination: Coordination = "lease"
    """How front ends agree about the queue. It cannot change."""
    receive_draw: Literal["visible", "literal"] = "visible"
    """`literal` draws as bdqs prints it: a hidden message that was drawn is an empty answer."""
    delivery_paused: bool = False
    long_delay: bool = False
    """Delays may reach the retention period instead of 15 minutes."""
    group_concurrency: int | None = None
    group_rate_per_second: int | None = None
    partitions: int = 1
    layout: Layout = Layout()
    """The partitions by number. It follows from `partitions` and cannot be set."""
    auto: bool = False
    """The queue sizes itself, and its clients have sessions."""
    control: ControlMemory = ControlMemory()
    """The memory of the controller that sizes the queue. It cannot be set."""
    partitions_min: int = 1
    partitions_max: int = 16
    inhibition_ms: int = 30 * limits.SECOND_MS
    """The time after a change of the layout in which the controller makes no other."""
    dequeue_strategy: Literal["conventional", "pms", "rds"] = "conventional"
    dequeue_fanout: int = 3
    """A receive looks into at most so many partitions in a row."""
    rds_sleep_ms: int | Literal["auto"] = "auto"
    rds_wake: Literal["timer", "arrival"] = "arrival"
    pms_period_ms: int = 1_000
    session_migration: Literal["off", "on"] = "off"
    """Sessions of clients may move to another partition between two requests."""

    @property
    def delay_ms_max(self) -> int:
        return self.retention_ms if self.long_delay else limits.DELAY_MS.most

    @property
    def targets(self) -> tuple[int, ...]:
        """The partitions for new messages and new clients: the active ones without a marked one."""
        active, marked = self.layout.active, self.control.marked
        if marked is None:
            return active
        return tuple(number for number in active if number != marked) or active


class Queue(Struct, frozen=True):
    """One version of a queue in the catalogue. No other queue ever gets its `number`."""

    number: int
    key: QueueKey
    settings: QueueSettings
    created_ms: int
    modified_ms: int
    tags: Mapping[str, str] = {}
    version: int = 1

    def takes_dead_letters_of(self, source: QueueKey) -> bool:
        allow = self.settings.redrive_allow
        return allow is None or allow.allows(source)


Changes = Mapping[str, Any]
"""New values by the field names of `QueueSettings`."""

RANGES: Final[Mapping[str, limits.Range]] = {
    "lease_ms": limits.LEASE_MS,
    "retention_ms": limits.RETENTION_MS,
    "wait_ms": limits.WAIT_MS,
    "message_bytes_max": limits.MESSAGE_BYTES,
    "encryption_reuse_seconds": limits.ENCRYPTION_REUSE_SECONDS,
    "group_concurrency": limits.GROUP_CONCURRENCY,
    "group_rate_per_second": limits.GROUP_RATE_PER_SECOND,
    "partitions": limits.PARTITIONS,
    "partitions_min": limits.PARTITIONS,
    "partitions_max": limits.PARTITIONS,
    "inhibition_ms": limits.INHIBITION_MS,
    "dequeue_fanout": limits.DEQUEUE_FANOUT,
    "rds_sleep_ms": limits.RDS_SLEEP_MS,
    "pms_period_ms": limits.PMS_PERIOD_MS,
}
AUTO: Final = "auto"
"""The value of a setting that the service finds by itself."""
THROUGHPUT_NEEDS_SCOPE: Final = "a limit per group needs a deduplication scope per group"
PARTITIONS_NEED_SCOPE: Final = (
    "a FIFO queue with several partitions needs a deduplication scope per group"
)
PARTITIONS_ARE_FIXED: Final = (
    "the partitions of a FIFO queue cannot change, since its groups would lose their order and "
    "their deduplication; create another queue"
)
AUTO_NEEDS_STANDARD: Final = (
    "a FIFO queue cannot size itself: the number of its partitions is fixed"
)
PARTITIONS_OUT_OF_ORDER: Final = (
    "the least number of partitions, {least}, is above the most, {most}; set both in one request"
)
LAYOUT_FOLLOWS: Final = "the layout follows from the number of partitions"
_FIFO_ONLY: Final = ("content_deduplication", "deduplication_scope", "throughput_limit")


def check_queue_name(name: str, *, fifo: bool) -> None:
    """The name of a FIFO queue ends in `.fifo`; no other name has a period."""
    stem = name.removesuffix(limits.FIFO_SUFFIX) if fifo else name
    if fifo and stem == name:
        raise InvalidValue("queue_name", name, "The name of a FIFO queue can only end with .fifo.")
    if len(name) > limits.QUEUE_NAME_LENGTH_MAX or not limits.QUEUE_NAME.fullmatch(stem):
        raise InvalidValue(
            "queue_name",
            name,
            "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length",
        )


def settings_with(settings: QueueSettings, changes: Changes) -> QueueSettings:
    """The settings after `changes`; `InvalidAttribute` if they break a rule."""
    for name in ("layout", "control"):
        if name in changes:
            raise InvalidAttribute(name, LAYOUT_FOLLOWS)
    if "partitions" in changes:
        changes = {"auto": False, **changes}
    changed = msgspec.structs.replace(settings, **changes)
    _check_types(changes)
    for name, allowed in RANGES.items():
        value = getattr(changed, name)
        if value not in (None, AUTO) and not allowed.holds(value):
            raise InvalidAttribute(name, value=value)
    if not 0 <= changed.delay_ms <= changed.delay_ms_max:
        raise InvalidAttribute("delay_ms", value=changed.delay_ms)
    hint = changed.order_hint
    if isinstance(hint, int) and hint != ANY_ORDER and not limits.ORDER_HINT.holds(hint):
        raise InvalidAttribute("order_hint", value=hint)
    if changed.fifo:
        _check_fifo(changed)
    else:
        _check_standard(changed, changes)
    if changed.redrive:
        _check_redrive(changed.redrive, fifo=changed.fifo)
    _check_bounds(changed)
    check_coordination(changed)
    if changed.partitions != settings.partitions:
        layout = resized(settings.layout, changed.partitions)
        changed = msgspec.structs.replace(changed, layout=layout)
    if settings.auto and not changed.auto:
        changed = msgspec.structs.replace(changed, control=ControlMemory())
    return changed


def sizing_changes(value: object) -> dict[str, Any]:
    """The changes of a queue that gets a number of partitions, or `AUTO` to size itself."""
    return {"auto": True} if value == AUTO else {"auto": False, "partitions": value}


def changed_settings(settings: QueueSettings, changes: Changes) -> QueueSettings:
    """The settings of an existing queue after `changes`; `InvalidAttribute` if they cannot be."""
    changed = settings_with(settings, changes)
    if changed.coordination != settings.coordination:
        raise InvalidAttribute("coordination", COORDINATION_IS_FIXED, value=changed.coordination)
    if changed.fifo and changed.partitions != settings.partitions:
        raise InvalidAttribute("partitions", PARTITIONS_ARE_FIXED, value=changed.partitions)
    return changed


def _check_types(changes: Changes) -> None:
    """A value of the wrong type could be stored, but the store could not be opened again."""
    fields = {field.name: field.type for field in msgspec.structs.fields(QueueSettings)}
    for name, value in changes.items():
        try:
            msgspec.convert(msgspec.to_builtins(value), fields[name])
        except (msgspec.ValidationError, TypeError):
            raise InvalidAttribute(name, value=value) from None


def _check_bounds(settings: QueueSettings) -> None:
    """The layout of a queue that sizes itself may be out of bounds until its controller acts."""
    least, most = settings.partitions_min, settings.partitions_max
    if least > most:
        reason = PARTITIONS_OUT_OF_ORDER.format(least=least, most=most)
        raise InvalidAttribute("partitions_min", reason, value=least)
    if settings.auto and settings.fifo:
        raise InvalidAttribute("partitions", AUTO_NEEDS_STANDARD, value=AUTO)


def _check_redrive(redrive: Redrive, *, fifo: bool) -> None:
    if redrive.target.fifo != fifo:
        raise InvalidAttribute("redrive", "Dead-letter queue must be same type as source.")
    if not limits.RECEIVES_BEFORE_REDRIVE.holds(redrive.receives_max):
        raise InvalidAttribute("redrive", "The number of receives is out of its range.")


def _check_fifo(settings: QueueSettings) -> None:
    if settings.order_hint != 1:
        raise InvalidAttribute(
            "order_hint", "a FIFO queue keeps its order", value=settings.order_hint
        )
    if (
        settings.throughput_limit == "perMessageGroupId"
        and settings.deduplication_scope != "messageGroup"
    ):
        raise InvalidAttribute(
            "throughput_limit", THROUGHPUT_NEEDS_SCOPE, value=settings.throughput_limit
        )
    if settings.partitions > 1 and settings.deduplication_scope != "messageGroup":
        raise InvalidAttribute("partitions", PARTITIONS_NEED_SCOPE, value=settings.partitions)


def _check_standard(settings: QueueSettings, changes: Changes) -> None:
    default = QueueSettings()
    for name in _FIFO_ONLY:
        if name in changes and getattr(settings, name) != getattr(default, name):
            raise InvalidAttribute(name, "fifo only", value=changes[name])
