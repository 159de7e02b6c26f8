"""The page on queue policies, generated from the tables that read and evaluate them."""

from collections.abc import Iterator
from typing import Final

from dovemq.core import limits
from dovemq.sqs.conditions import FOR_ALL, FOR_ANY, IF_EXISTS, OPERATORS
from dovemq.sqs.context import ABSENT, KEYS, VARIABLES
from dovemq.sqs.rights import MENDING, NEEDED, OF_NO_QUEUE, SHARED
from tools.markdown import code, page, section, table

KINDS: Final = {
    "text": "text",
    "arn": "ARN",
    "address": "address",
    "date": "date",
    "moment": "date or number",
    "flag": "true, false",
}

COMPARED: Final = (
    (frozenset(KINDS), "any key"),
    (frozenset(("moment",)), "numbers"),
    (frozenset(("date", "moment")), "dates"),
    (frozenset(("flag",)), "true, false"),
    (frozenset(("address",)), "addresses with networks"),
    (frozenset(("arn",)), "ARNs, part by part, with wildcards"),
    (frozenset[str](), "base64; no key has such a value"),
)

ELEMENTS: Final = """
- `Version`: `2008-10-17`, the default, or `2012-10-17`. `Id`: any text.
- `Statement`: one or a list. `Sid`: its name, which must be unique. `Effect`: `Allow` or `Deny`.
- `Principal`: `"*"`, or `{"AWS": …}` with `*`, twelve digits or `arn:aws:iam::ACCOUNT:root`, one or
  a list. Users, roles, `Service`, `Federated` and `CanonicalUser` are accepted and match nobody,
  because all callers are accounts here. `NotPrincipal` is for `Deny`.
- `Action`, `NotAction`: `*` or `sqs:NAME`, upper or lower case, with wildcards. The name of an
  operation also covers its batch.
- `Resource`, `NotResource`: `*` or the ARN of a queue, with wildcards in each of its parts; parts
  may be missing at its end. Any other text is stored too, and matches nothing.
- `Condition`: operators, keys, values; see below.

`*` matches any number of characters, `?` any one character. In version `2012-10-17` a resource and
the values of `String…` and `Arn…` operators may have variables, `${KEY}`, of the keys that are
marked below, and `${*}`, `${?}` and `${$}` for these characters themselves.
"""

MISSING: Final = f"""
Each operator except `Null` may end in `{IF_EXISTS}` and begin with `{FOR_ALL}` or `{FOR_ANY}`. One
of several values is enough; for a negated operator none may match. All conditions of a statement
must be true.

If a request has no value for a key, negated operators are true and others are false; with
`{IF_EXISTS}` and `{FOR_ALL}` they are true, with `{FOR_ANY}` they are false. So `{FOR_ALL}` in an
`Allow` allows all requests that lack the key.
"""


def policies_page() -> str:
    return page(
        "Queue policies",
        "A queue's policy is set as the attribute `Policy`, or statement by statement with "
        "AddPermission. A `Deny` that applies wins. Otherwise the owner is allowed, and another "
        "account is allowed if an `Allow` applies to it. A policy with an unknown element is "
        "refused as a whole when it is set. A change applies to the requests after it.",
        section("Elements", ELEMENTS),
        section(
            "Rights",
            "Some operations need more than the right of their own name. Other accounts cannot use "
            "the rights of the owner, whatever a policy says. The rights that repair a policy "
            "cannot be denied to the owner.",
            table(("operation", "rights it needs", "who can have it"), _operations()),
        ),
        section("Operators", table(("operator", "compares", "negated"), _operators()), MISSING),
        section("Keys", table(("key", "value", "what it is", "variable"), _keys()), _absent()),
        section("Bounds", table(("of a policy", "at most"), _bounds())),
    )


def _operations() -> Iterator[tuple[str, str, str]]:
    for name, rights in NEEDED.items():
        who = "other accounts too" if set(rights) <= SHARED else "the owner"
        if name in MENDING:
            who += "; never denied to the owner"
        if name in OF_NO_QUEUE:
            who = "every account, for itself; no policy applies"
        yield code(name), ", ".join(map(code, rights)), who


def _operators() -> Iterator[tuple[str, str, str]]:
    for operator in OPERATORS.values():
        [compared] = [shown for kinds, shown in COMPARED if kinds == operator.suits]
        yield code(operator.name), compared, "yes" if operator.negated else ""


def _keys() -> Iterator[tuple[str, str, str, str]]:
    for name, key in KEYS.items():
        yield code(key.name), KINDS[key.kind], key.meaning, "yes" if name in VARIABLES else ""
    yield code("aws:ResourceTag/TAG"), KINDS["text"], "a tag of the queue, if it has it", ""


def _absent() -> str:
    listed = ", ".join(map(code, [*ABSENT, "aws:PrincipalTag/…"]))
    return (
        f"These keys are accepted and never have a value: {listed}; and keys of other services. "
        "`aws:RequestTag/…`, `aws:TagKeys` and all other keys of `aws:` or `sqs:` are refused. "
        "Upper and lower case do not differ in keys."
    )


def _bounds() -> Iterator[tuple[str, str]]:
    yield "bytes", f"{limits.POLICY_BYTES_MAX:,}"
    yield "statements", str(limits.POLICY_STATEMENTS_MAX)
    yield "principals", str(limits.POLICY_PRINCIPALS_MAX)
    yield "conditions", str(limits.POLICY_CONDITIONS_MAX)
    yield "actions of a statement", str(limits.PERMISSION_ACTIONS_MAX)
    yield "wildcards `?`", str(limits.POLICY_SINGLE_WILDCARDS_MAX)
