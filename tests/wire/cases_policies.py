"""Refused policies, with their errors; `tests/unit/test_policies.py` has more."""

import json
from typing import Any

from tests.wire.case import WSDL, Case, Refused, bad_attribute, invalid, over_limit

GRANT = {
    "Effect": "Allow",
    "Principal": {"AWS": "210987654321"},
    "Action": "sqs:SendMessage",
    "Resource": "$queue_arn",
}


def policy(title: str, expected: Refused, source: str, text: str) -> Case:
    request = {"QueueUrl": "$queue", "Attributes": {"Policy": text}}
    return Case(title, "SetQueueAttributes", request, expected, source)


def statement(title: str, reason: str, **elements: Any) -> Case:
    text = json.dumps({"Statement": [{**GRANT, **elements}]})
    return policy(title, bad_attribute("Policy", f"statement 1: {reason}"), "?", text)


def actions(title: str, expected: Refused, *names: str) -> Case:
    return policy(title, expected, "R", json.dumps({"Statement": {**GRANT, "Action": names}}))


POLICY_CASES = (
    policy("a policy is JSON", bad_attribute("Policy", "it is not JSON, or a name in it stands "
           "twice."), "?", "{"),
    policy("a policy has statements", bad_attribute("Policy", "it has no Statement."), "?", "{}"),
    policy("a policy is at most 8,192 bytes long",
           over_limit("Submitted policy is over max allowed size."), "R",
           json.dumps({"Statement": []}).ljust(8_193)),
    policy("a policy has at most twenty statements",
           over_limit("21 statements were found in the submitted policy, max allowed is 20"), "?",
           json.dumps({"Statement": [GRANT] * 21})),
    actions("a policy names batches by their single forms",
            invalid("ActionName", "sqs:ChangeMessageVisibilityBatch", WSDL),
            "sqs:ChangeMessageVisibilityBatch"),
    actions("a statement has at most seven actions",
            over_limit("8 actions were found in a statement from the submitted policy, max "
                       "allowed is 7"), *["sqs:SendMessage"] * 8),
    statement("a statement has an effect", "Effect is Allow or Deny.", Effect="Maybe"),
    statement("a statement is about someone", "ann is no principal.", Principal={"AWS": "ann"}),
    statement("what is the owner's is not given away",
              "ListQueues is the owner's, and not given to other accounts.",
              Action="sqs:ListQueues"),
    statement("a condition has an operator", "StringIs is no condition operator.",
              Condition={"StringIs": {"aws:UserAgent": "a"}}),
    statement("a condition is about something known", "the key aws:SourceIP6 is not known.",
              Condition={"IpAddress": {"aws:SourceIP6": "::1"}}),
    Case("a queue is not created with a policy that is not understood", "CreateQueue",
         {"QueueName": "new", "Attributes": {"Policy": "[]"}},
         bad_attribute("Policy", "the policy is not a JSON object."), "?"),
)  # fmt: skip
