"""DeleteMessage, ChangeMessageVisibility and their batches."""

from collections.abc import Sequence

from dovemq.core import limits
from dovemq.core.errors import MissingValue, RequestError
from dovemq.sqs import shapes
from dovemq.sqs.actions.batches import checked_entries, failed
from dovemq.sqs.actions.receiving import checked_ms
from dovemq.sqs.call import Call


async def delete_message(call: Call, request: shapes.DeleteMessageRequest) -> None:
    queue = await call.queue(request.queue_url)
    if request.receipt_handle is None:
        raise MissingValue("ReceiptHandle")
    receipts = (request.receipt_handle,)
    [refusal] = await call.service.messages.settle(queue, receipts, call.trail)
    if refusal is not None:
        raise refusal


async def delete_message_batch(
    call: Call, request: shapes.DeleteMessageBatchRequest
) -> shapes.BatchResponse:
    queue = await call.queue(request.queue_url)
    entries = checked_entries(request.entries)
    for number, entry in enumerate(entries, 1):
        if entry.receipt_handle is None:
            raise MissingValue(f"Entries.{number}.ReceiptHandle")
    receipts = [entry.receipt_handle or "" for entry in entries]
    refusals = await call.service.messages.settle(queue, receipts, call.trail)
    return _batch_response([entry.id or "" for entry in entries], refusals)


async def change_message_visibility(
    call: Call, request: shapes.ChangeMessageVisibilityRequest
) -> None:
    queue = await call.queue(request.queue_url)
    change = _change(request)
    [refusal] = await call.service.messages.extend(queue, (change,))
    if refusal is not None:
        raise refusal


async def change_message_visibility_batch(
    call: Call, request: shapes.ChangeMessageVisibilityBatchRequest
) -> shapes.BatchResponse:
    queue = await call.queue(request.queue_url)
    entries = checked_entries(request.entries)
    results: list[RequestError | None] = [None] * len(entries)
    changes: list[tuple[str, int]] = []
    positions: list[int] = []
    for position, entry in enumerate(entries):
        try:
            changes.append(_change(entry))
            positions.append(position)
        except RequestError as error:
            results[position] = error
    refusals = await call.service.messages.extend(queue, changes) if changes else []
    for position, refusal in zip(positions, refusals, strict=True):
        results[position] = refusal
    return _batch_response([entry.id or "" for entry in entries], results)


def _change(
    request: shapes.ChangeMessageVisibilityRequest | shapes.VisibilityEntry,
) -> tuple[str, int]:
    if request.receipt_handle is None:
        raise MissingValue("ReceiptHandle")
    if request.visibility_timeout is None:
        raise MissingValue("VisibilityTimeout")
    seconds = request.visibility_timeout
    return request.receipt_handle, checked_ms("VisibilityTimeout", seconds, limits.LEASE_MS)


def _batch_response(
    ids: Sequence[str], results: Sequence[RequestError | None]
) -> shapes.BatchResponse:
    done = []
    failures = []
    for entry_id, refusal in zip(ids, results, strict=True):
        if refusal is None:
            done.append(shapes.DoneEntry(entry_id))
        else:
            failures.append(failed(entry_id, refusal))
    return shapes.BatchResponse(done, failures)
