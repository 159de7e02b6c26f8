"""The table of operations: the name, the request and the action of each."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from msgspec import Struct

from dovemq.fabric.autonomic import ClientRole
from dovemq.sqs import shapes
from dovemq.sqs.actions import moves, permissions, queues, receiving, sending, settling
from dovemq.sqs.call import Call

Action = Callable[[Call, Any], Awaitable[shapes.Shape | None]]
"""An operation without a result returns None."""


class Operation(Struct, frozen=True):
    """`audited` operations change queues and are recorded; `sends` ones may carry messages."""

    name: str
    request: type[shapes.Shape]
    act: Action
    decode: Callable[[bytes], shapes.Shape]
    audited: bool
    sends: bool
    role: ClientRole | None
    """The role in which a client of the operation uses its queue."""


def _operation(
    request: type[shapes.Shape],
    act: Action,
    *,
    audited: bool = False,
    sends: bool = False,
    receives: bool = False,
) -> Operation:
    decode = msgspec.json.Decoder(request).decode
    role = ClientRole.PRODUCER if sends else ClientRole.CONSUMER if receives else None
    return Operation(shapes.operation_of(request), request, act, decode, audited, sends, role)


_ALL: Final = (
    _operation(shapes.AddPermissionRequest, permissions.add_permission, audited=True),
    _operation(shapes.CancelMessageMoveTaskRequest, moves.cancel_message_move_task, audited=True),
    _operation(shapes.ChangeMessageVisibilityRequest, settling.change_message_visibility),
    _operation(
        shapes.ChangeMessageVisibilityBatchRequest, settling.change_message_visibility_batch
    ),
    _operation(shapes.CreateQueueRequest, queues.create_queue, audited=True),
    _operation(shapes.DeleteMessageRequest, settling.delete_message),
    _operation(shapes.DeleteMessageBatchRequest, settling.delete_message_batch),
    _operation(shapes.DeleteQueueRequest, queues.delete_queue, audited=True),
    _operation(shapes.GetQueueAttributesRequest, queues.get_queue_attributes),
    _operation(shapes.GetQueueUrlRequest, queues.get_queue_url),
    _operation(shapes.ListDeadLetterSourceQueuesRequest, queues.list_dead_letter_source_queues),
    _operation(shapes.ListMessageMoveTasksRequest, moves.list_message_move_tasks),
    _operation(shapes.ListQueueTagsRequest, queues.list_queue_tags),
    _operation(shapes.ListQueuesRequest, queues.list_queues),
    _operation(shapes.PurgeQueueRequest, queues.purge_queue, audited=True),
    _operation(shapes.ReceiveMessageRequest, receiving.receive_message, receives=True),
    _operation(shapes.RemovePermissionRequest, permissions.remove_permission, audited=True),
    _operation(shapes.SendMessageRequest, sending.send_message, sends=True),
    _operation(shapes.SendMessageBatchRequest, sending.send_message_batch, sends=True),
    _operation(shapes.SetQueueAttributesRequest, queues.set_queue_attributes, audited=True),
    _operation(shapes.StartMessageMoveTaskRequest, moves.start_message_move_task, audited=True),
    _operation(shapes.TagQueueRequest, queues.tag_queue, audited=True),
    _operation(shapes.UntagQueueRequest, queues.untag_queue, audited=True),
)

OPERATIONS: Final = {operation.name: operation for operation in _ALL}
