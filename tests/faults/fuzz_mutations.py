"""Mutations of a request: of its structure and values, its headers, and its bytes."""

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import quote

from tests.faults.fuzz_samples import Parameters

_NUMBERS: Final = (-1, 0, 1, 2**31, 2**63, 10**30, 0.5, -0.0, 1e308, 11, 43_201, 901)
_TEXTS: Final = (
    "",
    " ",
    "\x00",
    "\ufffe",
    "\ud7ff\U0001f54a",
    "a" * 129,
    "x" * 70_000,
    "../../etc",
    "%00%ff",
    "<&>\"'",
    '{"a":',
    "AWS.x",
    "true",
    "1.5",
    "-1",
    "arn:aws:sqs:us-east-1:000000000000:none",
    "http://elsewhere/000000000000/none",
)
_ODD: Final[tuple[Any, ...]] = (
    None,
    True,
    False,
    [],
    {},
    [None],
    {"": ""},
    [[[]]],
    {"a": {"b": {"c": 1}}},
)
_NAMES: Final = ("QueueUrl", "Unknown", "", "MessageBody", "Attributes", "Entries", "Policy")

Place = tuple[Any, Any]


def mutated(parameters: Parameters, rng: random.Random) -> Parameters:
    """One to three changes of structure or value, anywhere in the tree."""
    changed = copy.deepcopy(parameters)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = list(_places(changed))
        if not places:
            return changed
        container, key = rng.choice(places)
        rng.choice(_CHANGES)(container, key, rng)
    return changed


def _places(value: object) -> Iterator[Place]:
    children: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    for key, child in children:
        yield value, key
        yield from _places(child)


def _replace(container: Any, key: Any, rng: random.Random) -> None:
    container[key] = copy.deepcopy(rng.choice(rng.choice((_NUMBERS, _TEXTS, _ODD))))


def _remove(container: Any, key: Any, rng: random.Random) -> None:
    del container[key]


def _rename(container: Any, key: Any, rng: random.Random) -> None:
    if isinstance(container, dict):
        container[rng.choice(_NAMES)] = container.pop(key)
    else:
        container.reverse()


def _repeat(container: Any, key: Any, rng: random.Random) -> None:
    if isinstance(container, list):
        container.extend(copy.deepcopy(container[key]) for _ in range(rng.choice((1, 10))))
    elif isinstance(container[key], str):
        container[key] = container[key] * rng.choice((2, 40))
    else:
        container[key] = [container[key]]


def _edit(container: Any, key: Any, rng: random.Random) -> None:
    value = container[key]
    if isinstance(value, str) and value:
        at = rng.randrange(len(value))
        container[key] = value[:at] + rng.choice(_TEXTS[:5]) + value[at + rng.randrange(2) :]
    elif isinstance(value, int) and not isinstance(value, bool):
        container[key] = value + rng.choice((-1, 1, 10, 100, 10**6))
    else:
        container[key] = str(value)


_CHANGES: Final[tuple[Callable[[Any, Any, random.Random], None], ...]] = (
    _replace,
    _replace,
    _remove,
    _rename,
    _repeat,
    _edit,
    _edit,
)


def mutated_bytes(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 2, 8))):
        at = rng.randrange(len(changed) + 1)
        change = rng.randrange(4)
        if change == 0:
            changed[at:at] = rng.randbytes(rng.choice((1, 4)))
        elif change == 1:
            del changed[at : at + rng.choice((1, 10))]
        elif change == 2 and at < len(changed):
            changed[at] ^= 1 << rng.randrange(8)
        elif change == 3:
            del changed[at:]
    return bytes(changed)


def mutated_headers(headers: dict[str, str], rng: random.Random) -> dict[str, str]:
    """Headers except the length: with a wrong length one request becomes two."""
    changed = dict(headers)
    name = rng.choice([name for name in changed if name != "Content-Length"])
    change = rng.randrange(5)
    if change == 0:
        del changed[name]
    elif change == 1:
        changed[name] = changed[name] + rng.choice(("x", " ", ",", ";q=1", "\t"))
    elif change == 2:
        changed[name] = changed[name][: rng.randrange(len(changed[name]) + 1)]
    elif change == 3:
        changed[name] = "".join(chr(rng.randrange(32, 255)) for _ in range(rng.choice((1, 50))))
    else:
        changed[rng.choice(("Accept", "X-Amzn-Trace-Id", "X-Amz-Security-Token", "X-Odd"))] = (
            rng.choice(("application/json", "*/*", "é", "", "a" * 2_000))
        )
    return changed


_LISTS: Final = {
    "AttributeNames": "AttributeName",
    "MessageAttributeNames": "MessageAttributeName",
    "MessageSystemAttributeNames": "MessageSystemAttributeName",
    "TagKeys": "TagKey",
    "AWSAccountIds": "AWSAccountId",
    "Actions": "ActionName",
}
_MAPS: Final = {
    "Attributes": ("Attribute", "Name"),
    "Tags": ("Tag", "Key"),
    "tags": ("Tag", "Key"),
    "MessageAttributes": ("MessageAttribute", "Name"),
    "MessageSystemAttributes": ("MessageSystemAttribute", "Name"),
}


def as_query(operation: str, parameters: Parameters) -> bytes:
    """The same parameters as a form of the Query protocol."""
    pairs = [("Action", operation), ("Version", "2012-11-05")]
    pairs += _flat("", parameters, f"{operation}RequestEntry")
    return "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in pairs).encode()


def _quoted(text: str) -> str:
    return quote(text, safe="-_.~", errors="replace")


def _flat(prefix: str, value: object, entry: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _flat_member(prefix, key, child, entry)
    elif isinstance(value, list):
        for number, child in enumerate(value, 1):
            yield from _flat(f"{prefix}{number}.", child, entry)
    else:
        yield prefix.removesuffix("."), _scalar(value)


def _flat_member(prefix: str, key: str, child: object, entry: str) -> Iterator[tuple[str, str]]:
    if key in _MAPS and isinstance(child, dict):
        name, label = _MAPS[key]
        for number, (item, value) in enumerate(child.items(), 1):
            yield f"{prefix}{name}.{number}.{label}", item
            yield from _flat(f"{prefix}{name}.{number}.Value.", value, entry)
    elif key == "Entries":
        yield from _flat(f"{prefix}{entry}.", child, entry)
    else:
        yield from _flat(f"{prefix}{_LISTS.get(key, key)}.", child, entry)


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
