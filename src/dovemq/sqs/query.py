"""The Query protocol: parameters in a form or in the URL, responses in XML without white space.

A client that accepts JSON gets the same responses as JSON.
"""

import base64
import re
from typing import Any, Final
from xml.sax.saxutils import escape

import msgspec
from msgspec import UNSET

from dovemq.core.limits import FORBIDDEN_CHARACTER, FORM_BYTES_MAX
from dovemq.http import HttpRequest, HttpResponse
from dovemq.sqs import shapes
from dovemq.sqs.arns import path_names_queue
from dovemq.sqs.bounds import check_size
from dovemq.sqs.call import Call
from dovemq.sqs.errors import (
    ActionInvalid,
    OperationUnknown,
    RequestTooLong,
    SerializationError,
)
from dovemq.sqs.faults import detail_of, fault_of, pause_ms_of, text_of
from dovemq.sqs.forms import as_builtins, item_name, key_name, parameters
from dovemq.sqs.operations import OPERATIONS, Operation

NAMESPACE: Final = "http://queue.amazonaws.com/doc/2012-11-05/"
XML: Final = "text/xml"
JSON: Final = "application/json"

_PROLOGUE: Final = '<?xml version="1.0"?>'
_NOT_ON_QUEUE_URL: Final = ("CreateQueue", "ListQueues")
_JSON_NAMES: Final = {"Messages": "messages", "QueueUrls": "queueUrls"}
_ACTION_NAME: Final = re.compile(r"[A-Za-z]{1,64}", re.ASCII)
_encode: Final = msgspec.json.Encoder().encode


def read(request: HttpRequest) -> tuple[Operation, shapes.Shape]:
    if request.method not in ("GET", "POST"):
        raise OperationUnknown("")
    size_bytes = len(request.query) + len(request.body)
    if size_bytes > FORM_BYTES_MAX:
        raise RequestTooLong(size_bytes, FORM_BYTES_MAX)
    given = parameters(request.query, _form(request))
    action = given.get("Action")
    if action is None:
        raise OperationUnknown("")
    operation = OPERATIONS.get(action)
    if operation is None or (
        operation.name in _NOT_ON_QUEUE_URL and path_names_queue(request.path)
    ):
        raise ActionInvalid(action if _ACTION_NAME.fullmatch(action) else "")
    check_size(size_bytes, sends=operation.sends)
    builtins = as_builtins(operation.request, given, operation.name)
    try:
        return operation, msgspec.convert(builtins, operation.request, strict=False)
    except msgspec.ValidationError as error:
        raise SerializationError(str(error)) from None


def answer(response: shapes.Shape | None, request_id: str, call: Call) -> HttpResponse:
    name = call.operation
    headers = (("x-amzn-RequestId", request_id),)
    if call.request is not None and _wants_json(call.request):
        content: dict[str, Any] = {"ResponseMetadata": {"RequestId": request_id}}
        if response is not None:
            content[f"{name}Result"] = _plain(response)
        encoded = _encode({f"{name}Response": content})
        return HttpResponse(200, JSON, encoded, headers, call.undelivered, written=call.written)
    result = ""
    if response is not None:
        inner = "".join(_members(response, name))
        result = f"<{name}Result>{inner}</{name}Result>" if inner else f"<{name}Result/>"
    body = (
        f'{_PROLOGUE}<{name}Response xmlns="{NAMESPACE}">{result}'
        f"<ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata>"
        f"</{name}Response>"
    )
    return HttpResponse(200, XML, body.encode(), headers, call.undelivered, written=call.written)


def refuse(error: Exception, request_id: str, request: HttpRequest) -> HttpResponse:
    fault = fault_of(error)
    headers = (("x-amzn-RequestId", request_id),)
    if isinstance(error, OperationUnknown):
        return HttpResponse(fault.status, XML, b"<UnknownOperationException/>", headers)
    blame = "Sender" if fault.sender else "Receiver"
    text, detail = text_of(error, query=True), detail_of(error)
    pause_ms = pause_ms_of(error)
    if _wants_json(request):
        members = {"Type": blame, "Code": fault.code, "Message": text, "Detail": detail}
        body = _encode({"Error": members, "RequestId": request_id})
        return HttpResponse(fault.status, JSON, body, headers, pause_ms=pause_ms)
    document = (
        f'{_PROLOGUE}<ErrorResponse xmlns="{NAMESPACE}"><Error><Type>{blame}</Type>'
        f"<Code>{fault.code}</Code><Message>{_escaped(text)}</Message>"
        f"{f'<Detail>{_escaped(detail)}</Detail>' if detail else '<Detail/>'}</Error>"
        f"<RequestId>{request_id}</RequestId></ErrorResponse>"
    )
    return HttpResponse(fault.status, XML, document.encode(), headers, pause_ms=pause_ms)


def _wants_json(request: HttpRequest) -> bool:
    return JSON in request.headers.get("accept", "")


def _form(request: HttpRequest) -> str:
    try:
        return request.body.decode("utf-8") if request.method == "POST" else ""
    except UnicodeDecodeError:
        raise SerializationError("The request body is not a form in UTF-8.") from None


def _members(value: shapes.Shape, operation: str) -> list[str]:
    parts: list[str] = []
    for field, name in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True):
        _append(parts, name, getattr(value, field), operation)
    return parts


def _append(parts: list[str], name: str, value: Any, operation: str) -> None:
    if value is None or value is UNSET:
        return
    if isinstance(value, list):
        item = item_name(name, operation)
        for each in value:
            _append(parts, item, each, operation)
    elif isinstance(value, dict):
        item = item_name(name, operation)
        key = key_name(item)
        for inner_name, inner in value.items():
            parts.append(f"<{item}><{key}>{_escaped(inner_name)}</{key}>")
            _append(parts, "Value", inner, operation)
            parts.append(f"</{item}>")
    elif isinstance(value, shapes.Shape):
        parts.append(f"<{name}>{''.join(_members(value, operation))}</{name}>")
    else:
        parts.append(f"<{name}>{_escaped(_scalar(value))}</{name}>")


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value)


def _escaped(text: str) -> str:
    # An XML parser would turn a bare carriage return into a line feed.
    return escape(FORBIDDEN_CHARACTER.sub("\ufffd", text), {"\r": "&#xD;"})


def _plain(value: Any) -> Any:
    if isinstance(value, shapes.Shape):
        fields = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
        members = ((_JSON_NAMES.get(name, name), getattr(value, field)) for field, name in fields)
        return {
            name: _plain_member(name, each)
            for name, each in members
            if each is not None and each is not UNSET
        }
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value


def _plain_member(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        key = "Key" if name == "Tags" else "Name"
        return [{key: inner_name, "Value": _plain(inner)} for inner_name, inner in value.items()]
    return _plain(value)
