"""Applying a file of declared queues, once and again."""

import json
import tomllib

import pytest

from dovemq.settings import DeclarationInvalid
from dovemq.sqs.declared import read_declared
from dovemq.sqs.declaring import DeclarationResult, ServiceOwner, declare
from tests.tidy.sources import ROOT
from tests.wire.world import ACCOUNT, REGION, World, arn, url

FILE = "queues.toml"
TWO = """
[queues.jobs]
VisibilityTimeout = 60
OrderHint = 5
dead_letters = { queue = "jobs-dead", maxReceiveCount = 3 }
tags = { team = "billing" }

[queues.jobs-dead]
MessageRetentionPeriod = 1209600
"""


async def declared(world: World, text: str) -> DeclarationResult:
    owner = ServiceOwner(world.service, REGION, ACCOUNT, lambda: "id")
    return await declare(read_declared(tomllib.loads(text), FILE), owner, FILE)


async def attributes(world: World, name: str) -> dict[str, str]:
    request = {"QueueUrl": url(name), "AttributeNames": ["All", "AllExtended"]}
    found = (await world.done("GetQueueAttributes", **request))["Attributes"]
    assert isinstance(found, dict)
    return found


async def tags(world: World, name: str) -> object:
    return (await world.done("ListQueueTags", QueueUrl=url(name))).get("Tags", {})


async def test_missing_queues_are_created_with_attributes_tags_and_dead_letters() -> None:
    world = World()
    assert await declared(world, TWO) == DeclarationResult(["jobs", "jobs-dead"], [], [])
    jobs = await attributes(world, "jobs")
    assert (jobs["VisibilityTimeout"], jobs["OrderHint"]) == ("60", "5")
    assert json.loads(jobs["RedrivePolicy"]) == {
        "deadLetterTargetArn": arn("jobs-dead"),
        "maxReceiveCount": 3,
    }
    assert await tags(world, "jobs") == {"team": "billing"}


async def test_second_time_changes_nothing() -> None:
    world = World()
    await declared(world, TWO)
    before = await attributes(world, "jobs")
    world.clock.advance(60_000)
    assert await declared(world, TWO) == DeclarationResult([], [], ["jobs", "jobs-dead"])
    assert await attributes(world, "jobs") == before


async def test_existing_queue_is_brought_to_the_declared_values_and_keeps_the_rest() -> None:
    world = World()
    await world.queue("jobs", VisibilityTimeout="5", DelaySeconds="7")
    await world.done("TagQueue", QueueUrl=url("jobs"), Tags={"team": "a", "own": "b"})
    await world.done("SendMessage", QueueUrl=url("jobs"), MessageBody="kept")
    await world.queue("bystander")
    assert await declared(world, TWO) == DeclarationResult(["jobs-dead"], ["jobs"], [])
    jobs = await attributes(world, "jobs")
    assert (jobs["VisibilityTimeout"], jobs["DelaySeconds"]) == ("60", "7")
    assert jobs["ApproximateNumberOfMessagesDelayed"] == "1"
    assert await tags(world, "jobs") == {"team": "billing", "own": "b"}
    assert await attributes(world, "bystander")


async def test_changed_file_changes_its_queue_alone() -> None:
    world = World()
    await declared(world, TWO)
    text = TWO.replace("maxReceiveCount = 3", "maxReceiveCount = 9")
    assert await declared(world, text) == DeclarationResult([], ["jobs"], ["jobs-dead"])
    assert '"maxReceiveCount":9' in (await attributes(world, "jobs"))["RedrivePolicy"]


async def test_dead_letter_queue_may_exist_already_or_point_back() -> None:
    world = World()
    await world.queue("old")
    text = """
    [queues.one]
    dead_letters = { queue = "two", maxReceiveCount = 1 }
    [queues.two]
    dead_letters = { queue = "one", maxReceiveCount = 1 }
    [queues.three]
    dead_letters = { queue = "old", maxReceiveCount = 1 }
    """
    assert (await declared(world, text)).created == ["one", "two", "three"]
    assert (await declared(world, text)).unchanged == ["one", "two", "three"]


async def test_fifo_queue_is_known_by_its_name() -> None:
    world = World()
    text = '[queues."orders.fifo"]\nContentBasedDeduplication = true'
    await declared(world, text)
    assert (await attributes(world, "orders.fifo"))["FifoQueue"] == "true"
    assert (await declared(world, text)).unchanged == ["orders.fifo"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("VisibilityTimeout = 43201", "queue jobs: Invalid value for the parameter Visibility"),
        ("VisibilityTimeout = 'soon'", "queue jobs: Invalid value for the parameter Visibility"),
        ("ContentBasedDeduplication = true", "Unknown Attribute ContentBasedDeduplication."),
        ("tags = {'aws:x' = 'y'}", "queue jobs: Value aws:x for parameter TagKey is invalid."),
        (
            "dead_letters = {queue = 'nowhere', maxReceiveCount = 1}",
            "queue jobs: dead_letters: there is no queue nowhere",
        ),
        (
            "dead_letters = {queue = 'jobs', maxReceiveCount = 1001}",
            "queue jobs: dead_letters: Value ",
        ),
    ],
)
async def test_refusal_names_file_queue_and_what_was_refused(text: str, expected: str) -> None:
    world = World()
    with pytest.raises(DeclarationInvalid) as caught:
        await declared(world, f"[queues.jobs]\n{text}")
    assert f"{FILE}: queue jobs" in str(caught.value)
    assert expected in str(caught.value)


async def test_name_that_no_queue_can_have_is_refused() -> None:
    world = World()
    for name in ("a b", "x" * 81, "a.b"):
        with pytest.raises(DeclarationInvalid, match="QueueName"):
            await declared(world, f'[queues."{name}"]')


async def test_example_of_the_how_to_is_declared_as_written() -> None:
    page = (ROOT / "docs" / "how-to" / "move-in.md").read_text()
    text = page.partition("```toml\n")[2].partition("```")[0]

    world = World()
    assert (await declared(world, text)).created == ["jobs", "jobs-dead", "orders.fifo"]
    assert len((await declared(world, text)).unchanged) == 3
