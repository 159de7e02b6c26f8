"""Reading policies: valid ones, and the errors of invalid ones."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovemq.core.errors import InvalidAttribute, InvalidValue, LimitReached, RequestError
from dovemq.sqs.policies import Statement, checked_policy, read_policy
from dovemq.sqs.rights import RIGHTS, SHARED
from tests.unit.policy_world import ARN, FRIEND, OWNER, STRANGER, asked, policy, statement


def only(**elements: Any) -> Statement:
    [found] = read_policy(policy(statement(**elements)), OWNER).statements
    return found


def refusal(text: str) -> str:
    with pytest.raises(InvalidAttribute) as caught:
        read_policy(text, OWNER)
    assert caught.value.field == "policy"
    return caught.value.reason


@pytest.mark.parametrize(
    ("principal", "covered"),
    [
        ("*", {OWNER, FRIEND, STRANGER}),
        ({"AWS": "*"}, {OWNER, FRIEND, STRANGER}),
        ({"AWS": FRIEND}, {FRIEND}),
        ({"AWS": [FRIEND, f"arn:aws:iam::{OWNER}:root"]}, {OWNER, FRIEND}),
        ({"AWS": f"arn:aws:iam::{FRIEND}:user/ann"}, set()),
        ({"AWS": f"arn:aws:sts::{FRIEND}:assumed-role/worker/session"}, set()),
        ({"AWS": "AIDAJQABLZS4A3QDU576Q"}, set()),
        ({"Service": ["sns.amazonaws.com", "s3.amazonaws.com"]}, set()),
        ({"Federated": "cognito-identity.amazonaws.com", "AWS": STRANGER}, {STRANGER}),
        ({"CanonicalUser": "79a59df900b949e5"}, set()),
    ],
)
def test_principals_cover_accounts(principal: Any, covered: set[str]) -> None:
    allowing = only(Principal=principal).principals
    assert {each for each in (OWNER, FRIEND, STRANGER) if allowing.cover(each)} == covered
    denying = only(Effect="Deny", Principal=None, NotPrincipal=principal).principals
    assert {each for each in (OWNER, FRIEND, STRANGER) if not denying.cover(each)} == covered


@pytest.mark.parametrize(
    ("action", "rights"),
    [
        ("*", RIGHTS),
        ("sqs:*", RIGHTS),
        ("SQS:SendMessage", {"SendMessage"}),
        ("Sqs:sendmessage", {"SendMessage"}),
        (["sqs:SendMessage", "sqs:ReceiveMessage"], {"SendMessage", "ReceiveMessage"}),
        ("sqs:Get*", {"GetQueueAttributes", "GetQueueUrl"}),
        ("sqs:?etQueueAttributes", {"GetQueueAttributes", "SetQueueAttributes"}),
        ("sqs:*Message", {"DeleteMessage", "ReceiveMessage", "SendMessage"}),
    ],
)
def test_actions_stand_for_rights(action: Any, rights: set[str]) -> None:
    assert only(Action=action).rights == rights
    assert only(Action=None, NotAction=action).rights == RIGHTS - rights


@pytest.mark.parametrize(
    ("resource", "covers"),
    [
        (ARN, True),
        ("*", True),
        ("arn:aws:sqs", True),
        ("arn:aws:sqs:*:*:j?bs", True),
        (["arn:aws:sqs:*:*:other", ARN], True),
        ("arn:aws:sqs:us-east-1:${aws:ResourceAccount}:jobs", True),
        ("arn:aws:sqs:us-east-1:${aws:PrincipalAccount}:jobs", False),
        ("arn:aws:sqs:us-east-1:111111111111:Jobs", False),
        ("arn:aws:sqs:eu-west-1:111111111111:jobs", False),
        ("arn:aws-cn:sqs:us-east-1:111111111111:jobs", False),
    ],
)
def test_resources_cover_queues(resource: Any, covers: bool) -> None:
    assert only(Resource=resource).resources.cover(asked()) is covers
    assert only(Resource=None, NotResource=resource).resources.cover(asked()) is not covers


def test_variables_came_with_the_second_version() -> None:
    text = policy(statement(Resource="arn:aws:sqs:*:*:${aws:username}"), version="2008-10-17")
    [old] = read_policy(text, OWNER).statements
    assert not old.resources.cover(asked())


def test_one_statement_needs_no_list_and_the_version_may_be_left_out() -> None:
    text = json.dumps({"Id": "mine", "Statement": statement(Sid="a")})
    assert [each.name for each in read_policy(text, OWNER).statements] == ["a"]


def test_statement_without_a_name_goes_by_its_number() -> None:
    found = read_policy(policy(statement(Sid="a"), statement()), OWNER).statements
    assert [each.name for each in found] == ["a", "statement 2"]


def test_text_is_kept_as_it_came() -> None:
    text = policy(statement()).replace(" ", "\n  ")
    assert checked_policy(text, OWNER) == text
    assert checked_policy("", OWNER) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "it is not JSON, or a name in it stands twice."),
        ("[" * 5_000, "it is not JSON, or a name in it stands twice."),
        ('{"Statement": [], "Statement": []}', "it is not JSON, or a name in it stands twice."),
        ('{"Statement": NaN}', "it is not JSON, or a name in it stands twice."),
        ("[]", "the policy is not a JSON object."),
        ("{}", "it has no Statement."),
        (policy(version="2012-10-18"), "Version is 2008-10-17 or 2012-10-17."),
        (policy(Statements=[]), "the policy: Statements is no element of it."),
        (policy(Id=7), "the policy: Id is not a text."),
        (policy("x"), "statement 1 is not a JSON object."),
        (policy(statement(Sid="a"), statement(Sid="a")), "two statements have the same Sid."),
    ],
)
def test_document_that_is_not_understood_is_refused(text: str, reason: str) -> None:
    assert refusal(text) == reason


@pytest.mark.parametrize(
    ("elements", "reason"),
    [
        ({"Effect": None}, "Effect is Allow or Deny."),
        ({"Effect": "allow"}, "Effect is Allow or Deny."),
        ({"Effect": ["Allow"]}, "Effect is not a text."),
        ({"Sid": 3}, "Sid is not a text."),
        ({"Principle": "*"}, "Principle is no element of it."),
        ({"Principal": None}, "it needs Principal or NotPrincipal, and not both."),
        ({"NotPrincipal": "*"}, "it needs Principal or NotPrincipal, and not both."),
        ({"Principal": None, "NotPrincipal": "*"}, "NotPrincipal is for Deny."),
        ({"Principal": FRIEND}, 'Principal is "*" or an object such as {"AWS": ACCOUNT}.'),
        ({"Principal": {}}, 'Principal is "*" or an object such as {"AWS": ACCOUNT}.'),
        ({"Principal": {"Account": FRIEND}}, "Account is no kind of Principal."),
        ({"Principal": {"AWS": []}}, "Principal.AWS is a text or a list of texts."),
        ({"Principal": {"AWS": 222222222222}}, "Principal.AWS is a text or a list of texts."),
        ({"Principal": {"AWS": "ann"}}, "ann is no principal."),
        ({"Principal": {"AWS": "arn:aws:iam::2:root"}}, "arn:aws:iam::2:root is no principal."),
        ({"Principal": {"AWS": f"arn:aws:iam::{FRIEND}:user/*"}},
         f"arn:aws:iam::{FRIEND}:user/* is no principal."),
        ({"Principal": {"Service": "*"}}, "* is no principal."),
        ({"Action": None}, "it needs Action or NotAction, and not both."),
        ({"Action": []}, "Action is a text or a list of texts."),
        ({"Action": [""]}, "Action is a text or a list of texts."),
        ({"Action": "sqs:ListQueues"},
         "ListQueues is the owner's, and not given to other accounts."),
        ({"Action": "sqs:DeleteQueue", "Principal": {"AWS": f"arn:aws:iam::{FRIEND}:role/r"}},
         "DeleteQueue is the owner's, and not given to other accounts."),
        ({"Effect": "Deny", "Action": "sqs:CreateQueue"},
         "CreateQueue is not about a queue, so that no queue can deny it."),
        ({"Resource": None}, "it needs Resource or NotResource, and not both."),
        ({"Condition": []}, "Condition is an object of operators, each an object of keys."),
        ({"Condition": {"Bool": "true"}},
         "Condition is an object of operators, each an object of keys."),
        ({"Condition": {"Bool": {"aws:SecureTransport": []}}},
         "Condition.Bool.aws:SecureTransport is a value or a list of values."),
        ({"Condition": {"Bool": {"aws:SecureTransport": {}}}},
         "Condition.Bool.aws:SecureTransport is a value or a list of values."),
    ],
)  # fmt: skip
def test_statement_that_is_not_understood_is_refused(elements: Any, reason: str) -> None:
    assert refusal(policy(statement(**elements))) == f"statement 1: {reason}"


@pytest.mark.parametrize(
    "action",
    ["s3:GetObject", "SendMessage", "sqs:Send", "sqs:SendMessageBatch", "s*:*", "sqs:x*", "sqs:"],
)
def test_action_that_is_not_one_of_sqs_is_refused_in_its_words(action: str) -> None:
    with pytest.raises(InvalidValue, match="appropriate WSDL") as caught:
        read_policy(policy(statement(Action=action)), OWNER)
    assert (caught.value.field, caught.value.value) == ("ActionName", action)


@pytest.mark.parametrize("right", sorted(RIGHTS - SHARED))
def test_policy_may_name_rights_of_the_owner_for_the_owner(right: str) -> None:
    assert only(Action=f"sqs:{right}", Principal={"AWS": OWNER}).rights == {right}


ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=9)
    | st.sampled_from(["*", "Allow", ARN, FRIEND, "sqs:*", "${aws:userid}", "${", "\ud800", "\0"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["AWS", "Service", "Bool", "StringLike", "Null", "aws:UserAgent", "x:y"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=9,
)
ELEMENTS = ("Sid", "Effect", "Principal", "NotPrincipal", "Action", "NotAction", "Resource",
            "NotResource", "Condition", "Version")  # fmt: skip


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.dictionaries(st.sampled_from(ELEMENTS), ODD, max_size=3), ODD)
def test_odd_policies_are_read_or_refused_and_never_fail(
    elements: dict[str, Any], version: Any
) -> None:
    for text in (policy(statement(**elements)), policy(statement(), Version=version)):
        with contextlib.suppress(RequestError):
            for each in read_policy(text, OWNER).statements:
                each.mismatch(asked())


def condition(count: int) -> dict[str, Any]:
    return {"StringLike": {f"aws:PrincipalTag/t{number}": "*" for number in range(count)}}


def principals(count: int) -> dict[str, Any]:
    return {"AWS": [f"{number:012d}" for number in range(count)]}


@pytest.mark.parametrize(
    ("most", "more", "text"),
    [
        (
            policy(*[statement()] * 20),
            policy(*[statement()] * 21),
            "21 statements were found in the submitted policy, max allowed is 20",
        ),
        (
            policy(statement(Principal=principals(49)), statement()),
            policy(statement(Principal=principals(50)), statement()),
            "51 principals were found in the submitted policy, max allowed is 50",
        ),
        (
            policy(statement(Condition=condition(9)), statement(Condition=condition(1))),
            policy(statement(Condition=condition(9)), statement(Condition=condition(2))),
            "11 conditions were found in the submitted policy, max allowed is 10",
        ),
        (
            policy(statement(Action=["sqs:SendMessage"] * 7)),
            policy(statement(Action=["sqs:SendMessage"] * 8)),
            "8 actions were found in a statement from the submitted policy, max allowed is 7",
        ),
        (
            policy(statement(Resource=ARN + "?" * 20)),
            policy(statement(Resource=ARN + "?" * 21)),
            "21 wildcards ? were found in the submitted policy, max allowed is 20",
        ),
        (
            policy(statement()).ljust(8_192),
            policy(statement()).ljust(8_193),
            "Submitted policy is over max allowed size.",
        ),
    ],
)
def test_policy_has_bounds(most: str, more: str, text: str) -> None:
    assert read_policy(most, OWNER).statements
    with pytest.raises(LimitReached) as caught:
        read_policy(more, OWNER)
    assert str(caught.value) == text
