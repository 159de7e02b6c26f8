"""Authorisation of a request on a queue, and the explanation of the decision.

A statement that denies wins. Otherwise the owner is allowed, and other accounts are allowed if a
statement allows them. No statement changes two things: the owner can always repair the policy, and
rights that belong to the owner alone are not given to other accounts.
"""

import enum
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from dovemq.core.errors import RequestError
from dovemq.core.queue import Queue
from dovemq.sqs.arns import QueueNames
from dovemq.sqs.conditions import Condition
from dovemq.sqs.context import AccessRequest, Context
from dovemq.sqs.policies import Policy, Statement, read_policy
from dovemq.sqs.rights import MENDING, NEEDED, OF_NO_QUEUE, SHARED

POLICIES_LENGTH_MAX: Final = 500_000
"""Characters of all policies that are cached in decoded form."""


class AccessDecision(Struct, frozen=True):
    """`statement` is the name of the statement that decided; `steps` has one line for each."""

    allowed: bool
    reason: str
    statement: str | None = None
    steps: tuple[str, ...] = ()


class DecisionReason(enum.Enum):
    """The reason of a decision; `{}` stands for the right."""

    REPAIRS = "the owner can always use {}, so that a policy can be repaired"
    FREE = "every account may use {} for its own queues"
    OWNERS = "{} is for the owner alone, whatever the policy says"
    UNREADABLE = "the policy cannot be read, so that its owner can only repair it"
    DENIED = "a statement denies {}"
    OWNS = "the account owns the queue, and no statement denies {}"
    ALLOWED = "a statement allows {}, and none denies it"
    NOT_ALLOWED = "no statement allows {}, and the account does not own the queue"


_HELD: Final = (
    DecisionReason.REPAIRS,
    DecisionReason.FREE,
    DecisionReason.OWNS,
    DecisionReason.ALLOWED,
)


class Ruling(Struct, frozen=True):
    ground: DecisionReason
    statement: Statement | None = None

    @property
    def allowed(self) -> bool:
        return self.ground in _HELD


class Unreadable(Struct, frozen=True):
    """A policy that cannot be read; it allows nobody."""

    reason: str


class Judge:
    """Decides on requests of one region, and caches the policies that it has read."""

    def __init__(self, names: QueueNames) -> None:
        self._names = names
        self._policies: dict[tuple[str, str], Policy | Unreadable] = {}
        self._length = 0

    def allows(self, queue: Queue, account: str, operation: str, context: Context) -> bool:
        policy = self._policy(queue)
        return all(
            _rule(_asked(queue, account, right, context, self._names), policy).allowed
            for right in NEEDED[operation]
        )

    def _policy(self, queue: Queue) -> Policy | Unreadable | None:
        text = queue.settings.policy
        if text is None:
            return None
        place = (text, queue.key.account)
        found = self._policies.get(place)
        if found is None:
            found = _read(text, queue.key.account)
            self._keep(place, found)
        return found

    def _keep(self, place: tuple[str, str], policy: Policy | Unreadable) -> None:
        """The bound is a length, because a policy takes memory in proportion to its text."""
        length = len(place[0])
        if self._length + length > POLICIES_LENGTH_MAX:
            self._policies.clear()
            self._length = 0
        self._policies[place] = policy
        self._length += length


def explain(
    queue: Queue | None, account: str, operation: str, context: Context, names: QueueNames
) -> AccessDecision:
    """Whether the account may do that on the queue, and why. `queue` is None if it does not exist.

    `operation` is one of `rights.NEEDED`.
    """
    if queue is None and operation in OF_NO_QUEUE:
        return AccessDecision(True, DecisionReason.FREE.value.format(operation))
    if queue is None:
        return AccessDecision(False, "there is no such queue")
    text = queue.settings.policy
    policy = None if text is None else _read(text, queue.key.account)
    steps: list[str] = []
    for right in NEEDED[operation]:
        asked = _asked(queue, account, right, context, names)
        ruling = _rule(asked, policy)
        steps += _steps(asked, policy)
        if not ruling.allowed or right == NEEDED[operation][-1]:
            break
    name = ruling.statement.name if ruling.statement else None
    return AccessDecision(ruling.allowed, ruling.ground.value.format(right), name, tuple(steps))


def _asked(
    queue: Queue, account: str, right: str, context: Context, names: QueueNames
) -> AccessRequest:
    return AccessRequest(account, right, queue, names.arn(queue.key), names.region, context)


def _read(text: str, owner: str) -> Policy | Unreadable:
    try:
        return read_policy(text, owner)
    except RequestError as error:
        return Unreadable(str(error))


def _rule(asked: AccessRequest, policy: Policy | Unreadable | None) -> Ruling:
    owns = asked.account == asked.queue.key.account
    if owns and asked.right in MENDING:
        return Ruling(DecisionReason.REPAIRS)
    if owns and asked.right in OF_NO_QUEUE:
        return Ruling(DecisionReason.FREE)
    if not owns and asked.right not in SHARED:
        return Ruling(DecisionReason.OWNERS)
    if isinstance(policy, Unreadable):
        return Ruling(DecisionReason.UNREADABLE)
    allowing = None
    for statement in policy.statements if policy else ():
        if statement.mismatch(asked) is None:
            if statement.denies:
                return Ruling(DecisionReason.DENIED, statement)
            allowing = allowing or statement
    if owns:
        return Ruling(DecisionReason.OWNS)
    if allowing is not None:
        return Ruling(DecisionReason.ALLOWED, allowing)
    return Ruling(DecisionReason.NOT_ALLOWED)


def _steps(asked: AccessRequest, policy: Policy | Unreadable | None) -> Iterator[str]:
    if policy is None:
        yield f"{asked.right}: the queue has no policy"
    elif isinstance(policy, Unreadable):
        yield f"{asked.right}: {policy.reason}"
    else:
        for statement in policy.statements:
            yield f"{asked.right}: {_step(statement, asked)}"


def _step(statement: Statement, asked: AccessRequest) -> str:
    effect = "denies" if statement.denies else "allows"
    failed = statement.mismatch(asked)
    if failed is None:
        return f"{statement.name} {effect} it"
    if not isinstance(failed, Condition):
        return f"{statement.name} {effect} nothing here: its {failed} does not match"
    value = asked.value(failed.key.lower())
    found = "it is not there" if value is None else f"it is {value}"
    return f"{statement.name} {effect} nothing here: {failed} does not hold, {found}"
