"""Decisions on requests, whatever the order of statements, and their explanations."""

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovemq.sqs.authorisation import POLICIES_LENGTH_MAX, AccessDecision, Judge, explain
from dovemq.sqs.operations import OPERATIONS
from dovemq.sqs.policies import Policy, read_policy
from dovemq.sqs.rights import MENDING, NEEDED, OF_NO_QUEUE, RIGHTS, SHARED
from tests.unit.policy_world import (
    ARN,
    CONTEXT,
    FRIEND,
    NAMES,
    OWNER,
    STRANGER,
    policy,
    queue,
    statement,
)

ALL = {"Principal": "*", "Action": "sqs:*"}
ALLOW_ALL = statement(Sid="open", **ALL)
DENY_ALL = statement(Sid="shut", Effect="Deny", **ALL)


def judged(
    text: str | None, account: str = FRIEND, operation: str = "SendMessage"
) -> AccessDecision:
    found = explain(queue(text), account, operation, CONTEXT, NAMES)
    assert Judge(NAMES).allows(queue(text), account, operation, CONTEXT) is found.allowed
    return found


def test_every_operation_says_what_it_needs() -> None:
    assert set(NEEDED) == set(OPERATIONS)
    assert all(set(needed) <= RIGHTS for needed in NEEDED.values())
    batches = {name for name in OPERATIONS if name.endswith("Batch")}
    assert set(OPERATIONS) - batches == RIGHTS
    assert all(NEEDED[name] == (name.removesuffix("Batch"),) for name in batches)


@pytest.mark.parametrize("operation", sorted(NEEDED))
def test_without_a_policy_the_owner_may_do_all_and_others_nothing(operation: str) -> None:
    assert judged(None, OWNER, operation).allowed
    assert not judged(None, FRIEND, operation).allowed


@pytest.mark.parametrize("operation", sorted(NEEDED))
def test_what_is_the_owners_is_not_given_away(operation: str) -> None:
    shared = set(NEEDED[operation]) <= SHARED
    assert judged(policy(ALLOW_ALL), STRANGER, operation).allowed is shared


@pytest.mark.parametrize("operation", sorted(NEEDED))
def test_owner_that_is_denied_everything_can_repair_the_policy(operation: str) -> None:
    kept = operation in MENDING | OF_NO_QUEUE
    assert judged(policy(DENY_ALL), OWNER, operation).allowed is kept
    assert not judged(policy(ALLOW_ALL, DENY_ALL), FRIEND, operation).allowed


@pytest.mark.parametrize("operation", ["SendMessage", "SendMessageBatch"])
def test_batch_is_judged_by_the_name_of_its_single_form(operation: str) -> None:
    assert judged(policy(statement()), FRIEND, operation).allowed
    assert not judged(policy(statement()), STRANGER, operation).allowed


@pytest.mark.parametrize("right", ["ReceiveMessage", "DeleteMessage", "StartMessageMoveTask"])
def test_move_needs_the_rights_that_it_uses(right: str) -> None:
    found = judged(
        policy(statement(Effect="Deny", Principal="*", Action=f"sqs:{right}")),
        OWNER,
        "StartMessageMoveTask",
    )
    assert (found.allowed, found.reason) == (False, f"a statement denies {right}")


STATEMENTS = st.builds(
    statement,
    Effect=st.sampled_from(["Allow", "Deny"]),
    Principal=st.sampled_from(["*", {"AWS": FRIEND}, {"AWS": STRANGER}, {"AWS": OWNER}]),
    Action=st.sampled_from(["*", "sqs:Send*", "sqs:ReceiveMessage", "sqs:*Message"]),
    Resource=st.sampled_from(["*", ARN, "arn:aws:sqs:*:*:other"]),
    Condition=st.sampled_from(
        [
            {},
            {"Bool": {"aws:SecureTransport": "true"}},
            {"IpAddress": {"aws:SourceIp": "203.0.113.0/24"}},
            {"StringNotEquals": {"aws:PrincipalAccount": FRIEND}},
        ]
    ),
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.lists(STATEMENTS, max_size=5),
    st.sampled_from([OWNER, FRIEND, STRANGER]),
    st.sampled_from(["SendMessage", "ReceiveMessage", "PurgeQueue"]),
    st.integers(0, 99),
)
def test_deny_wins_whatever_the_order(
    statements: list[dict[str, Any]], account: str, operation: str, seed: int
) -> None:
    alone = [
        (each["Effect"], judged(policy(each), account, operation).statement) for each in statements
    ]
    denied = any(effect == "Deny" and name for effect, name in alone)
    allowed = any(effect == "Allow" and name for effect, name in alone)
    random.Random(seed).shuffle(statements)
    expected = not denied and (allowed or account == OWNER)
    assert judged(policy(*statements), account, operation).allowed is expected


def test_statement_that_decided_is_named() -> None:
    text = policy(statement(Sid="send"), statement(Sid="later"), statement(Sid="no", Effect="Deny"))
    assert judged(text).statement == "no"
    assert judged(policy(statement(Sid="send"), statement(Sid="later"))).statement == "send"
    assert judged(policy(ALLOW_ALL), OWNER).statement is None


def test_explanation_tells_how_each_statement_fared() -> None:
    text = policy(
        statement(Sid="stranger", Principal={"AWS": STRANGER}),
        statement(Sid="receive", Action="sqs:ReceiveMessage"),
        statement(Sid="other", Resource="arn:aws:sqs:*:*:other"),
        statement(Sid="tls", Condition={"Bool": {"aws:SecureTransport": "true"}}),
        statement(Sid="topic", Condition={"ArnLike": {"aws:SourceArn": "arn:aws:sns:*:*:t"}}),
        statement(Effect="Deny", Condition={"IpAddress": {"aws:SourceIp": ["10.0.0.0/8", "::1"]}}),
    )
    assert judged(text) == AccessDecision(
        False,
        "no statement allows SendMessage, and the account does not own the queue",
        None,
        (
            "SendMessage: stranger allows nothing here: its principal does not match",
            "SendMessage: receive allows nothing here: its action does not match",
            "SendMessage: other allows nothing here: its resource does not match",
            "SendMessage: tls allows nothing here: Bool aws:SecureTransport true does not hold, "
            "it is false",
            "SendMessage: topic allows nothing here: ArnLike aws:SourceArn arn:aws:sns:*:*:t does "
            "not hold, it is not there",
            "SendMessage: statement 6 denies nothing here: IpAddress aws:SourceIp 10.0.0.0/8, ::1 "
            "does not hold, it is 203.0.113.9",
        ),
    )


@pytest.mark.parametrize(
    ("text", "account", "operation", "reason"),
    [
        (None, OWNER, "SendMessage", "the account owns the queue, and no statement denies "
         "SendMessage"),
        (None, FRIEND, "SendMessage", "no statement allows SendMessage, and the account does not "
         "own the queue"),
        (policy(statement()), FRIEND, "SendMessageBatch", "a statement allows SendMessage, and "
         "none denies it"),
        (policy(DENY_ALL), OWNER, "SetQueueAttributes", "the owner can always use "
         "SetQueueAttributes, so that a policy can be repaired"),
        (policy(ALLOW_ALL), FRIEND, "DeleteQueue", "DeleteQueue is for the owner alone, "
         "whatever the policy says"),
        (policy(DENY_ALL), OWNER, "ListQueues", "every account may use ListQueues for its own "
         "queues"),
    ],
)  # fmt: skip
def test_decision_has_a_reason(text: str | None, account: str, operation: str, reason: str) -> None:
    assert judged(text, account, operation).reason == reason


def test_decision_names_a_queue_that_does_not_exist() -> None:
    found = explain(None, OWNER, "SendMessage", CONTEXT, NAMES)
    assert found == AccessDecision(False, "there is no such queue")
    assert explain(None, OWNER, "CreateQueue", CONTEXT, NAMES).allowed


@pytest.mark.parametrize(
    "text", ["{", json.dumps({"Statement": [{"Effect": "Allow"}]}), policy({**ALLOW_ALL, "x": 1})]
)
def test_unreadable_policy_allows_only_its_repair(text: str) -> None:
    for account in (OWNER, FRIEND):
        found = judged(text, account)
        assert (found.allowed, found.statement) == (False, None)
        assert found.reason.startswith("the policy cannot be read")
        assert found.steps[0].startswith("SendMessage: Invalid value for policy. Reason: ")
    assert judged(text, OWNER, "SetQueueAttributes").allowed


def test_judge_keeps_the_newest_policies_up_to_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []

    def counted(text: str, owner: str) -> Policy:
        reads.append(text)
        return read_policy(text, owner)

    monkeypatch.setattr("dovemq.sqs.authorisation.read_policy", counted)
    judge = Judge(NAMES)
    kept_max = POLICIES_LENGTH_MAX // 8_000
    texts = [policy(statement(Sid=f"s{n}")).ljust(8_000) for n in range(3 * kept_max + 1)]
    for text in [*texts, texts[-1], *texts[:kept_max]]:
        assert judge.allows(queue(text), FRIEND, "SendMessage", CONTEXT)
    assert reads == [*texts, *texts[:kept_max]]
