"""Both protocols of SQS from the client's side, independent of the server's codecs."""

import base64
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree

import msgspec

from dovemq.http import HttpRequest, HttpResponse

HOST = "localhost:9324"
JSON = "json"
QUERY = "query"
PROTOCOLS = (JSON, QUERY)

SINGULAR = {
    "AWSAccountIds": "AWSAccountId",
    "Actions": "ActionName",
    "AttributeNames": "AttributeName",
    "Attributes": "Attribute",
    "MessageAttributeNames": "MessageAttributeName",
    "MessageAttributes": "MessageAttribute",
    "MessageSystemAttributeNames": "MessageSystemAttributeName",
    "MessageSystemAttributes": "MessageSystemAttribute",
    "StringListValues": "StringListValue",
    "TagKeys": "TagKey",
    "Tags": "Tag",
    "tags": "Tag",
}
PLURAL_LISTS = {
    "Message": "Messages",
    "QueueUrl": "QueueUrls",
    "BatchResultErrorEntry": "Failed",
    "ListMessageMoveTasksResultEntry": "Results",
}
PLURAL_MAPS = {"Attribute": "Attributes", "MessageAttribute": "MessageAttributes", "Tag": "Tags"}
NUMBERS = (
    "ApproximateNumberOfMessagesMoved",
    "ApproximateNumberOfMessagesToMove",
    "MaxNumberOfMessagesPerSecond",
    "StartedTimestamp",
)


class Answer(msgspec.Struct, frozen=True):
    """`code` is the Query code, `shape` the JSON type; both empty on success."""

    status: int
    body: dict[str, Any]
    code: str = ""
    shape: str = ""
    text: str = ""
    raw: HttpResponse | None = None


def request_of(
    protocol: str, operation: str, params: Mapping[str, Any], path: str = "/"
) -> HttpRequest:
    headers = {"host": HOST}
    if protocol == JSON:
        headers["x-amz-target"] = f"AmazonSQS.{operation}"
        headers["content-type"] = "application/x-amz-json-1.0"
        body = json.dumps(params, default=_in_base64).encode()
    else:
        headers["content-type"] = "application/x-www-form-urlencoded"
        body = urlencode(query_parameters(operation, params)).encode()
    return HttpRequest("POST", path, "", headers, body, "127.0.0.1:5000")


def query_parameters(operation: str, params: Mapping[str, Any]) -> dict[str, str]:
    flat = {"Action": operation, "Version": "2012-11-05"}
    for name, value in params.items():
        _flatten(flat, "", name, value, operation)
    return flat


def answer_of(protocol: str, operation: str, response: HttpResponse) -> Answer:
    if protocol == JSON:
        return _json_answer(response)
    return _query_answer(operation, response)


def _in_base64(value: object) -> str:
    assert isinstance(value, bytes)
    return base64.b64encode(value).decode()


def _flatten(flat: dict[str, str], prefix: str, name: str, value: Any, operation: str) -> None:
    if value is None:
        return
    if isinstance(value, list):
        item = SINGULAR.get(name, f"{operation}RequestEntry")
        for number, each in enumerate(value, 1):
            _flatten(flat, prefix, f"{item}.{number}", each, operation)
    elif isinstance(value, dict) and name in SINGULAR:
        item = SINGULAR[name]
        key = "Key" if item == "Tag" else "Name"
        for number, (inner_name, inner) in enumerate(value.items(), 1):
            flat[f"{prefix}{item}.{number}.{key}"] = inner_name
            _flatten(flat, f"{prefix}{item}.{number}.", "Value", inner, operation)
    elif isinstance(value, dict):
        for inner_name, inner in value.items():
            _flatten(flat, f"{prefix}{name}.", inner_name, inner, operation)
    elif isinstance(value, bytes):
        flat[prefix + name] = _in_base64(value)
    else:
        flat[prefix + name] = str(value)


def _json_answer(response: HttpResponse) -> Answer:
    assert response.content_type == "application/x-amz-json-1.0"
    body = json.loads(response.body) if response.body else {}
    if response.status == 200:
        return Answer(200, body, raw=response)
    code, _, blame = dict(response.headers)["x-amzn-query-error"].partition(";")
    assert blame == ("Sender" if response.status < 500 else "Receiver")
    shape = body["__type"].rpartition("#")[2]
    return Answer(response.status, body, code, shape, body["message"], response)


def _query_answer(operation: str, response: HttpResponse) -> Answer:
    assert response.content_type == "text/xml"
    root = ElementTree.fromstring(response.body)
    if response.status == 200:
        assert _name(root) == f"{operation}Response"
        found = [each for each in root if _name(each) == f"{operation}Result"]
        body = _members(found[0], operation) if found else {}
        return Answer(200, body, raw=response)
    [error] = [each for each in root if _name(each) == "Error"]
    told = {_name(each): each.text or "" for each in error}
    return Answer(response.status, {}, told["Code"], "", told["Message"], response)


def _name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _members(element: ElementTree.Element, operation: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in element:
        name = _name(each)
        if name in PLURAL_MAPS:
            key, value = each
            found.setdefault(PLURAL_MAPS[name], {})[key.text or ""] = _value(value, operation)
        elif name == f"{operation}ResultEntry" and operation.endswith("Batch"):
            found.setdefault("Successful", []).append(_value(each, operation))
        elif name in PLURAL_LISTS and _repeats(name, operation):
            plural = PLURAL_LISTS[name]
            if operation == "ListDeadLetterSourceQueues":
                plural = "queueUrls"
            found.setdefault(plural, []).append(_value(each, operation))
        else:
            found[name] = _value(each, operation)
    return found


def _repeats(name: str, operation: str) -> bool:
    """Whether the name is an item of a list in responses of this operation."""
    if name == "QueueUrl":
        return operation.startswith("List")
    return name != "Message" or operation == "ReceiveMessage"


def _value(element: ElementTree.Element, operation: str) -> Any:
    if len(element):
        return _members(element, operation)
    text = element.text or ""
    name = _name(element)
    if name == "SenderFault":
        return text == "true"
    return int(text) if name in NUMBERS else text
