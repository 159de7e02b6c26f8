"""Query parameters and the names of the Query protocol: `Attribute.1.Name` and its like.

Parameters become a tree by their dots, and the tree becomes a request by the types of its fields.
"""

import functools
import types
import typing
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec

from dovemq.sqs.errors import SerializationError
from dovemq.sqs.shapes import Shape

PARAMETERS_MAX: Final = 1_024
"""A batch of ten messages, with ten attributes each, has fewer than half as many."""
DEPTH_MAX: Final = 8
_NUMBER_LENGTH_MAX: Final = 9

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
"""Lists and maps are flat: an item is named in the singular."""

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
    """All parameters of all sources; a later one wins."""
    found: dict[str, str] = {}
    for source in sources:
        if source:
            found.update(_parsed(source))
    return found


def as_builtins(shape: type[Shape], given: dict[str, str], operation: str) -> Tree:
    """What `msgspec.convert` turns into the request."""
    return _structure(shape, _tree(given), operation)


def _parsed(source: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            source, keep_blank_values=True, errors="strict", max_num_fields=PARAMETERS_MAX
        )
    except ValueError:
        raise SerializationError(
            f"The request parameters cannot be read, or are more than {PARAMETERS_MAX}."
        ) from None


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
