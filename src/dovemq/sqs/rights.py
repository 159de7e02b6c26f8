"""The rights that a policy can allow and deny, and those that each operation needs.

A batch needs the right of its single form. `authorisation` decides which accounts hold a right.
"""

from collections.abc import Mapping
from typing import Final

_MOVE: Final = ("ReceiveMessage", "DeleteMessage")
"""A move task receives and deletes, so it needs the rights for both."""
_MOVES: Final = ("CancelMessageMoveTask", "ListMessageMoveTasks", "StartMessageMoveTask")
_BATCHED: Final = ("ChangeMessageVisibility", "DeleteMessage", "SendMessage")
_OTHERS: Final = (
    "AddPermission", "CreateQueue", "DeleteQueue", "GetQueueAttributes", "GetQueueUrl",
    "ListDeadLetterSourceQueues", "ListQueueTags", "ListQueues", "PurgeQueue", "ReceiveMessage",
    "RemovePermission", "SetQueueAttributes", "TagQueue", "UntagQueue",
)  # fmt: skip

NEEDED: Final[Mapping[str, tuple[str, ...]]] = dict(
    sorted(
        [
            *((name, (name,)) for name in (*_OTHERS, *_BATCHED)),
            *((f"{name}Batch", (name,)) for name in _BATCHED),
            *((name, (name, *_MOVE)) for name in _MOVES),
        ]
    )
)
"""The rights that each operation needs, its own right first."""

RIGHTS: Final = frozenset(rights[0] for rights in NEEDED.values())

SHARED: Final = frozenset((
    "ChangeMessageVisibility", "DeleteMessage", "GetQueueAttributes", "GetQueueUrl",
    "ListDeadLetterSourceQueues", "PurgeQueue", "ReceiveMessage", "SendMessage",
))  # fmt: skip
"""The rights that an owner can give to other accounts; no policy gives the others away."""

MENDING: Final = frozenset(("GetQueueAttributes", "RemovePermission", "SetQueueAttributes"))
"""Rights that no policy takes from the owner, so that every policy can be repaired."""

OF_NO_QUEUE: Final = frozenset(("CreateQueue", "ListQueues"))
"""Rights that are not about an existing queue, so that no policy applies."""


def right_named(name: str) -> str | None:
    """The right of that name, upper or lower case; None if there is none."""
    return _BY_LOWER.get(name.lower())


_BY_LOWER: Final = {right.lower(): right for right in RIGHTS}
