"""Conditions of a policy's statement: the operators, their values, and the test of a request.

A condition that cannot be evaluated is refused when the policy is set: an unknown operator or key,
a value in the wrong form, an operator that cannot compare the key's values. So every condition that
was read is either true or false for a request.
"""

import base64
import binascii
import datetime
import decimal
import ipaddress
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

import msgspec
from msgspec import Struct

from dovemq.sqs.context import KEYS, RESOURCE_TAG, AccessRequest, Kind, key_problem
from dovemq.sqs.patterns import ArnPattern, TextPattern, read_arn, read_pattern

FOR_ALL: Final = "ForAllValues:"
FOR_ANY: Final = "ForAnyValue:"
IF_EXISTS: Final = "IfExists"
_NUMBER_LENGTH_MAX: Final = 40
_DATE_LENGTH_MAX: Final = 40
_SHOWN_LENGTH_MAX: Final = 64

Variables = frozenset[str] | None
Read = Callable[[str, Variables], Any]
Test = Callable[[Any, Any, AccessRequest], bool]
"""Whether a value of the policy matches the value of the request; both are read already."""


class Operator(Struct, frozen=True):
    """A condition operator; `suits` are the kinds of keys whose values it can compare."""

    name: str
    suits: frozenset[Kind]
    read: Read
    given: Callable[[str], Any]
    """Reads the value of the request, once for all values of the policy."""
    test: Test
    negated: bool = False


class Condition(Struct, frozen=True):
    """True if any of `values` matches; `written` and `key` are as in the policy."""

    written: str
    key: str
    operator: Operator
    quantifier: str
    if_exists: bool
    values: tuple[Any, ...]
    texts: tuple[str, ...]

    def holds(self, asked: AccessRequest) -> bool:
        value = asked.value(self.key.lower())
        if self.operator is NULL:
            return (value is None) in self.values
        if value is None:
            if self.if_exists or self.quantifier:
                return self.if_exists or self.quantifier == FOR_ALL
            return self.operator.negated
        test, given = self.operator.test, self.operator.given(value)
        return any(test(each, given, asked) for each in self.values) != self.operator.negated

    def __str__(self) -> str:
        shown = ", ".join(self.texts)
        return f"{self.written} {self.key} {cut(shown)}"


def read_condition(
    written: str, key: str, texts: tuple[str, ...], variables: Variables
) -> Condition:
    """Read a condition; a ValueError says what is wrong with it."""
    found, quantifier, if_exists = _read_operator(written)
    lower = key.lower()
    problem = key_problem(lower)
    if problem is not None:
        raise ValueError(f"the key {cut(key)} {problem}")
    known = KEYS.get(lower)
    kind = known.kind if known else "text" if lower.startswith(RESOURCE_TAG) else None
    if kind is not None and kind not in found.suits:
        raise ValueError(f"{cut(key)} cannot be compared by {found.name}")
    values = tuple(_read_value(found, text, variables) for text in texts)
    return Condition(written, key, found, quantifier, if_exists, values, texts)


def _read_operator(written: str) -> tuple[Operator, str, bool]:
    name, quantifier = written, ""
    for each in (FOR_ALL, FOR_ANY):
        if name.startswith(each):
            name, quantifier = name.removeprefix(each), each
    if_exists = name.endswith(IF_EXISTS)
    found = OPERATORS.get(name.removesuffix(IF_EXISTS))
    if found is None or (found is NULL and written != NULL.name):
        raise ValueError(f"{cut(written)} is no condition operator")
    return found, quantifier, if_exists


def _read_value(found: Operator, text: str, variables: Variables) -> Any:
    try:
        return found.read(text, variables)
    except (ValueError, ArithmeticError) as error:
        # Only our own errors have a text for users.
        why = f": {error}" if found.test is _matches else ""
        raise ValueError(f"{cut(text)} is no value for {found.name}{why}") from None


def cut(text: str) -> str:
    """The text for an error, shortened."""
    return text if len(text) <= _SHOWN_LENGTH_MAX else text[:_SHOWN_LENGTH_MAX] + "…"


def _read_number(text: str, _: Variables) -> decimal.Decimal:
    number = decimal.Decimal(text) if len(text) <= _NUMBER_LENGTH_MAX else None
    if number is None or not number.is_finite():
        raise ValueError
    return number


def _read_date(text: str, _: Variables) -> float:
    """Seconds since 1970, of a number or an ISO 8601 date; a date without a zone is in UTC."""
    if len(text) > _DATE_LENGTH_MAX:
        raise ValueError
    if text.isascii() and text.isdigit():
        return float(text)
    moment = datetime.datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return moment.timestamp()


def _read_flag(text: str, _: Variables) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError
    return text.lower() == "true"


def _read_binary(text: str, _: Variables) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError from None


def _read_network(text: str, _: Variables) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_network(text, strict=False)


def _read_text(*, wildcards: bool, any_case: bool = False) -> Read:
    return lambda text, variables: read_pattern(
        text, wildcards=wildcards, variables=variables, any_case=any_case
    )


def _read_arn(text: str, variables: Variables) -> ArnPattern:
    return read_arn(text, variables=variables, shortened=False)


def _matches(pattern: TextPattern | ArnPattern, value: str, asked: AccessRequest) -> bool:
    return pattern.matches(value, asked.filled)


def _contains(wanted: Any, given: Any, _: AccessRequest) -> bool:
    return given in wanted


def _by(compare: Callable[[Any, Any], bool]) -> Test:
    return lambda wanted, given, _: compare(given, wanted)


def _pair(
    names: tuple[str, str],
    suits: frozenset[Kind],
    read: Read,
    given: Callable[[str], Any],
    test: Test,
) -> list[Operator]:
    """An operator and its negation."""
    plain, negated = (Operator(name, suits, read, given, test) for name in names)
    return [plain, msgspec.structs.replace(negated, negated=True)]


def _matching(names: tuple[str, str], suits: frozenset[Kind], read: Read) -> list[Operator]:
    return _pair(names, suits, read, str, _matches)


def _ordered(family: str, suits: frozenset[Kind], read: Read) -> list[Operator]:
    def given(value: str) -> Any:
        return read(value, None)

    equal = (f"{family}Equals", f"{family}NotEquals")
    return [
        *_pair(equal, suits, read, given, _by(operator.eq)),
        Operator(f"{family}LessThan", suits, read, given, _by(operator.lt)),
        Operator(f"{family}LessThanEquals", suits, read, given, _by(operator.le)),
        Operator(f"{family}GreaterThan", suits, read, given, _by(operator.gt)),
        Operator(f"{family}GreaterThanEquals", suits, read, given, _by(operator.ge)),
    ]


_EVERY: Final[frozenset[Kind]] = frozenset(get_args(Kind))
_ARN: Final[frozenset[Kind]] = frozenset(("arn",))
_ADDRESS: Final[frozenset[Kind]] = frozenset(("address",))
_FLAG: Final[frozenset[Kind]] = frozenset(("flag",))
_NO_KIND: Final[frozenset[Kind]] = frozenset()
_EXACT: Final = _read_text(wildcards=False)
_ANY_CASE: Final = _read_text(wildcards=False, any_case=True)
_LIKE: Final = _read_text(wildcards=True)

NULL: Final = Operator("Null", _EVERY, _read_flag, str, _by(operator.eq))
"""Tests whether the request has a value."""

_ALL: Final = (
    *_matching(("StringEquals", "StringNotEquals"), _EVERY, _EXACT),
    *_matching(("StringEqualsIgnoreCase", "StringNotEqualsIgnoreCase"), _EVERY, _ANY_CASE),
    *_matching(("StringLike", "StringNotLike"), _EVERY, _LIKE),
    *_ordered("Numeric", frozenset(("moment",)), _read_number),
    *_ordered("Date", frozenset(("date", "moment")), _read_date),
    Operator("Bool", _FLAG, _read_flag, "true".__eq__, _by(operator.eq)),
    Operator("BinaryEquals", _NO_KIND, _read_binary, base64.b64decode, _by(operator.eq)),
    *_pair(("IpAddress", "NotIpAddress"), _ADDRESS, _read_network, ipaddress.ip_address, _contains),
    *_matching(("ArnEquals", "ArnNotEquals"), _ARN, _read_arn),
    *_matching(("ArnLike", "ArnNotLike"), _ARN, _read_arn),
    NULL,
)
OPERATORS: Final[Mapping[str, Operator]] = {each.name: each for each in _ALL}
