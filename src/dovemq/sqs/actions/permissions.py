"""AddPermission and RemovePermission: statements of a queue's policy by label."""

import re
from typing import Final

from dovemq.core import limits
from dovemq.core.errors import InvalidValue, MissingValue
from dovemq.sqs import shapes
from dovemq.sqs.call import Call
from dovemq.sqs.permissions import permission, with_permission, without_permission

_LABEL: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


async def add_permission(call: Call, request: shapes.AddPermissionRequest) -> shapes.Empty:
    label = _checked_label(request.label)
    statement = permission(request.account_ids, request.actions)
    # The policy is read, changed and written back: one at a time, or a statement gets lost.
    async with call.permissions:
        queue = await call.queue(request.queue_url)
        policy = with_permission(queue.settings.policy, queue.key, call.names, label, statement)
        await call.service.queues.change(queue.key, {"policy": policy})
    return shapes.Empty()


async def remove_permission(call: Call, request: shapes.RemovePermissionRequest) -> shapes.Empty:
    label = _checked_label(request.label)
    async with call.permissions:
        queue = await call.queue(request.queue_url)
        policy = without_permission(queue.settings.policy, label)
        await call.service.queues.change(queue.key, {"policy": policy})
    return shapes.Empty()


def _checked_label(label: str | None) -> str:
    if not label:
        raise MissingValue("Label")
    if not limits.LABEL_LENGTH.holds(len(label)) or not _LABEL.fullmatch(label):
        raise InvalidValue(
            "Label",
            label,
            "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length.",
        )
    return label
