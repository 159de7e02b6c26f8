"""Starts, lists and cancels message move tasks. A handle names a task and its source."""

import base64
import binascii
from typing import Final

import msgspec
from msgspec import Struct

from dovemq.core import limits
from dovemq.core.commands import Move, MoveStatus
from dovemq.core.errors import InvalidValue, MissingValue, QueueMissing, ResourceMissing
from dovemq.core.queue import QueueKey
from dovemq.sqs import shapes
from dovemq.sqs.arns import QueueNames
from dovemq.sqs.bounds import checked_count
from dovemq.sqs.call import Call
from dovemq.sqs.errors import ParameterInvalid

_RESOURCES: Final = {"SourceArn": "source", "DestinationArn": "target"}


class TaskHandle(Struct, frozen=True, rename="camel"):
    task_id: str
    source_arn: str


async def start_message_move_task(
    call: Call, request: shapes.StartMessageMoveTaskRequest
) -> shapes.StartMessageMoveTaskResponse:
    source = await _found(call, "SourceArn", request.source_arn)
    target = None
    if request.destination_arn is not None:
        target = await _found(call, "DestinationArn", request.destination_arn, "SendMessage")
    rate = request.max_number_of_messages_per_second
    if rate is not None and not limits.MOVE_RATE_PER_SECOND.holds(rate):
        raise InvalidValue(
            "MaxNumberOfMessagesPerSecond",
            rate,
            f"Must be between 1 and {limits.MOVE_RATE_PER_SECOND.most}, if provided.",
        )
    move = await call.service.moves.start(source, target, rate)
    return shapes.StartMessageMoveTaskResponse(_write_handle(move, call.names))


async def list_message_move_tasks(
    call: Call, request: shapes.ListMessageMoveTasksRequest
) -> shapes.ListMessageMoveTasksResponse:
    source = await _found(call, "SourceArn", request.source_arn)
    count_max = checked_count("MaxResults", request.max_results, 1, limits.MOVES_LISTED)
    moves = await call.service.moves.listing(source, count_max)
    return shapes.ListMessageMoveTasksResponse([_task(move, call.names) for move in moves])


async def cancel_message_move_task(
    call: Call, request: shapes.CancelMessageMoveTaskRequest
) -> shapes.CancelMessageMoveTaskResponse:
    if not request.task_handle:
        raise MissingValue("TaskHandle")
    handle = read_handle(request.task_handle)
    key = call.names.key_of_arn(handle.source_arn)
    if key is None or key.account != call.account:
        raise ResourceMissing("source")
    source = await _found(call, "SourceArn", handle.source_arn)
    # Anybody can make up a handle: the source must exist, and have that task.
    moves = await call.service.moves.listing(source, limits.MOVES_LISTED.most)
    if all(move.move_id != handle.task_id for move in moves):
        raise ResourceMissing("task")
    move = await call.service.moves.cancel(handle.task_id)
    return shapes.CancelMessageMoveTaskResponse(move.moved)


async def _found(
    call: Call, parameter: str, arn: str | None, operation: str | None = None
) -> QueueKey:
    """The key of a queue on which the caller may do that; it must be the caller's own."""
    if not arn:
        raise MissingValue(parameter)
    key = call.names.key_of_arn(arn)
    if key is None:
        raise ParameterInvalid(
            f"You must use this format to specify the {parameter}: "
            "arn:<partition>:<service>:<region>:<account-id>:<resource-id>"
        )
    if key.account != call.account:
        raise call.denied(key)
    try:
        return (await call.find(key, operation)).key
    except QueueMissing:
        raise ResourceMissing(_RESOURCES[parameter]) from None


def _write_handle(move: Move, names: QueueNames) -> str:
    handle = TaskHandle(move.move_id, names.arn(QueueKey.parse(move.source)))
    return base64.b64encode(msgspec.json.encode(handle)).decode()


def read_handle(text: str) -> TaskHandle:
    try:
        return msgspec.json.decode(base64.b64decode(text, validate=True), type=TaskHandle)
    except (binascii.Error, ValueError, msgspec.DecodeError):
        raise ParameterInvalid("Value for parameter TaskHandle is invalid.") from None


def _task(move: Move, names: QueueNames) -> shapes.MoveTask:
    running = move.status is MoveStatus.RUNNING
    return shapes.MoveTask(
        status=move.status.value,
        source_arn=names.arn(QueueKey.parse(move.source)),
        started_timestamp=move.started_ms,
        approximate_number_of_messages_moved=move.moved,
        approximate_number_of_messages_to_move=move.to_move,
        task_handle=_write_handle(move, names) if running else None,
        destination_arn=names.arn(QueueKey.parse(move.target)) if move.target else None,
        max_number_of_messages_per_second=move.rate_per_second,
        failure_reason=move.failure,
    )
