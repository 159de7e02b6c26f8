"""Every row of the tables of refused requests, in each protocol, word for word."""

from typing import Any

import pytest

from dovemq.sqs.operations import OPERATIONS
from tests.wire.case import NO_QUEUE, Case, Refused, denied, missing
from tests.wire.cases_messages import MESSAGE_CASES
from tests.wire.cases_policies import POLICY_CASES
from tests.wire.cases_queues import QUEUE_CASES
from tests.wire.speaking import JSON
from tests.wire.world import World, filled, furnished

VALID: dict[str, dict[str, Any]] = {
    "AddPermission": {"Label": "l", "AWSAccountIds": ["123456789012"], "Actions": ["*"]},
    "ChangeMessageVisibility": {"ReceiptHandle": "r", "VisibilityTimeout": 1},
    "ChangeMessageVisibilityBatch": {
        "Entries": [{"Id": "a", "ReceiptHandle": "r", "VisibilityTimeout": 1}]
    },
    "DeleteMessage": {"ReceiptHandle": "r"},
    "DeleteMessageBatch": {"Entries": [{"Id": "a", "ReceiptHandle": "r"}]},
    "RemovePermission": {"Label": "l"},
    "SendMessage": {"MessageBody": "m"},
    "SendMessageBatch": {"Entries": [{"Id": "a", "MessageBody": "m"}]},
    "SetQueueAttributes": {"Attributes": {"DelaySeconds": "1"}},
    "TagQueue": {"Tags": {"a": "b"}},
    "UntagQueue": {"TagKeys": ["a"]},
}
ABOUT_A_QUEUE = [
    name
    for name, operation in OPERATIONS.items()
    if "queue_url" in operation.request.__struct_fields__
]
CASES = (
    *MESSAGE_CASES,
    *QUEUE_CASES,
    *POLICY_CASES,
    *(
        Case(f"{name} is about a queue that is there", name,
             {"QueueUrl": "http://localhost/123456789012/none", **VALID.get(name, {})},
             NO_QUEUE, "R")
        for name in ABOUT_A_QUEUE
    ),
    *(
        Case(f"{name} says which queue", name, VALID.get(name, {}), missing("QueueUrl"), "?")
        for name in ABOUT_A_QUEUE
    ),
    *(
        Case(f"{name} shows nothing of another account", name,
             {"QueueUrl": "http://localhost/999999999999/orders", **VALID.get(name, {})},
             denied("999999999999", "orders"), "R")
        for name in ABOUT_A_QUEUE
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("case", "protocol"),
    [
        pytest.param(case, protocol, id=f"{case.operation}-{case.title}-{protocol}")
        for case in CASES
        for protocol in case.protocols
    ],
)
async def test_request_is_refused_in_the_words_of_sqs(case: Case, protocol: str) -> None:
    world = World(strict_aws=case.strict_aws)
    scene = await furnished(world)
    for operation, params in case.before:
        await world.done(operation, **filled(params, scene))
    answer = await world.call(protocol, case.operation, filled(case.request, scene))
    expected = case.expected
    assert isinstance(expected, Refused)
    text = expected.text if protocol == JSON else expected.query_text or expected.text
    assert (answer.code, answer.text) == (expected.code, filled(text, scene))
    assert answer.status == expected.status
    assert protocol != JSON or answer.shape == expected.shape


def test_every_operation_is_refused_for_more_than_one_reason() -> None:
    texts: dict[str, set[str]] = {name: set() for name in OPERATIONS}
    for case in CASES:
        assert isinstance(case.expected, Refused)
        texts[case.operation].add(case.expected.text)
    assert [name for name, found in texts.items() if len(found) < 2] == []
