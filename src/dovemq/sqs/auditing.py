"""Audit entries of operations: the account, the queue, the parameters and the outcome.

None of the audited operations carries a message or a secret.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from dovemq.core.errors import RequestError
from dovemq.core.queue import QueueKey
from dovemq.http import HttpRequest
from dovemq.service.audit import Audit, AuditEntry, audited, bounded
from dovemq.sqs import shapes
from dovemq.sqs.actions.moves import read_handle
from dovemq.sqs.call import Call
from dovemq.sqs.faults import fault_of
from dovemq.sqs.operations import Operation

TARGET_LENGTH_MAX: Final = 256
_TARGETS: Final = ("QueueUrl", "QueueName", "SourceArn")


async def recorded(
    audit: Audit,
    operation: Operation,
    call: Call,
    asked: shapes.Shape,
    request: HttpRequest,
    request_id: str,
) -> shapes.Shape | None:
    def entry(outcome: str) -> AuditEntry:
        given: dict[str, Any] = msgspec.to_builtins(asked)
        return AuditEntry(
            at_ms=call.service.clock.now_ms(),
            request_id=request_id,
            account=call.account,
            key_id=call.key_id,
            peer=request.peer,
            action=operation.name,
            target=_target(call, given)[:TARGET_LENGTH_MAX],
            outcome=outcome,
            details=bounded({name: given[name] for name in given if name not in _TARGETS}),
        )

    def act() -> Any:
        return operation.act(call, asked)

    answered: shapes.Shape | None = await audited(
        audit, act, entry, lambda error: fault_of(error).code
    )
    return answered


def _target(call: Call, given: Mapping[str, Any]) -> str:
    """`account/name` of the queue, or the text of the request if that names no queue."""
    if "QueueName" in given:
        return str(QueueKey(call.account, given["QueueName"]))
    if "TaskHandle" in given:
        return _queue_of_arn(call, _source_arn(given["TaskHandle"]))
    if "SourceArn" in given:
        return _queue_of_arn(call, given["SourceArn"])
    url = str(given.get("QueueUrl") or call.path_url or "")
    try:
        return str(call.names.key_of_url(url, call.account))
    except RequestError:
        return url


def _queue_of_arn(call: Call, arn: str) -> str:
    key = call.names.key_of_arn(arn)
    return str(key) if key is not None else arn


def _source_arn(handle: str) -> str:
    try:
        return read_handle(handle).source_arn
    except RequestError:
        return ""
