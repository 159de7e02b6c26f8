"""A queue's policy: its statements, and their reading from JSON text with errors in words.

An unknown element, operator or key makes the whole text invalid: a statement that is understood in
part would allow or deny the wrong accounts. The text itself is stored as it is.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from dovemq.core import limits
from dovemq.core.errors import InvalidAttribute, InvalidValue, LimitReached
from dovemq.sqs.arns import ACCOUNT
from dovemq.sqs.conditions import Condition, cut, read_condition
from dovemq.sqs.context import VARIABLES, AccessRequest
from dovemq.sqs.patterns import ArnPattern, read_arn, read_pattern
from dovemq.sqs.rights import OF_NO_QUEUE, RIGHTS, SHARED, right_named

OLD_VERSION: Final = "2008-10-17"
NEW_VERSION: Final = "2012-10-17"
"""The first version in which `${key}` in a resource or a condition is a variable."""

_ANYONE: Final = "*"
_PREFIX: Final = "sqs:"
_PRINCIPAL_ARN: Final = re.compile(
    r"arn:aws[a-z-]*:(?:iam|sts)::(\d{12}):(?:(root)|[a-z-]+/[!-)+->@-~]+)", re.ASCII
)
"""The ARN of an account, or of a user, a role or a session of it."""
_UNIQUE_ID: Final = re.compile(r"A[A-Z0-9]{15,127}", re.ASCII)
"""The text that AWS writes for a user or role that was deleted."""
_PRINCIPAL_NAME: Final = re.compile(r"[!-)+->@-~]{1,2048}", re.ASCII)
_PRINCIPAL_KINDS: Final = ("AWS", "Service", "Federated", "CanonicalUser")
_POLICY_ELEMENTS: Final = ("Version", "Id", "Statement")
_STATEMENT_ELEMENTS: Final = (
    "Sid", "Effect", "Principal", "NotPrincipal", "Action", "NotAction", "Resource",
    "NotResource", "Condition",
)  # fmt: skip


class Principals(Struct, frozen=True):
    """The accounts that a statement covers. Principals that are no accounts are only counted."""

    anyone: bool
    accounts: frozenset[str]
    count: int
    negated: bool = False

    def cover(self, account: str) -> bool:
        return (self.anyone or account in self.accounts) != self.negated


class Resources(Struct, frozen=True):
    patterns: tuple[ArnPattern, ...]
    negated: bool = False

    def cover(self, asked: AccessRequest) -> bool:
        found = any(each.matches(asked.arn, asked.filled) for each in self.patterns)
        return found != self.negated


class Statement(Struct, frozen=True):
    """A statement; `rights` are those that its Action or NotAction stands for."""

    name: str
    denies: bool
    principals: Principals
    rights: frozenset[str]
    resources: Resources
    conditions: tuple[Condition, ...] = ()

    def mismatch(self, asked: AccessRequest) -> "str | Condition | None":
        """The first element that does not cover the request; None if all do."""
        if not self.principals.cover(asked.account):
            return "principal"
        if asked.right not in self.rights:
            return "action"
        if not self.resources.cover(asked):
            return "resource"
        return next((each for each in self.conditions if not each.holds(asked)), None)


class Policy(Struct, frozen=True):
    statements: tuple[Statement, ...]


def checked_policy(text: str, owner: str) -> str | None:
    """The text, if it is a valid policy for a queue of that account; None if it is empty."""
    if not text:
        return None
    read_policy(text, owner)
    return text


def read_policy(text: str, owner: str) -> Policy:
    if len(text.encode("utf-8", "replace")) > limits.POLICY_BYTES_MAX:
        raise LimitReached("Submitted policy is over max allowed size.")
    document = _elements(_json(text), "the policy", _POLICY_ELEMENTS)
    _check_texts(document, "the policy", ("Version", "Id"))
    version = document.get("Version", OLD_VERSION)
    if version not in (OLD_VERSION, NEW_VERSION):
        raise _invalid(f"Version is {OLD_VERSION} or {NEW_VERSION}.")
    found = document.get("Statement")
    if found is None:
        raise _invalid("it has no Statement.")
    given = found if isinstance(found, list) else [found]
    _bound("statements", len(given), limits.POLICY_STATEMENTS_MAX)
    _bound("wildcards ?", text.count("?"), limits.POLICY_SINGLE_WILDCARDS_MAX)
    variables = VARIABLES if version == NEW_VERSION else None
    statements = [
        _StatementReader(number, each, variables).read(owner)
        for number, each in enumerate(given, 1)
    ]
    names = [each.get("Sid") for each in given if each.get("Sid")]
    if len(set(names)) < len(names):
        raise _invalid("two statements have the same Sid.")
    _bound(
        "principals",
        sum(each.principals.count for each in statements),
        limits.POLICY_PRINCIPALS_MAX,
    )
    _bound(
        "conditions", sum(len(each.conditions) for each in statements), limits.POLICY_CONDITIONS_MAX
    )
    return Policy(tuple(statements))


class _StatementReader:
    """Reads one statement; every error names its place."""

    def __init__(self, number: int, found: Any, variables: frozenset[str] | None) -> None:
        self._place = f"statement {number}"
        self._variables = variables
        self._homes: set[str] = set()
        """The accounts of all principals, users and roles included."""
        self._found = _elements(found, self._place, _STATEMENT_ELEMENTS)
        _check_texts(self._found, self._place, ("Sid", "Effect"))

    def read(self, owner: str) -> Statement:
        found = self._found
        effect = found.get("Effect")
        if effect not in ("Allow", "Deny"):
            raise self._invalid("Effect is Allow or Deny")
        denies = effect == "Deny"
        principals = self._principals(denies=denies)
        rights = self._rights(owner, denies=denies)
        return Statement(
            found.get("Sid") or self._place,
            denies,
            principals,
            rights,
            self._resources(),
            self._conditions(),
        )

    def _principals(self, *, denies: bool) -> Principals:
        element, found = self._one_of("Principal", "NotPrincipal")
        negated = element == "NotPrincipal"
        if negated and not denies:
            raise self._invalid("NotPrincipal is for Deny")
        if found == _ANYONE:
            return Principals(True, frozenset(), 1, negated)
        if not isinstance(found, dict) or not found:
            raise self._invalid(f'{element} is "*" or an object such as {{"AWS": ACCOUNT}}')
        anyone, accounts, count = False, set(), 0
        for kind, names in found.items():
            if kind not in _PRINCIPAL_KINDS:
                raise self._invalid(f"{cut(kind)} is no kind of {element}")
            for name in self._texts(f"{element}.{kind}", names):
                count += 1
                if kind == "AWS" and name == _ANYONE:
                    anyone = True
                elif kind == "AWS":
                    accounts |= self._account(name)
                elif not _PRINCIPAL_NAME.fullmatch(name):
                    raise self._invalid(f"{cut(name)} is no principal")
        return Principals(anyone, frozenset(accounts), count, negated)

    def _account(self, name: str) -> set[str]:
        """The account; none for users and roles, which this service does not have."""
        if ACCOUNT.fullmatch(name):
            self._homes.add(name)
            return {name}
        found = _PRINCIPAL_ARN.fullmatch(name)
        if found is None and not _UNIQUE_ID.fullmatch(name):
            raise self._invalid(f"{cut(name)} is no principal")
        if found is not None:
            self._homes.add(found[1])
        return {found[1]} if found is not None and found[2] else set()

    def _rights(self, owner: str, *, denies: bool) -> frozenset[str]:
        element, found = self._one_of("Action", "NotAction")
        actions = self._texts(element, found)
        if len(actions) > limits.PERMISSION_ACTIONS_MAX:
            raise LimitReached(
                f"{len(actions)} actions were found in a statement from the submitted policy, "
                f"max allowed is {limits.PERMISSION_ACTIONS_MAX}"
            )
        rights = frozenset[str]().union(*(self._rights_of(each) for each in actions))
        named = rights & {right_named(each.partition(":")[2]) for each in actions}
        if element == "NotAction":
            return RIGHTS - rights
        if denies and named & OF_NO_QUEUE:
            right = min(named & OF_NO_QUEUE)
            raise self._invalid(f"{right} is not about a queue, so that no queue can deny it")
        if not denies and named - SHARED and self._homes - {owner}:
            right = min(named - SHARED)
            raise self._invalid(f"{right} is the owner's, and not given to other accounts")
        return rights

    def _rights_of(self, action: str) -> frozenset[str]:
        name = action if action == _ANYONE else action[len(_PREFIX) :]
        of_sqs = action == _ANYONE or action.lower().startswith(_PREFIX)
        pattern = read_pattern(name, wildcards=True, any_case=True)
        rights = frozenset(each for each in RIGHTS if pattern.matches(each, str))
        if not of_sqs or not rights:
            # Batches have no rights of their own: their single forms stand for them.
            raise InvalidValue(
                "ActionName",
                cut(action),
                "Please refer to the appropriate WSDL for a list of valid actions.",
            )
        return rights

    def _resources(self) -> Resources:
        element, found = self._one_of("Resource", "NotResource")
        patterns = tuple(self._resource(text) for text in self._texts(element, found))
        return Resources(patterns, element == "NotResource")

    def _resource(self, text: str) -> ArnPattern:
        whole = "arn:*:sqs" if text == _ANYONE else text
        try:
            return read_arn(whole, variables=self._variables, shortened=True)
        except ValueError as error:
            raise self._invalid(f"{cut(text)} is no resource: {error}") from None

    def _conditions(self) -> tuple[Condition, ...]:
        found = self._found.get("Condition", {})
        if not isinstance(found, dict) or not all(isinstance(e, dict) for e in found.values()):
            raise self._invalid("Condition is an object of operators, each an object of keys")
        return tuple(
            self._condition(operator, key, values)
            for operator, keys in found.items()
            for key, values in keys.items()
        )

    def _condition(self, operator: str, key: str, values: Any) -> Condition:
        texts = tuple(self._scalars(f"Condition.{cut(operator)}.{cut(key)}", values))
        try:
            return read_condition(operator, key, texts, self._variables)
        except ValueError as error:
            raise self._invalid(str(error)) from None

    def _one_of(self, element: str, negated: str) -> tuple[str, Any]:
        given = [name for name in (element, negated) if name in self._found]
        if len(given) != 1:
            raise self._invalid(f"it needs {element} or {negated}, and not both")
        return given[0], self._found[given[0]]

    def _texts(self, element: str, found: Any) -> list[str]:
        given = found if isinstance(found, list) else [found]
        if not given or not all(isinstance(each, str) and each for each in given):
            raise self._invalid(f"{element} is a text or a list of texts")
        return given

    def _scalars(self, element: str, found: Any) -> list[str]:
        """The values as texts; numbers and booleans need no quotes."""
        given = found if isinstance(found, list) else [found]
        if not given or not all(isinstance(each, str | int | float) for each in given):
            raise self._invalid(f"{element} is a value or a list of values")
        return [each if isinstance(each, str) else json.dumps(each) for each in given]

    def _invalid(self, reason: str) -> InvalidAttribute:
        return _invalid(f"{self._place}: {reason}.")


def _json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_distinct, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise _invalid("it is not JSON, or a name in it stands twice.") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a name that occurs twice: `json` would drop the first."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _no_constant(_: str) -> None:
    """Refuse NaN and Infinity, which are not JSON."""
    raise ValueError


def _elements(found: Any, place: str, known: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise _invalid(f"{place} is not a JSON object.")
    for name in found:
        if name not in known:
            raise _invalid(f"{place}: {cut(name)} is no element of it.")
    return found


def _check_texts(found: Mapping[str, Any], place: str, names: tuple[str, ...]) -> None:
    for name in names:
        if not isinstance(found.get(name, ""), str):
            raise _invalid(f"{place}: {name} is not a text.")


def _bound(what: str, count: int, count_max: int) -> None:
    if count > count_max:
        raise LimitReached(
            f"{count} {what} were found in the submitted policy, max allowed is {count_max}"
        )


def _invalid(reason: str) -> InvalidAttribute:
    return InvalidAttribute("policy", reason)
