"""What a policy can allow and deny: the rights, and which of them each operation needs.

A batch needs the right of its single form. Who holds a right is the matter of `authorisation`.
"""

from collections.abc import Mapping
from typing import Final

_MOVE: Final = ("ReceiveMessage", "DeleteMessage")
"""A move task receives and deletes, so whoever may not do that may not have it done."""

NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "AddPermission": ("AddPermission",),
    "CancelMessageMoveTask": ("CancelMessageMoveTask", *_MOVE),
    "ChangeMessageVisibility": ("ChangeMessageVisibility",),
    "ChangeMessageVisibilityBatch": ("ChangeMessageVisibility",),
    "CreateQueue": ("CreateQueue",),
    "DeleteMessage": ("DeleteMessage",),
    "DeleteMessageBatch": ("DeleteMessage",),
    "DeleteQueue": ("DeleteQueue",),
    "GetQueueAttributes": ("GetQueueAttributes",),
    "GetQueueUrl": ("GetQueueUrl",),
    "ListDeadLetterSourceQueues": ("ListDeadLetterSourceQueues",),
    "ListMessageMoveTasks": ("ListMessageMoveTasks", *_MOVE),
    "ListQueueTags": ("ListQueueTags",),
    "ListQueues": ("ListQueues",),
    "PurgeQueue": ("PurgeQueue",),
    "ReceiveMessage": ("ReceiveMessage",),
    "RemovePermission": ("RemovePermission",),
    "SendMessage": ("SendMessage",),
    "SendMessageBatch": ("SendMessage",),
    "SetQueueAttributes": ("SetQueueAttributes",),
    "StartMessageMoveTask": ("StartMessageMoveTask", *_MOVE),
    "TagQueue": ("TagQueue",),
    "UntagQueue": ("UntagQueue",),
}
"""Of every operation, its own right first."""

RIGHTS: Final = frozenset(rights[0] for rights in NEEDED.values())

SHARED: Final = frozenset(
    (
        "ChangeMessageVisibility",
        "DeleteMessage",
        "GetQueueAttributes",
        "GetQueueUrl",
        "ListDeadLetterSourceQueues",
        "PurgeQueue",
        "ReceiveMessage",
        "SendMessage",
    )
)
"""What an owner can give to other accounts; the rest is the owner's alone, whatever is written."""

MENDING: Final = frozenset(("GetQueueAttributes", "RemovePermission", "SetQueueAttributes"))
"""No policy takes these from the owner: one that locks everybody out can be mended."""

OF_NO_QUEUE: Final = frozenset(("CreateQueue", "ListQueues"))
"""Not about a queue that is there, so that no queue's policy is asked."""


def right_named(name: str) -> str | None:
    """The right of that name in any case; None if there is none."""
    return _BY_LOWER.get(name.lower())


_BY_LOWER: Final = {right.lower(): right for right in RIGHTS}
