"""Queue attributes on the wire: their values, their defaults and their visibility."""

import asyncio
import json
from typing import Any

import pytest

from dovemq.sqs.attributes import READ_ONLY, SETTABLE
from tests.wire.speaking import JSON, PROTOCOLS, QUERY
from tests.wire.world import ACCOUNT, World, arn, furnished

STANDARD_DEFAULTS = {
    "ApproximateNumberOfMessages": "0",
    "ApproximateNumberOfMessagesDelayed": "0",
    "ApproximateNumberOfMessagesNotVisible": "0",
    "CreatedTimestamp": "1700000000",
    "DelaySeconds": "0",
    "LastModifiedTimestamp": "1700000000",
    "MaximumMessageSize": "1048576",
    "MessageRetentionPeriod": "345600",
    "QueueArn": arn("orders"),
    "ReceiveMessageWaitTimeSeconds": "0",
    "SqsManagedSseEnabled": "true",
    "VisibilityTimeout": "30",
}
FIFO_DEFAULTS = {
    **STANDARD_DEFAULTS,
    "QueueArn": arn("orders.fifo"),
    "FifoQueue": "true",
    "ContentBasedDeduplication": "false",
    "DeduplicationScope": "queue",
    "FifoThroughputLimit": "perQueue",
}
EXTENDED_DEFAULTS = {
    "OrderHint": "1",
    "Coordination": "lease",
    "ReceiveDraw": "visible",
    "DeliveryPaused": "false",
    "LongDelay": "false",
    "Partitions": "1",
    "PartitionsMin": "1",
    "PartitionsMax": "16",
    "InhibitionSeconds": "30",
    "DequeueStrategy": "conventional",
    "DequeueFanout": "3",
    "RdsSleepMilliseconds": "auto",
    "RdsWake": "arrival",
    "PmsPeriodMilliseconds": "1000",
    "SessionMigration": "off",
}


async def told(world: World, url: str, *names: str, protocol: str = QUERY) -> dict[str, Any]:
    request = {"QueueUrl": url, "AttributeNames": list(names)}
    answer = await world.call(protocol, "GetQueueAttributes", request)
    assert answer.status == 200, answer
    found = answer.body.get("Attributes", {})
    assert isinstance(found, dict)
    return found


async def change(world: World, url: str, **attributes: str) -> None:
    await world.done("SetQueueAttributes", QueueUrl=url, Attributes=attributes)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_all_attributes_of_a_new_queue_are_the_defaults_of_sqs(protocol: str) -> None:
    world = World()
    standard, fifo = await world.queue(), await world.fifo()
    assert await told(world, standard, "All", protocol=protocol) == STANDARD_DEFAULTS
    assert await told(world, fifo, "All", protocol=protocol) == FIFO_DEFAULTS


async def test_extended_attributes_are_returned_by_name_only() -> None:
    world = World()
    queue = await world.queue(OrderHint="any", GroupConcurrency="3")
    assert await told(world, queue, "OrderHint") == {"OrderHint": "any"}
    assert await told(world, queue, "AllExtended") == {
        **EXTENDED_DEFAULTS,
        "OrderHint": "any",
        "GroupConcurrency": "3",
    }
    assert await told(world, queue, "All") == STANDARD_DEFAULTS


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("VisibilityTimeout", "0"),
        ("MaximumMessageSize", "1024"),
        ("MessageRetentionPeriod", "1209600"),
        ("DelaySeconds", "900"),
        ("ReceiveMessageWaitTimeSeconds", "20"),
        ("SqsManagedSseEnabled", "false"),
        ("KmsMasterKeyId", "alias/mine"),
        ("OrderHint", "1000"),
        ("OrderHint", "adaptive"),
        ("DeliveryPaused", "true"),
        ("LongDelay", "true"),
        ("GroupConcurrency", "2"),
        ("GroupRatePerSecond", "5"),
        ("Partitions", "256"),
        ("Partitions", "auto"),
        ("PartitionsMin", "16"),
        ("PartitionsMax", "256"),
        ("InhibitionSeconds", "0"),
        ("DequeueStrategy", "rds"),
        ("DequeueFanout", "256"),
        ("RdsSleepMilliseconds", "250"),
        ("RdsSleepMilliseconds", "auto"),
        ("RdsWake", "timer"),
        ("PmsPeriodMilliseconds", "60000"),
        ("SessionMigration", "on"),
    ],
)
async def test_attribute_is_returned_as_it_was_set(name: str, value: str) -> None:
    world = World()
    created = await world.queue("created", **{name: value})
    changed = await world.queue("changed")
    await change(world, changed, **{name: value})
    assert await told(world, created, name) == {name: value}
    assert await told(world, changed, name) == {name: value}


@pytest.mark.parametrize("text", ["true", "True", "TRUE"])
async def test_flags_are_read_in_any_case(text: str) -> None:
    world = World()
    queue = await world.queue("q.fifo", FifoQueue=text, ContentBasedDeduplication=text)
    assert await told(world, queue, "ContentBasedDeduplication") == {
        "ContentBasedDeduplication": "true"
    }


async def test_fifo_queue_may_be_set_to_fifo_again() -> None:
    world = World()
    queue = await world.fifo()
    await change(world, queue, FifoQueue="true", DelaySeconds="3")
    assert (await told(world, queue, "DelaySeconds"))["DelaySeconds"] == "3"


async def test_change_moves_the_time_of_modification() -> None:
    world = World()
    queue = await world.queue()
    world.clock.advance(5_000)
    await change(world, queue, DelaySeconds="3")
    assert await told(world, queue, "CreatedTimestamp", "LastModifiedTimestamp") == {
        "CreatedTimestamp": "1700000000",
        "LastModifiedTimestamp": "1700000005",
    }


async def test_key_of_an_encryption_turns_the_managed_one_off() -> None:
    names = ("KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "SqsManagedSseEnabled")
    world = World()
    queue = await world.queue()
    assert await told(world, queue, *names) == {"SqsManagedSseEnabled": "true"}
    await change(world, queue, KmsMasterKeyId="k", KmsDataKeyReusePeriodSeconds="6000")
    assert await told(world, queue, *names) == {
        "KmsMasterKeyId": "k",
        "KmsDataKeyReusePeriodSeconds": "6000",
        "SqsManagedSseEnabled": "false",
    }
    await change(world, queue, KmsMasterKeyId="", KmsDataKeyReusePeriodSeconds="300")
    assert await told(world, queue, *names) == {"SqsManagedSseEnabled": "false"}
    await change(world, queue, KmsMasterKeyId="k")
    await change(world, queue, SqsManagedSseEnabled="true")
    assert await told(world, queue, *names) == {"SqsManagedSseEnabled": "true"}


async def test_counts_are_those_of_the_queue() -> None:
    world = World()
    queue = await world.queue()
    await world.receipt(queue)
    for delay in (0, 0, 9):
        await world.done("SendMessage", QueueUrl=queue, MessageBody="m", DelaySeconds=delay)
    found = await told(world, queue, "All")
    assert found["ApproximateNumberOfMessages"] == "2"
    assert found["ApproximateNumberOfMessagesNotVisible"] == "1"
    assert found["ApproximateNumberOfMessagesDelayed"] == "1"


@pytest.mark.parametrize("count", [3, "3"])
async def test_redrive_policy_is_returned_with_a_number(count: object) -> None:
    world = World()
    scene = await furnished(world)
    policy = {"deadLetterTargetArn": scene["dead_arn"], "maxReceiveCount": count}
    await change(world, scene["queue"], RedrivePolicy=json.dumps(policy))
    found = await told(world, scene["queue"], "RedrivePolicy")
    assert json.loads(found["RedrivePolicy"]) == {**policy, "maxReceiveCount": 3}
    await change(world, scene["queue"], RedrivePolicy="")
    assert await told(world, scene["queue"], "RedrivePolicy") == {}


async def test_queue_by_queue_permission_to_redrive_is_kept_and_heeded() -> None:
    world = World()
    scene = await furnished(world)
    allow = {"redrivePermission": "byQueue", "sourceQueueArns": [scene["queue_arn"]]}
    await change(world, scene["dead"], RedriveAllowPolicy=json.dumps(allow))
    found = await told(world, scene["dead"], "RedriveAllowPolicy")
    assert json.loads(found["RedriveAllowPolicy"]) == allow
    policy = json.dumps({"deadLetterTargetArn": scene["dead_arn"], "maxReceiveCount": 1})
    await change(world, scene["queue"], RedrivePolicy=policy)
    request = {"QueueUrl": scene["small"], "Attributes": {"RedrivePolicy": policy}}
    assert (await world.call(QUERY, "SetQueueAttributes", request)).status == 400


async def test_policy_is_kept_word_for_word_and_taken_away_by_an_empty_one() -> None:
    grant = '{"Effect": "Allow", "Principal": "*", "Action": "sqs:*", "Resource": "*"}'
    text = f'{{"Version": "2012-10-17",\n "Statement": [{grant}]}}'
    world = World()
    queue = await world.queue()
    await change(world, queue, Policy=text)
    assert await told(world, queue, "Policy") == {"Policy": text}
    await change(world, queue, Policy="")
    assert await told(world, queue, "Policy") == {}


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_permissions_are_statements_of_the_policy(protocol: str) -> None:
    world = World()
    queue = await world.queue()
    one = {"QueueUrl": queue, "Label": "one", "AWSAccountIds": ["210987654321", ACCOUNT],
           "Actions": ["ReceiveMessage", "SendMessage"]}  # fmt: skip
    two = {"QueueUrl": queue, "Label": "two", "AWSAccountIds": [ACCOUNT], "Actions": ["*"]}
    await world.call(protocol, "AddPermission", one)
    await world.call(protocol, "AddPermission", two)
    policy = json.loads((await told(world, queue, "Policy"))["Policy"])
    assert policy["Version"] == "2008-10-17"
    assert policy["Id"] == f"{arn('orders')}/SQSDefaultPolicy"
    assert policy["Statement"] == [
        {
            "Sid": "one",
            "Effect": "Allow",
            "Principal": {
                "AWS": ["arn:aws:iam::210987654321:root", f"arn:aws:iam::{ACCOUNT}:root"]
            },
            "Action": ["SQS:ReceiveMessage", "SQS:SendMessage"],
            "Resource": arn("orders"),
        },
        {
            "Sid": "two",
            "Effect": "Allow",
            "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"},
            "Action": "SQS:*",
            "Resource": arn("orders"),
        },
    ]
    for label in ("one", "two"):
        await world.call(protocol, "RemovePermission", {"QueueUrl": queue, "Label": label})
    assert await told(world, queue, "Policy") == {}


async def test_permissions_added_at_once_are_all_kept() -> None:
    world = World()
    queue = await world.queue()
    await asyncio.gather(
        *(
            world.done("AddPermission", QueueUrl=queue, Label=f"l{number}",
                       AWSAccountIds=[ACCOUNT], Actions=["SendMessage"])
            for number in range(5)
        )
    )  # fmt: skip
    policy = json.loads((await told(world, queue, "Policy"))["Policy"])
    assert {each["Sid"] for each in policy["Statement"]} == {f"l{n}" for n in range(5)}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Partitions", "0"),
        ("Partitions", "257"),
        ("Partitions", "Auto"),
        ("PartitionsMin", "0"),
        ("PartitionsMin", "17"),
        ("PartitionsMax", "257"),
        ("InhibitionSeconds", "3601"),
        ("DequeueStrategy", "lifo"),
        ("DequeueFanout", "0"),
        ("RdsSleepMilliseconds", "20001"),
        ("RdsWake", "never"),
        ("PmsPeriodMilliseconds", "99"),
        ("SessionMigration", "true"),
    ],
)
async def test_partitions_are_searched_by_known_rules_only(name: str, value: str) -> None:
    world = World()
    queue = await world.queue()
    request = {"QueueUrl": queue, "Attributes": {name: value}}
    answer = await world.call(JSON, "SetQueueAttributes", request)
    assert answer.status == 400
    assert answer.body["__type"].endswith("InvalidAttributeValue")
    assert name in answer.body["message"]


async def test_fifo_queue_is_told_why_its_partitions_cannot_change() -> None:
    world = World()
    fifo = {"FifoQueue": "true", "DeduplicationScope": "messageGroup", "Partitions": "4"}
    queue = await world.queue("orders.fifo", **fifo)
    request = {"QueueUrl": queue, "Attributes": {"Partitions": "2"}}
    answer = await world.call(JSON, "SetQueueAttributes", request)
    assert answer.status == 400
    assert "lose their order" in answer.body["message"]


async def test_fifo_queue_cannot_size_itself() -> None:
    world = World()
    fifo = {"FifoQueue": "true", "Partitions": "auto"}
    request = {"QueueName": "orders.fifo", "Attributes": fifo}
    answer = await world.call(JSON, "CreateQueue", request)
    assert answer.status == 400
    assert answer.body["__type"].endswith("InvalidAttributeValue")
    assert "fixed" in answer.body["message"]


async def test_creation_with_a_number_does_not_find_a_queue_that_sizes_itself() -> None:
    world = World()
    await world.queue("jobs", Partitions="auto")
    request = {"QueueName": "jobs", "Attributes": {"Partitions": "1"}}
    answer = await world.call(JSON, "CreateQueue", request)
    assert answer.status == 400
    assert "Partitions" in answer.body["message"]


def test_names_of_the_table_are_distinct() -> None:
    names = [attribute.name for attribute in SETTABLE] + list(READ_ONLY)
    assert len(set(names)) == len(names) == 38


async def test_permissions_never_exceed_the_length_of_a_policy() -> None:
    world = World()
    queue = await world.queue()
    accounts = [f"{number:012d}" for number in range(50)]
    request = {"QueueUrl": queue, "AWSAccountIds": accounts, "Actions": ["SendMessage"]}
    answers = [
        await world.call(JSON, "AddPermission", {**request, "Label": f"label-{number}"})
        for number in range(10)
    ]
    assert [answer.code for answer in answers if answer.status != 200][-1] == "OverLimit"
    got = await world.done("GetQueueAttributes", QueueUrl=queue, AttributeNames=["Policy"])
    await world.done("SetQueueAttributes", QueueUrl=queue, Attributes=got["Attributes"])
