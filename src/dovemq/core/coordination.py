"""How front ends that share a queue agree about it, and what a queue cannot have without an owner.

lease    one front end owns the queue's index while its lease holds
none     nobody owns it: the index is in the database, and claims are plain writes (bdqs)
serial   nobody owns it: each claim is one compare-and-set on a row of the message's own
"""

from collections.abc import Container
from typing import TYPE_CHECKING, Final, Literal

from dovemq.core.errors import InvalidAttribute, InvalidValue

if TYPE_CHECKING:
    from dovemq.core.queue import QueueSettings

Coordination = Literal["lease", "none", "serial"]

OWNED: Final[tuple[Coordination, ...]] = ("lease",)
"""The values of a store whose partitions are owned."""
EVERY: Final[tuple[Coordination, ...]] = ("lease", "none", "serial")

NEEDS_OWNER: Final = (
    "a queue with Coordination={coordination} has no owner, who alone could keep {what}"
)
NOT_THIS_STORE: Final = (
    "this store only has Coordination={known}; a store on Cassandra has lease, none and serial"
)
COORDINATION_IS_FIXED: Final = (
    "the coordination of a queue cannot change, since its messages are stored in another way; "
    "create another queue and move the messages"
)
LITERAL_NEEDS_INDEX: Final = (
    "only a queue with Coordination=none or serial can draw hidden messages"
)
GROUP_NEEDS_OWNER: Final = (
    "A queue with Coordination=none or serial has no fairness between groups, and takes no "
    "message with a group."
)


def check_coordination(settings: "QueueSettings") -> None:
    """Refuse what needs an owner on a queue that has none."""
    if settings.coordination in OWNED:
        if settings.receive_draw != "visible":
            raise InvalidAttribute("receive_draw", LITERAL_NEEDS_INDEX, value=settings.receive_draw)
        return
    unfit = (
        ("fifo", settings.fifo, "the order of groups"),
        ("group_concurrency", settings.group_concurrency is not None, "limits of groups"),
        ("group_rate_per_second", settings.group_rate_per_second is not None, "limits of groups"),
        ("partitions", settings.partitions > 1 or settings.auto, "several partitions together"),
    )
    for field, found, what in unfit:
        if found:
            reason = NEEDS_OWNER.format(coordination=settings.coordination, what=what)
            raise InvalidAttribute(field, reason, value=getattr(settings, field))


def check_known(coordination: str, known: Container[str]) -> None:
    """Refuse a coordination that the store does not have."""
    if coordination not in known:
        reason = NOT_THIS_STORE.format(known=" or ".join(each for each in EVERY if each in known))
        raise InvalidAttribute("coordination", reason, value=coordination)


def check_group(settings: "QueueSettings", group: str | None) -> None:
    """Refuse a group in a message to a queue without an owner."""
    if group is not None and settings.coordination not in OWNED:
        raise InvalidValue("group", group, GROUP_NEEDS_OWNER)
