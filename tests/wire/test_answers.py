"""Every operation succeeds in each protocol, and its response is complete."""

import asyncio
from typing import Any

import pytest

from dovemq.sqs.operations import OPERATIONS
from tests.wire.case import Case
from tests.wire.cases_success import ANY, SUCCESS_CASES
from tests.wire.speaking import JSON, PROTOCOLS, QUERY
from tests.wire.world import World, filled, furnished


def agrees(found: Any, expected: Any) -> bool:
    if expected == ANY:
        return bool(found)
    if isinstance(expected, dict):
        return set(found) == set(expected) and all(
            agrees(found[name], each) for name, each in expected.items()
        )
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(agrees, found, expected))
    return bool(found == expected)


async def idle() -> None:
    """Let background work that can finish do so."""
    for _ in range(50):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("case", "protocol"),
    [
        pytest.param(case, protocol, id=f"{case.operation}-{case.title}-{protocol}")
        for case in SUCCESS_CASES
        for protocol in PROTOCOLS
    ],
)
async def test_operation_answers_exactly_what_sqs_answers(case: Case, protocol: str) -> None:
    world = World()
    scene = await furnished(world)
    for operation, params in case.before:
        await world.done(operation, **filled(params, scene))
    await idle()
    answer = await world.call(protocol, case.operation, filled(case.request, scene))
    await world.service.drain()
    assert answer.status == 200, answer
    assert agrees(answer.body, filled(case.expected, scene)), answer.body


def test_every_operation_but_the_cancelling_of_moves_is_in_the_table() -> None:
    assert {case.operation for case in SUCCESS_CASES} == set(OPERATIONS) - {"CancelMessageMoveTask"}
    assert len(OPERATIONS) == 23


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_running_move_is_listed_with_a_handle_that_cancels_it(protocol: str) -> None:
    world = World()
    scene = await furnished(world)
    for number in range(30):
        await world.done("SendMessage", QueueUrl=scene["dead"], MessageBody=str(number))
    start = {
        "SourceArn": scene["dead_arn"],
        "DestinationArn": scene["queue_arn"],
        "MaxNumberOfMessagesPerSecond": 1,
    }
    started = await world.call(protocol, "StartMessageMoveTask", start)
    await idle()
    listed = await world.call(protocol, "ListMessageMoveTasks", {"SourceArn": scene["dead_arn"]})
    [task] = listed.body["Results"]
    assert task["Status"] == "RUNNING"
    assert task["TaskHandle"] == started.body["TaskHandle"]
    assert task["DestinationArn"] == scene["queue_arn"]
    cancel = {"TaskHandle": task["TaskHandle"]}
    cancelled = await world.call(protocol, "CancelMessageMoveTask", cancel)
    assert cancelled.status == 200
    moved = cancelled.body["ApproximateNumberOfMessagesMoved"]
    assert moved == task["ApproximateNumberOfMessagesMoved"]
    again = await world.call(protocol, "StartMessageMoveTask", start)
    assert again.status == 400
    await world.service.drain()


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_move_to_a_removed_queue_tells_why_it_failed(protocol: str) -> None:
    world = World()
    scene = await furnished(world)
    await world.done("SendMessage", QueueUrl=scene["dead"], MessageBody="letter")
    start = {"SourceArn": scene["dead_arn"], "DestinationArn": scene["queue_arn"]}
    await asyncio.gather(
        world.done("StartMessageMoveTask", **start),
        world.done("DeleteQueue", QueueUrl=scene["queue"]),
    )
    await idle()
    source = {"SourceArn": scene["dead_arn"]}
    [task] = (await world.call(protocol, "ListMessageMoveTasks", source)).body["Results"]
    assert task.pop("StartedTimestamp")
    assert task == {
        **start,
        "Status": "FAILED",
        "FailureReason": "AWS.SimpleQueueService.NonExistentQueue",
        "ApproximateNumberOfMessagesMoved": 0,
        "ApproximateNumberOfMessagesToMove": 1,
    }


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_pages_of_queues_follow_one_another(protocol: str) -> None:
    world = World()
    for number in range(5):
        await world.queue(f"q{number}")
    seen: list[str] = []
    token: str | None = None
    for _ in range(3):
        request = {"MaxResults": 2, "NextToken": token}
        body = (await world.call(protocol, "ListQueues", request)).body
        seen += [url.rpartition("/")[2] for url in body["QueueUrls"]]
        token = body.get("NextToken")
    assert seen == ["q0", "q1", "q2", "q3", "q4"]
    assert token is None


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_one_bad_entry_fails_and_the_rest_of_the_batch_is_done(protocol: str) -> None:
    world = World()
    queue = await world.queue(MaximumMessageSize="1024")
    entries = [
        {"Id": "good", "MessageBody": "a" * 1_024},
        {"Id": "long", "MessageBody": "a" * 1_025},
        {"Id": "strange", "MessageBody": "\x01"},
    ]
    request = {"QueueUrl": queue, "Entries": entries}
    body = (await world.call(protocol, "SendMessageBatch", request)).body
    assert [entry["Id"] for entry in body["Successful"]] == ["good"]
    assert body["Failed"] == [
        {
            "Id": "long",
            "Code": "InvalidParameterValue",
            "Message": "One or more parameters cannot be validated. "
            "Reason: Message must be shorter than 1024 bytes.",
            "SenderFault": True,
        },
        {
            "Id": "strange",
            "Code": "InvalidMessageContents",
            "Message": "Invalid characters found. Valid unicode characters are #x9 | #xA | "
            "#xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF",
            "SenderFault": True,
        },
    ]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("operation", ["DeleteMessageBatch", "ChangeMessageVisibilityBatch"])
async def test_garbage_receipt_fails_alone_in_a_batch(operation: str, protocol: str) -> None:
    world = World()
    queue = await world.queue()
    receipt = await world.receipt(queue)
    timeout = {"VisibilityTimeout": 5} if operation.startswith("Change") else {}
    entries = [
        {"Id": "bad", "ReceiptHandle": "garbage", **timeout},
        {"Id": "good", "ReceiptHandle": receipt, **timeout},
    ]
    body = (await world.call(protocol, operation, {"QueueUrl": queue, "Entries": entries})).body
    assert body["Successful"] == [{"Id": "good"}]
    [failure] = body["Failed"]
    assert (failure["Id"], failure["Code"]) == ("bad", "ReceiptHandleIsInvalid")
    assert failure["Message"] == (
        'The input receipt handle "garbage" is not a valid receipt handle.'
    )


@pytest.mark.parametrize("protocol", [JSON, QUERY])
async def test_duplicate_in_order_answers_the_first_ids(protocol: str) -> None:
    world = World()
    queue = await world.fifo(ContentBasedDeduplication="true")
    request = {"QueueUrl": queue, "MessageBody": "work", "MessageGroupId": "g"}
    first = (await world.call(protocol, "SendMessage", request)).body
    second = (await world.call(protocol, "SendMessage", request)).body
    assert first == second
    assert len(first["SequenceNumber"]) == 20
