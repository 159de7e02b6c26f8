"""Messages on the wire: digests, attributes and filters, X-Ray headers, order, long polls."""

import asyncio
import hashlib
from typing import Any

import pytest

from dovemq.core.message import Attribute
from dovemq.sqs.digests import md5_of_attributes, md5_of_body
from tests.wire.speaking import JSON, PROTOCOLS, QUERY, answer_of, request_of
from tests.wire.world import World, arn, furnished

TRACE = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
THREE = {
    "Help.Me": {"DataType": "String", "StringValue": "Me"},
    "Hello": {"DataType": "String", "StringValue": "There"},
    "General": {"DataType": "String", "StringValue": "Kenobi"},
}


def test_digest_of_attributes_is_the_documented_one() -> None:
    attributes = {"attribName1": Attribute("String", "attribValue 1")}
    assert md5_of_attributes(attributes) == "19e27d4e946b072f3f58da80d94fd778"


def test_digest_of_no_attributes_is_none() -> None:
    assert md5_of_attributes({}) is None


def test_digest_of_a_body_is_that_of_its_utf8() -> None:
    assert md5_of_body("é") == hashlib.md5(b"\xc3\xa9").hexdigest()


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("filters", "names", "digest"),
    [
        ([], set(), None),
        (["All"], set(THREE), "4c360f3fdafd970e05fae2f149d997f5"),
        (["*"], set(THREE), "4c360f3fdafd970e05fae2f149d997f5"),
        ([".*"], set(THREE), "4c360f3fdafd970e05fae2f149d997f5"),
        (["Foo", "Help"], set(), None),
        (["Hello", "General"], {"Hello", "General"}, "fca026605781cb4126a1e9044df24232"),
        (["Foo", "Hello"], {"Hello"}, "a311262e065454b75da111d535b8dacd"),
        (["Hel.*"], {"Hello", "Help.Me"}, "83fee93c1bcd8b9a5a923ffacdc636c7"),
        (["AWS."], set(), None),
        (["..foo"], set(), None),
    ],
)
async def test_only_requested_attributes_are_returned(
    protocol: str, filters: list[str], names: set[str], digest: str | None
) -> None:
    world = World()
    queue = await world.queue()
    await world.done("SendMessage", QueueUrl=queue, MessageBody="m", MessageAttributes=THREE)
    request = {"QueueUrl": queue, "MessageAttributeNames": filters}
    [message] = (await world.call(protocol, "ReceiveMessage", request)).body["Messages"]
    assert set(message.get("MessageAttributes", {})) == names
    assert message.get("MD5OfMessageAttributes") == digest


@pytest.mark.parametrize("sending", PROTOCOLS)
@pytest.mark.parametrize("receiving", PROTOCOLS)
async def test_binary_attribute_survives_the_way(sending: str, receiving: str) -> None:
    raw = b"traceparent\x1e00-774062d6c37081a5a0b9b5b88e30627c-2d2482211f6489da-01"
    world = World()
    queue = await world.queue()
    value = {"DataType": "Binary", "BinaryValue": raw}
    request = {"QueueUrl": queue, "MessageBody": "test", "MessageAttributes": {"attr1": value}}
    sent = (await world.call(sending, "SendMessage", request)).body
    assert sent["MD5OfMessageAttributes"] == "8cbe4db156db8a94db8b801b7addb984"
    asked = {"QueueUrl": queue, "MessageAttributeNames": ["All"]}
    [message] = (await world.call(receiving, "ReceiveMessage", asked)).body["Messages"]
    assert message["MessageAttributes"]["attr1"]["DataType"] == "Binary"
    assert message["MD5OfMessageAttributes"] == sent["MD5OfMessageAttributes"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_system_attributes_of_a_standard_message(protocol: str) -> None:
    world = World()
    queue = await world.queue()
    await world.done("SendMessage", QueueUrl=queue, MessageBody="m", MessageGroupId="tenant")
    world.clock.advance(1_500)
    for count in ("1", "2"):
        request = {"QueueUrl": queue, "AttributeNames": ["All"], "VisibilityTimeout": 0}
        [message] = (await world.call(protocol, "ReceiveMessage", request)).body["Messages"]
        assert message["Attributes"] == {
            "SenderId": "123456789012",
            "SentTimestamp": "1700000000000",
            "ApproximateReceiveCount": count,
            "ApproximateFirstReceiveTimestamp": "1700000001500",
            "MessageGroupId": "tenant",
        }


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_system_attributes_of_a_message_in_order(protocol: str) -> None:
    world = World()
    queue = await world.fifo()
    sent = await world.done(
        "SendMessage", QueueUrl=queue, MessageBody="m", MessageGroupId="g",
        MessageDeduplicationId="d",
    )  # fmt: skip
    names = ["SequenceNumber", "MessageGroupId", "MessageDeduplicationId", "SenderId"]
    request = {"QueueUrl": queue, "MessageSystemAttributeNames": names}
    [message] = (await world.call(protocol, "ReceiveMessage", request)).body["Messages"]
    assert message["Attributes"] == {
        "SenderId": "123456789012",
        "SequenceNumber": sent["SequenceNumber"],
        "MessageDeduplicationId": "d",
        "MessageGroupId": "g",
    }


async def test_both_lists_of_system_attributes_count_in_json() -> None:
    world = World()
    queue = await world.queue()
    await world.done("SendMessage", QueueUrl=queue, MessageBody="m")
    got = await world.done(
        "ReceiveMessage", QueueUrl=queue, MessageSystemAttributeNames=["SentTimestamp"],
        AttributeNames=["SenderId"],
    )  # fmt: skip
    assert set(got["Messages"][0]["Attributes"]) == {"SenderId", "SentTimestamp"}


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_trace_header_is_a_system_attribute_with_a_digest_of_its_own(protocol: str) -> None:
    world = World()
    queue = await world.queue()
    request: dict[str, Any] = {
        "QueueUrl": queue,
        "MessageBody": "test",
        "MessageAttributes": {"timestamp": {"DataType": "Number", "StringValue": "1493"}},
    }
    plain = (await world.call(protocol, "SendMessage", request)).body
    request["MessageSystemAttributes"] = {
        "AWSTraceHeader": {"DataType": "String", "StringValue": TRACE}
    }
    traced = (await world.call(protocol, "SendMessage", request)).body
    assert "MD5OfMessageSystemAttributes" not in plain
    assert traced["MD5OfMessageSystemAttributes"] == "5ae4d5d7636402d80f4eb6d213245a88"
    assert traced["MD5OfMessageAttributes"] == plain["MD5OfMessageAttributes"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_trace_header_of_http_becomes_the_system_attribute(protocol: str) -> None:
    world = World()
    queue = await world.queue()
    request = request_of(protocol, "SendMessage", {"QueueUrl": queue, "MessageBody": "test"})
    request.headers["x-amzn-trace-id"] = TRACE
    sent = answer_of(protocol, "SendMessage", await world.endpoint.handle(request))
    assert "MD5OfMessageSystemAttributes" not in sent.body
    got = await world.done("ReceiveMessage", QueueUrl=queue, AttributeNames=["AWSTraceHeader"])
    assert got["Messages"][0]["Attributes"] == {"AWSTraceHeader": TRACE}


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_dead_letter_tells_where_it_came_from(protocol: str) -> None:
    world = World()
    scene = await furnished(world)
    feeder = scene["dead"].replace("dead", "feeder")
    await world.done("SendMessage", QueueUrl=feeder, MessageBody="m")
    for _ in range(4):
        await world.done("ReceiveMessage", QueueUrl=feeder, VisibilityTimeout=0)
    asked = {"QueueUrl": scene["dead"], "AttributeNames": ["All"]}
    [message] = (await world.call(protocol, "ReceiveMessage", asked)).body["Messages"]
    assert message["Attributes"]["DeadLetterQueueSourceArn"] == arn("feeder")


async def test_repeated_attempt_gets_the_same_receipts() -> None:
    world = World()
    queue = await world.fifo(ContentBasedDeduplication="true")
    await world.done("SendMessage", QueueUrl=queue, MessageBody="m", MessageGroupId="g")
    request = {"QueueUrl": queue, "ReceiveRequestAttemptId": "try-1"}
    first = await world.call(JSON, "ReceiveMessage", request)
    second = await world.call(QUERY, "ReceiveMessage", request)
    [one], [two] = first.body["Messages"], second.body["Messages"]
    assert one["ReceiptHandle"] == two["ReceiptHandle"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_long_poll_answers_as_soon_as_a_message_comes(protocol: str) -> None:
    world = World()
    queue = await world.queue()
    request = {"QueueUrl": queue, "WaitTimeSeconds": 20}
    poll = asyncio.create_task(world.call(protocol, "ReceiveMessage", request))
    await asyncio.sleep(0)
    assert not poll.done()
    await world.done("SendMessage", QueueUrl=queue, MessageBody="work")
    [message] = (await poll).body["Messages"]
    assert message["Body"] == "work"


async def test_wait_of_zero_wins_over_the_wait_of_the_queue() -> None:
    world = World()
    queue = await world.queue(ReceiveMessageWaitTimeSeconds="20")
    assert await world.done("ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=0) == {}


async def test_sequence_numbers_rise() -> None:
    world = World()
    queue = await world.fifo()
    entries = [
        {"Id": str(n), "MessageBody": "m", "MessageGroupId": "g", "MessageDeduplicationId": d}
        for n, d in enumerate("abc")
    ]
    sent = await world.done("SendMessageBatch", QueueUrl=queue, Entries=entries)
    numbers = [entry["SequenceNumber"] for entry in sent["Successful"]]
    assert numbers == sorted(set(numbers))
    assert {len(number) for number in numbers} == {20}
