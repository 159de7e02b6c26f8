"""Behaviour that was observed at AWS and is not in its documentation."""

import json
from typing import Any

import pytest

from tests.wire.speaking import PROTOCOLS, Answer
from tests.wire.world import ACCOUNT, World, arn

FRIEND = "222222222222"


async def bodies(world: World, url: str) -> list[str]:
    got = await world.done("ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10)
    return [message["Body"] for message in got.get("Messages", [])]


async def change(world: World, protocol: str, url: str, receipt: str, seconds: int) -> Answer:
    request = {"QueueUrl": url, "ReceiptHandle": receipt, "VisibilityTimeout": seconds}
    answer = await world.call(protocol, "ChangeMessageVisibility", request)
    entry = {"Id": "a", "ReceiptHandle": receipt, "VisibilityTimeout": seconds}
    batch = {"QueueUrl": url, "Entries": [entry]}
    batched = await world.call(protocol, "ChangeMessageVisibilityBatch", batch)
    assert ("Failed" in batched.body) == (answer.status != 200)
    return answer


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_newest_receipt_hides_a_message_again_after_its_lease(protocol: str) -> None:
    world = World()
    url = await world.queue()
    receipt = await world.receipt(url)
    world.clock.advance(31_000)
    assert (await change(world, protocol, url, receipt, 60)).status == 200
    assert await bodies(world, url) == []
    world.clock.advance(60_000)
    assert await bodies(world, url) == ["work"]


async def held_again(world: World) -> tuple[str, str]:
    """A queue whose message is leased for the second time, and the receipt of the first."""
    url = await world.queue()
    older = await world.receipt(url)
    world.clock.advance(31_000)
    assert await bodies(world, url) == ["work"]
    return url, older


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_older_receipt_with_timeout_zero_is_accepted_and_changes_nothing(
    protocol: str,
) -> None:
    world = World()
    url, older = await held_again(world)
    assert (await change(world, protocol, url, older, 0)).status == 200
    assert await bodies(world, url) == []


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_older_receipt_never_hides_a_message_that_another_client_holds(
    protocol: str,
) -> None:
    world = World()
    url, older = await held_again(world)
    assert (await change(world, protocol, url, older, 600)).code == "InvalidParameterValue"
    world.clock.advance(30_000)
    refused = await change(world, protocol, url, older, 600)
    assert refused.code == "AWS.SimpleQueueService.MessageNotInflight"
    assert await bodies(world, url) == ["work"]


def policy(**elements: Any) -> str:
    statement = {"Effect": "Allow", "Principal": {"AWS": FRIEND}, "Action": "sqs:SendMessage"}
    return json.dumps({"Statement": [{**statement, "Resource": arn("orders"), **elements}]})


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "elements",
    [
        {"Resource": arn("others")},
        {"Resource": "arn:aws:s3:::bucket"},
        {"Resource": "orders"},
        {"Resource": f"https://sqs.us-east-1.amazonaws.com/{ACCOUNT}/orders"},
        {"Condition": {"ArnEquals": {"aws:PrincipalArn": "somebody"}}},
        {"Condition": {"ArnLike": {"aws:PrincipalArn": "arn:aws:iam::444444444444:root"}}},
    ],
)
async def test_policy_that_names_something_else_is_stored_and_matches_nothing(
    protocol: str, elements: dict[str, Any]
) -> None:
    world = World()
    url = await world.queue()
    text = policy(**elements)
    request = {"QueueUrl": url, "Attributes": {"Policy": text}}
    assert (await world.call(protocol, "SetQueueAttributes", request)).status == 200
    names = {"QueueUrl": url, "AttributeNames": ["Policy"]}
    told = await world.call(protocol, "GetQueueAttributes", names)
    assert told.body["Attributes"]["Policy"] == text
    send = {"QueueUrl": url, "MessageBody": "work"}
    assert (await world.guest(FRIEND).call(protocol, "SendMessage", send)).status == 403
    assert (await world.call(protocol, "SendMessage", send)).status == 200


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_statement_that_names_something_else_denies_nothing(protocol: str) -> None:
    world = World()
    url = await world.queue(Policy=policy(Effect="Deny", Principal="*", Resource="orders"))
    send = {"QueueUrl": url, "MessageBody": "work"}
    assert (await world.call(protocol, "SendMessage", send)).status == 200


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_queue_may_be_its_own_dead_letter_queue_and_delivers_on(protocol: str) -> None:
    world = World()
    url = await world.queue(VisibilityTimeout="1")
    redrive = json.dumps({"deadLetterTargetArn": arn("orders"), "maxReceiveCount": 1})
    request = {"QueueUrl": url, "Attributes": {"RedrivePolicy": redrive}}
    assert (await world.call(protocol, "SetQueueAttributes", request)).status == 200
    sources = await world.call(protocol, "ListDeadLetterSourceQueues", {"QueueUrl": url})
    assert sources.body["queueUrls"] == [url]
    await world.done("SendMessage", QueueUrl=url, MessageBody="work")
    for _ in range(3):
        assert await bodies(world, url) == ["work"]
        world.clock.advance(1_000)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "number", ["1.1e126", "1e127", "-1.1e128", "1e-129", "-1e-129", "1e99999999999999999999",
               "9" * 127, "0" * 300]
)  # fmt: skip
async def test_number_beyond_the_range_is_refused(protocol: str, number: str) -> None:
    answer = await with_number(protocol, number)
    assert (answer.status, answer.code) == (400, "InvalidParameterValue")
    shown = number[:256]
    assert answer.text == f"Number attribute value {shown} should be in range (-10**128..10**126)"


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "number", ["0", "-0.0", "0e999", "1e126", "-1e128", "1e-128", "-1e-128", "1234.5", "9" * 126]
)
async def test_number_at_the_ends_of_the_range_is_taken(protocol: str, number: str) -> None:
    assert (await with_number(protocol, number)).status == 200


async def with_number(protocol: str, number: str) -> Answer:
    world = World()
    value = {"DataType": "Number", "StringValue": number}
    request = {
        "QueueUrl": await world.queue(),
        "MessageBody": "work",
        "MessageAttributes": {"n": value},
    }
    return await world.call(protocol, "SendMessage", request)
