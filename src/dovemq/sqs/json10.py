"""The protocol AWS JSON 1.0: a header names the operation, and the body is one JSON object."""

from typing import Final

import msgspec

from dovemq.core.limits import REQUEST_BYTES_MAX
from dovemq.http import HttpRequest, HttpResponse
from dovemq.sqs import shapes
from dovemq.sqs.bounds import check_items, check_size
from dovemq.sqs.call import Call
from dovemq.sqs.errors import OperationUnknown, SerializationError
from dovemq.sqs.faults import detail_of, fault_of, pause_ms_of, text_of
from dovemq.sqs.operations import OPERATIONS, Operation

CONTENT_TYPE: Final = "application/x-amz-json-1.0"
PREFIX: Final = "AmazonSQS."

_TARGETS: Final = {PREFIX + name: operation for name, operation in OPERATIONS.items()}
_encode: Final = msgspec.json.Encoder().encode


def speaks(request: HttpRequest) -> bool:
    headers = request.headers
    return "x-amz-target" in headers or headers.get("content-type", "").startswith(CONTENT_TYPE)


def read(request: HttpRequest) -> tuple[Operation, shapes.Shape]:
    operation = _TARGETS.get(request.headers.get("x-amz-target", ""))
    if operation is None or request.method != "POST":
        raise OperationUnknown("The requested operation is not supported by this service.")
    body = request.body
    try:
        if len(body) > REQUEST_BYTES_MAX:
            check_size(len(body), sends=operation.sends)
            check_items(body)
        return operation, operation.decode(body or b"{}")
    except msgspec.ValidationError as error:
        raise SerializationError(str(error)) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise SerializationError("The request body is not a valid JSON object.") from None


def answer(response: shapes.Shape | None, request_id: str, call: Call) -> HttpResponse:
    headers = (("x-amzn-RequestId", request_id),)
    body = b"{}" if response is None else _encode(response)
    return HttpResponse(200, CONTENT_TYPE, body, headers, call.undelivered, written=call.written)


def refuse(error: Exception, request_id: str, _: HttpRequest) -> HttpResponse:
    fault = fault_of(error)
    members = {"__type": fault.namespace + fault.shape, "message": text_of(error, query=False)}
    if detail := detail_of(error):
        members["detail"] = detail
    blame = "Sender" if fault.sender else "Receiver"
    return HttpResponse(
        fault.status,
        CONTENT_TYPE,
        _encode(members),
        (("x-amzn-RequestId", request_id), ("x-amzn-query-error", f"{fault.code};{blame}")),
        pause_ms=pause_ms_of(error),
    )
