"""The file that declares queues: a TOML table for each queue, with SQS's names of attributes.

This module checks the form of the file. The values of attributes are checked when the queue is
created, as for any request.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from dovemq.core.limits import FIFO_SUFFIX
from dovemq.settings import DeclarationInvalid
from dovemq.sqs.attributes import SETTABLE

QUEUES: Final = "queues"
TAGS: Final = "tags"
DEAD_LETTERS: Final = "dead_letters"
REDRIVE_POLICY: Final = "RedrivePolicy"
FIFO_QUEUE: Final = "FifoQueue"

_FORMS: Final = {attribute.name: attribute.form for attribute in SETTABLE}
_JSON_FORMS: Final = ("allow", "policy", "redrive")


class DeadLetters(Struct, frozen=True):
    """A dead-letter queue by its name: its ARN is not known before it is created."""

    queue: str
    receives_max: int = msgspec.field(name="maxReceiveCount")


class DeclaredQueue(Struct, frozen=True):
    name: str
    attributes: Mapping[str, str] = {}
    tags: Mapping[str, str] = {}
    dead_letters: DeadLetters | None = None


def read_declared(document: Mapping[str, Any], file: str) -> list[DeclaredQueue]:
    """The queues of a TOML document, in its order."""
    for key in document:
        if key != QUEUES:
            raise DeclarationInvalid(f"{file}: {key}", "not known here", "write [queues.NAME]")
    tables = document.get(QUEUES, {})
    if not isinstance(tables, dict):
        raise DeclarationInvalid(f"{file}: {QUEUES}", "not a table", "write [queues.NAME]")
    return [_queue(name, table, file) for name, table in tables.items()]


def write_declared(queues: Sequence[DeclaredQueue]) -> str:
    return "\n".join("".join(f"{line}\n" for line in _lines(queue)) for queue in queues)


def same_value(name: str, one: str, other: str) -> bool:
    """Whether two values of an attribute mean the same."""
    if _FORMS.get(name) == "flag":
        return one.lower() == other.lower()
    if _FORMS.get(name) not in _JSON_FORMS or not (one and other):
        return one == other
    try:
        return bool(msgspec.json.decode(one) == msgspec.json.decode(other))
    except msgspec.DecodeError:
        return False


def _queue(name: str, table: Any, file: str) -> DeclaredQueue:
    place = f"{file}: queue {name}"
    if not isinstance(table, dict):
        raise DeclarationInvalid(place, "not a table", f"write [queues.{_quoted(name)}]")
    attributes = {
        key: _text(key, value, f"{place}: {key}")
        for key, value in table.items()
        if key not in (TAGS, DEAD_LETTERS)
    }
    if name.endswith(FIFO_SUFFIX):
        attributes.setdefault(FIFO_QUEUE, "true")
    if DEAD_LETTERS in table and REDRIVE_POLICY in table:
        raise DeclarationInvalid(
            f"{place}: {DEAD_LETTERS}", f"stands beside {REDRIVE_POLICY}", "keep one of them"
        )
    return DeclaredQueue(
        name,
        attributes,
        _converted(table.get(TAGS, {}), dict[str, str], f"{place}: {TAGS}"),
        _converted(table.get(DEAD_LETTERS), DeadLetters | None, f"{place}: {DEAD_LETTERS}"),
    )


def _text(name: str, value: Any, place: str) -> str:
    """The value as a text of the wire."""
    form = _FORMS.get(name)
    if form is None:
        near = difflib.get_close_matches(name, [*_FORMS, TAGS, DEAD_LETTERS], n=1)
        remedy = f"did you mean {near[0]}?" if near else "the reference lists all of them"
        raise DeclarationInvalid(place, "no such attribute", remedy)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | str):
        return str(value)
    if isinstance(value, dict) and form in _JSON_FORMS:
        return msgspec.json.encode(value).decode()
    raise DeclarationInvalid(place, f"{value!r} is no value of an attribute")


def _converted(value: Any, kind: Any, place: str) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise DeclarationInvalid(place, str(error)) from None


def _lines(queue: DeclaredQueue) -> Iterator[str]:
    yield f"[{QUEUES}.{_quoted(queue.name)}]"
    for name, text in queue.attributes.items():
        if name != FIFO_QUEUE or not queue.name.endswith(FIFO_SUFFIX):
            yield f"{name} = {_bare(name, text)}"
    letters = queue.dead_letters
    if letters:
        yield (
            f"{DEAD_LETTERS} = "
            f"{{ queue = {_quoted(letters.queue)}, maxReceiveCount = {letters.receives_max} }}"
        )
    if queue.tags:
        tags = ", ".join(f"{_quoted(key)} = {_quoted(tag)}" for key, tag in queue.tags.items())
        yield f"{TAGS} = {{ {tags} }}"


def _bare(name: str, text: str) -> str:
    """The value in TOML; numbers and flags have no quotes."""
    form = _FORMS.get(name)
    if form in ("seconds", "number") and text.isascii() and text.isdecimal():
        return str(int(text))
    return text if form == "flag" and text in ("true", "false") else _quoted(text)


def _quoted(text: str) -> str:
    """The text as a TOML string, which is a JSON string with DEL escaped."""
    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")
