"""Queue declarations in ElasticMQ's configuration file, translated into DoveMQ's.

This module owns the names of ElasticMQ's keys. Keys that DoveMQ does not support are listed.
"""

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from msgspec import Struct

from dovemq.cli.hocon import SUBSTITUTION, HoconInvalid, parse_hocon
from dovemq.core.limits import FIFO_SUFFIX
from dovemq.settings import DeclarationInvalid
from dovemq.sqs.declared import FIFO_QUEUE, DeadLetters, DeclaredQueue

_DURATIONS: Final = {
    "defaultVisibilityTimeout": "VisibilityTimeout",
    "delay": "DelaySeconds",
    "receiveMessageWait": "ReceiveMessageWaitTimeSeconds",
}
_FIFO: Final = "fifo"
_BY_CONTENT: Final = "contentBasedDeduplication"
_DEAD_LETTERS: Final = "deadLettersQueue"
_TAGS: Final = "tags"
_KNOWN: Final = frozenset((*_DURATIONS, _FIFO, _BY_CONTENT, _DEAD_LETTERS, _TAGS))
_WITHOUT_MEANING: Final = frozenset(("created", "lastModified"))
"""Keys that ElasticMQ writes into its own files, without an effect on a queue."""
_ITS_OWN_DEFAULTS: Final = re.compile(r"classpath\(\"?application(\.conf)?\"?\)|application")

_DURATION: Final = re.compile(r"([+-]?[0-9]+(?:\.[0-9]+)?)\s*([a-z]*)")
_UNIT_SECONDS: Final[Mapping[str, Fraction]] = {
    unit: Fraction(numerator, denominator)
    for units, numerator, denominator in (
        (("ns", "nano", "nanos", "nanosecond", "nanoseconds"), 1, 1_000_000_000),
        (("us", "micro", "micros", "microsecond", "microseconds"), 1, 1_000_000),
        (("", "ms", "milli", "millis", "millisecond", "milliseconds"), 1, 1_000),
        (("s", "second", "seconds"), 1, 1),
        (("m", "minute", "minutes"), 60, 1),
        (("h", "hour", "hours"), 3_600, 1),
        (("d", "day", "days"), 86_400, 1),
    )
    for unit in units
}


class Imported(Struct, frozen=True):
    """The queues of a file. `unsupported` names the keys that DoveMQ does not support."""

    queues: list[DeclaredQueue]
    unsupported: list[str]


def read_elasticmq(text: str, file: str) -> Imported:
    try:
        document = parse_hocon(text)
    except HoconInvalid as error:
        raise DeclarationInvalid(file, str(error)) from None
    tables = document.root.get("queues", {})
    if not isinstance(tables, dict):
        raise DeclarationInvalid(f"{file}: queues", "not a block of queues")
    unsupported = [
        f"include {each}" for each in document.includes if not _ITS_OWN_DEFAULTS.fullmatch(each)
    ]
    names = {name: _full_name(name, table, file) for name, table in tables.items()}
    queues = []
    for name, table in tables.items():
        queues.append(_queue(names, name, table, f"{file}: queue {name}"))
        unsupported += _unsupported(name, table)
    return Imported(queues, unsupported)


def seconds(text: str, place: str) -> int:
    """The seconds of a HOCON duration. A number without a unit means milliseconds."""
    found = _DURATION.fullmatch(text.strip())
    unit = _UNIT_SECONDS.get(found[2]) if found else None
    if found is None or unit is None:
        raise DeclarationInvalid(place, f"{text!r} is not a duration such as 10 seconds")
    amount = Fraction(found[1]) * unit
    if amount.denominator != 1 or amount < 0:
        raise DeclarationInvalid(
            place, f"{text!r} means {float(amount):g} seconds", "write a whole number of seconds"
        )
    return int(amount)


def _full_name(name: str, table: Any, file: str) -> str:
    """The queue's name. ElasticMQ adds the suffix `.fifo` to FIFO queues that lack it."""
    place = f"{file}: queue {name}"
    if not isinstance(table, dict):
        raise DeclarationInvalid(place, "not a block", "write NAME { }")
    fifo = _switch(table, _FIFO, place)
    return name + FIFO_SUFFIX if fifo and not name.endswith(FIFO_SUFFIX) else name


def _queue(names: Mapping[str, str], key: str, table: dict[str, Any], place: str) -> DeclaredQueue:
    name = names[key]
    attributes = {
        attribute: str(seconds(_text(table, each, place), f"{place}: {each}"))
        for each, attribute in _DURATIONS.items()
        if each in table
    }
    if name.endswith(FIFO_SUFFIX):
        attributes[FIFO_QUEUE] = "true"
        if _BY_CONTENT in table:
            by_content = _switch(table, _BY_CONTENT, place)
            attributes["ContentBasedDeduplication"] = "true" if by_content else "false"
    return DeclaredQueue(name, attributes, _tags(table, place), _letters(names, table, place))


def _letters(names: Mapping[str, str], table: dict[str, Any], place: str) -> DeadLetters | None:
    if _DEAD_LETTERS not in table:
        return None
    place = f"{place}: {_DEAD_LETTERS}"
    letters = _block(table, _DEAD_LETTERS, place)
    target = _text(letters, "name", place)
    count = _text(letters, "maxReceiveCount", place)
    if not count.isdecimal():
        raise DeclarationInvalid(f"{place}: maxReceiveCount", f"{count!r} is not a whole number")
    return DeadLetters(names.get(target, target), int(count))


def _tags(table: dict[str, Any], place: str) -> dict[str, str]:
    if _TAGS not in table:
        return {}
    place = f"{place}: {_TAGS}"
    return {key: _text(tags, key, place) for tags in [_block(table, _TAGS, place)] for key in tags}


def _unsupported(name: str, table: dict[str, Any]) -> Iterator[str]:
    for key in table:
        if key not in _KNOWN | _WITHOUT_MEANING:
            yield f"queue {name}: {key}"
    letters = table.get(_DEAD_LETTERS, {})
    for key in letters:
        if key not in ("name", "maxReceiveCount"):
            yield f"queue {name}: {_DEAD_LETTERS}: {key}"


def _block(table: dict[str, Any], key: str, place: str) -> dict[str, Any]:
    value = table[key]
    if not isinstance(value, dict):
        raise DeclarationInvalid(place, "not a block")
    return value


def _text(table: dict[str, Any], key: str, place: str) -> str:
    value = table.get(key)
    if not isinstance(value, str):
        raise DeclarationInvalid(f"{place}: {key}", "missing" if value is None else "not a value")
    if SUBSTITUTION in value:
        raise DeclarationInvalid(
            f"{place}: {key}", f"{value}: substitutions are not supported", "write the value itself"
        )
    return value


def _switch(table: dict[str, Any], key: str, place: str) -> bool:
    if key not in table:
        return False
    if not isinstance(table[key], str):
        raise DeclarationInvalid(
            f"{place}: {key}", "not true or false", "put names with a period in quotes"
        )
    text = _text(table, key, place)
    if text not in ("true", "yes", "on", "false", "no", "off"):
        raise DeclarationInvalid(f"{place}: {key}", f"{text!r} is not true or false")
    return text in ("true", "yes", "on")
