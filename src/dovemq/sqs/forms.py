"""Parameters of the Query protocol, such as `Attribute.1.Name`.

The dots in their names make a tree, and the types of a request's fields turn it into the request.
"""

import binascii
import functools
import re
import types
import typing
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from dovemq.sqs.errors import SerializationError
from dovemq.sqs.shapes import Shape

PARAMETERS_MAX: Final = 1_024
"""A batch of ten messages, with ten attributes each, has fewer than half as many."""
DEPTH_MAX: Final = 8
_NUMBER_LENGTH_MAX: Final = 9
_WELL_FORMED: Final = re.compile(rb"[^%]*+(?:%[0-9A-Fa-f]{2}[^%]*+)*+")

ITEM_NAMES: Final = {
    "AWSAccountIds": "AWSAccountId",
    "Actions": "ActionName",
    "AttributeNames": "AttributeName",
    "Attributes": "Attribute",
    "BinaryListValues": "BinaryListValue",
    "Failed": "BatchResultErrorEntry",
    "MessageAttributeNames": "MessageAttributeName",
    "MessageAttributes": "MessageAttribute",
    "MessageSystemAttributeNames": "MessageSystemAttributeName",
    "MessageSystemAttributes": "MessageSystemAttribute",
    "Messages": "Message",
    "QueueUrls": "QueueUrl",
    "Results": "ListMessageMoveTasksResultEntry",
    "StringListValues": "StringListValue",
    "TagKeys": "TagKey",
    "Tags": "Tag",
    "queueUrls": "QueueUrl",
    "tags": "Tag",
}
"""The name of one item of each list and map."""

Tree = dict[str, Any]


def item_name(field: str, operation: str) -> str:
    if field == "Entries":
        return operation + "RequestEntry"
    if field == "Successful":
        return operation + "ResultEntry"
    return ITEM_NAMES[field]


def key_name(item: str) -> str:
    return "Key" if item == "Tag" else "Name"


def parameters(*sources: str) -> dict[str, str]:
    """The parameters of all sources; later ones replace earlier ones."""
    found: dict[str, str] = {}
    for source in sources:
        if source:
            found.update(_parsed(source))
    return found


def as_builtins(shape: type[Shape], given: dict[str, str], operation: str) -> Tree:
    """Built-in values that `msgspec.convert` turns into the request."""
    return _structure(shape, _tree(given), operation)


def _parsed(source: str) -> dict[str, str]:
    if source.count("&") >= PARAMETERS_MAX:
        raise SerializationError(f"The request has more than {PARAMETERS_MAX} parameters.")
    parts = (part.partition("=") for part in source.split("&") if part)
    try:
        return {_unquoted(name): _unquoted(value) for name, _, value in parts}
    except ValueError:
        raise SerializationError("The request parameters cannot be read.") from None


def _unquoted(text: str) -> str:
    """The same as `unquote_plus`, which takes half a second for a mebibyte of escapes."""
    text = text.replace("+", " ")
    if "%" not in text:
        return text
    data = text.encode()
    if not _WELL_FORMED.fullmatch(data):
        return unquote(text, errors="strict")
    # Quoted-printable has the same escapes behind another sign, and a decoder written in C.
    return binascii.a2b_qp(data.replace(b"=", b"%3D").replace(b"%", b"=")).decode()


def _tree(given: dict[str, str]) -> Tree:
    root: Tree = {}
    for name, value in given.items():
        *path, last = name.split(".", DEPTH_MAX)
        node = root
        for part in path:
            below = node.setdefault(part, {})
            if not isinstance(below, dict):
                break
            node = below
        else:
            node.setdefault(last, value)
    return root


@functools.cache
def _fields(shape: type[Shape]) -> tuple[tuple[str, Any], ...]:
    return tuple((each.encode_name, _required(each.type)) for each in msgspec.structs.fields(shape))


def _required(annotation: Any) -> Any:
    """The type without `None`."""
    if isinstance(annotation, types.UnionType):
        [annotation] = [each for each in typing.get_args(annotation) if each is not type(None)]
    return annotation


def _structure(shape: type[Shape], tree: Tree, operation: str) -> Tree:
    found: Tree = {}
    for name, kind in _fields(shape):
        origin = typing.get_origin(kind)
        if origin is None:
            value = tree.get(name)
            if isinstance(value, str):
                found[name] = value
            continue
        item = item_name(name, operation)
        below = tree.get(item)
        if not isinstance(below, dict):
            continue
        items = _ordered(below)
        if origin is list:
            [inner] = typing.get_args(kind)
            found[name] = [_value(inner, each, operation) for each in items]
        else:
            inner = typing.get_args(kind)[1]
            found[name] = dict(_pair(inner, each, key_name(item), operation) for each in items)
    return found


def _ordered(below: Tree) -> Iterable[Any]:
    numbered = [
        (int(n), each)
        for n, each in below.items()
        if n.isascii() and n.isdigit() and len(n) <= _NUMBER_LENGTH_MAX
    ]
    return [each for _, each in sorted(numbered, key=lambda pair: pair[0])]


def _value(kind: Any, node: Any, operation: str) -> Any:
    if isinstance(kind, type) and issubclass(kind, Shape):
        return _structure(kind, node if isinstance(node, dict) else {}, operation)
    return node if isinstance(node, str) else ""


def _pair(kind: Any, node: Any, key: str, operation: str) -> tuple[str, Any]:
    if not isinstance(node, dict):
        node = {}
    name = node.get(key, "")
    return (name if isinstance(name, str) else ""), _value(kind, node.get("Value", ""), operation)
