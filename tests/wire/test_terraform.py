"""The calls of Terraform's `aws_sqs_queue`, in its order, and its comparisons.

After a creation or a change the provider reads all attributes until each one that it sent is
there again: policies equal as JSON, everything else equal as text, and one that it sent empty may
be missing. An attribute that never comes back as it was sent ends in a timeout.
"""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.wire.speaking import JSON
from tests.wire.world import ACCOUNT, World, arn

JSON_ATTRIBUTES = ("Policy", "RedrivePolicy", "RedriveAllowPolicy")
ALWAYS_SENT = {
    "DelaySeconds": "0",
    "MaximumMessageSize": "262144",
    "MessageRetentionPeriod": "345600",
    "ReceiveMessageWaitTimeSeconds": "0",
    "VisibilityTimeout": "30",
}
POLICY = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "one",
                "Effect": "Allow",
                "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"},
                "Action": "sqs:SendMessage",
                "Resource": arn("tf"),
                "Condition": {"ArnEquals": {"aws:SourceArn": "arn:aws:sns:us-east-1:1:t"}},
            }
        ],
    },
    separators=(",", ":"),
    sort_keys=True,
)


class Provider:
    """The state of one resource: its id, which is the URL of the queue."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.url = ""

    async def create(self, name: str, attributes: Mapping[str, str], tags: Any = None) -> None:
        request = {"QueueName": name, "Attributes": dict(attributes), "tags": tags or {}}
        self.url = (await self._world.done("CreateQueue", **request))["QueueUrl"]
        await self._check_propagated(attributes)

    async def update(self, attributes: Mapping[str, str]) -> None:
        await self._world.done("SetQueueAttributes", QueueUrl=self.url, Attributes=attributes)
        await self._check_propagated(attributes)

    async def read(self) -> dict[str, str]:
        request = {"QueueUrl": self.url, "AttributeNames": ["All"]}
        found = (await self._world.done("GetQueueAttributes", **request))["Attributes"]
        assert isinstance(found, dict)
        return found

    async def read_one(self, name: str) -> str | None:
        """Change one attribute, as `aws_sqs_queue_policy` and similar resources do."""
        request = {"QueueUrl": self.url, "AttributeNames": [name]}
        answer = await self._world.done("GetQueueAttributes", **request)
        found: str | None = answer.get("Attributes", {}).get(name)
        return found

    async def tags(self) -> Any:
        return (await self._world.done("ListQueueTags", QueueUrl=self.url)).get("Tags", {})

    async def retag(self, old: Mapping[str, str], new: Mapping[str, str]) -> None:
        if removed := sorted(set(old) - set(new)):
            await self._world.done("UntagQueue", QueueUrl=self.url, TagKeys=removed)
        if changed := {key: tag for key, tag in new.items() if old.get(key) != tag}:
            await self._world.done("TagQueue", QueueUrl=self.url, Tags=changed)

    async def delete(self) -> str:
        """The code by which the provider recognises that the queue is gone."""
        await self._world.done("DeleteQueue", QueueUrl=self.url)
        request = {"QueueUrl": self.url, "AttributeNames": ["All"]}
        answer = await self._world.call(JSON, "GetQueueAttributes", request)
        assert answer.status == 400
        return str(answer.code)

    async def _check_propagated(self, sent: Mapping[str, str]) -> None:
        told = await self.read()
        for name, value in sent.items():
            if name not in told:
                assert value == "", name
            elif name in JSON_ATTRIBUTES:
                assert json.loads(told[name]) == json.loads(value), name
            else:
                assert told[name] == value, name


def redrive(count: int) -> str:
    return json.dumps({"deadLetterTargetArn": arn("tf-dead"), "maxReceiveCount": count})


STANDARD = {
    "plain": {},
    "encrypted by a key": {
        "KmsMasterKeyId": "alias/aws/sqs",
        "KmsDataKeyReusePeriodSeconds": "600",
    },
    "encrypted by the service": {"SqsManagedSseEnabled": "true"},
    "not encrypted": {"SqsManagedSseEnabled": "false"},
    "policy": {"Policy": POLICY},
    "redrive": {"RedrivePolicy": redrive(4)},
    "redrive allowed by queue": {
        "RedriveAllowPolicy": json.dumps(
            {"redrivePermission": "byQueue", "sourceQueueArns": [arn("later"), arn("other")]}
        )
    },
    "redrive denied": {"RedriveAllowPolicy": '{"redrivePermission":"denyAll"}'},
    "values": {
        "DelaySeconds": "90",
        "MaximumMessageSize": "2048",
        "MessageRetentionPeriod": "86400",
        "ReceiveMessageWaitTimeSeconds": "10",
        "VisibilityTimeout": "0",
    },
}
FIFO = {
    "plain": {},
    "by content": {"ContentBasedDeduplication": "true"},
    "high throughput": {
        "DeduplicationScope": "messageGroup",
        "FifoThroughputLimit": "perMessageGroupId",
    },
}


@pytest.mark.parametrize("name", STANDARD)
async def test_created_queue_tells_each_attribute_as_it_was_sent(name: str) -> None:
    world = World()
    await world.queue("tf-dead")
    provider = Provider(world)
    await provider.create("tf", {**ALWAYS_SENT, **STANDARD[name]})
    assert (await provider.read())["QueueArn"] == arn("tf")
    assert provider.url.split("/")[3:] == [ACCOUNT, "tf"]


@pytest.mark.parametrize("name", FIFO)
async def test_created_fifo_queue_tells_each_attribute_as_it_was_sent(name: str) -> None:
    provider = Provider(World())
    sent = {**ALWAYS_SENT, "FifoQueue": "true", **FIFO[name]}
    await provider.create("tf.fifo", sent)
    assert (await provider.read())["FifoQueue"] == "true"


async def test_standard_queue_tells_nothing_that_only_fifo_queues_have() -> None:
    provider = Provider(World())
    await provider.create("tf", ALWAYS_SENT)
    fifo_only = {"FifoQueue", "ContentBasedDeduplication", "DeduplicationScope"}
    assert not fifo_only & set(await provider.read())


async def test_consecutive_changes_are_returned_as_they_were_sent() -> None:
    world = World()
    await world.queue("tf-dead")
    provider = Provider(world)
    await provider.create("tf", ALWAYS_SENT)
    for changes in (
        {"VisibilityTimeout": "60", "DelaySeconds": "5"},
        {"Policy": POLICY},
        {"RedrivePolicy": redrive(4)},
        {"RedrivePolicy": redrive(5), "Policy": ""},
        {"KmsMasterKeyId": "alias/mine", "KmsDataKeyReusePeriodSeconds": "300"},
        {"KmsMasterKeyId": "", "SqsManagedSseEnabled": "true"},
        {"SqsManagedSseEnabled": "false"},
    ):
        await provider.update(changes)


async def test_count_of_receives_is_returned_as_the_number_that_was_sent() -> None:
    world = World()
    await world.queue("tf-dead")
    provider = Provider(world)
    await provider.create("tf", {**ALWAYS_SENT, "RedrivePolicy": redrive(4)})
    told = await provider.read_one("RedrivePolicy")
    assert told is not None
    assert json.loads(told)["maxReceiveCount"] == 4
    assert '"4"' not in told


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Policy", POLICY),
        ("RedrivePolicy", redrive(4)),
        ("RedriveAllowPolicy", '{"redrivePermission":"denyAll"}'),
    ],
)
async def test_resource_of_one_attribute_sets_reads_and_clears_it(name: str, value: str) -> None:
    world = World()
    await world.queue("tf-dead")
    provider = Provider(world)
    await provider.create("tf", ALWAYS_SENT)
    await provider.update({name: value})
    assert json.loads(await provider.read_one(name) or "null") == json.loads(value)
    await provider.update({name: ""})
    assert await provider.read_one(name) is None


async def test_tags_are_read_added_changed_and_removed() -> None:
    provider = Provider(World())
    first = {"Environment": "test", "Empty": ""}
    await provider.create("tf", ALWAYS_SENT, first)
    assert await provider.tags() == first
    second = {"Environment": "live", "Team": "a"}
    await provider.retag(first, second)
    assert await provider.tags() == second
    await provider.retag(second, {})
    assert await provider.tags() == {}


async def test_deleted_queue_is_said_not_to_exist_and_its_name_may_be_used_again() -> None:
    provider = Provider(World())
    await provider.create("tf", ALWAYS_SENT)
    assert await provider.delete() == "AWS.SimpleQueueService.NonExistentQueue"
    await provider.create("tf", {**ALWAYS_SENT, "DelaySeconds": "9"})
    assert (await provider.read())["DelaySeconds"] == "9"
