"""A queue's policy as values: its statements, and the requests that each of them covers.

`policies` reads them from text, and `authorisation` decides by them.
"""

from msgspec import Struct

from dovemq.sqs.conditions import Condition
from dovemq.sqs.context import AccessRequest
from dovemq.sqs.patterns import ArnPattern


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
