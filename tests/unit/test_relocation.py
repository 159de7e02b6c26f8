"""Moving all queues of an account between two servers of other accounts and regions."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from dovemq.client import SqsClient
from dovemq.client.moving import MoveOptions
from dovemq.client.relocating import UNFINISHED
from dovemq.client.relocation import AccountMover, QueueOutcome
from dovemq.sqs.shapes import SendMessageRequest
from dovemq.testing.local_server import LocalServer

OPTIONS = MoveOptions(workers=2, idle_seconds=20, wait_seconds=0, empty_seconds=0)
ARNS = "arn:aws:sqs:{0.region}:{0.announced.account}:"
ELSEWHERE = ["--region", "eu-west-1", "--account", "111122223333"]


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    data = tmp_path_factory.mktemp("other") / "data"
    with LocalServer(data, args=["--store", "memory://", *ELSEWHERE]) as running:
        yield running


class Ends:
    """Two servers whose queues were deleted, and what the mover said."""

    def __init__(self, source: SqsClient, target: SqsClient, old: str, new: str) -> None:
        self.source, self.target = source, target
        self.old, self.new = old, new
        """The ARNs of both ends without the name of a queue."""
        self.lines: list[str] = []

    def mover(self) -> AccountMover:
        return AccountMover(
            self.source, self.target, self.lines.append, options=OPTIONS, pause=_rest
        )

    async def move(self) -> dict[str, QueueOutcome]:
        return {each.queue: each for each in await self.mover().run()}

    async def send(self, queue: str, *bodies: str) -> None:
        for body in bodies:
            await self.source.send(queue, SendMessageRequest(message_body=body))

    async def bodies(self, queue: str) -> list[str]:
        found = await self.target.receive(queue, 10, wait_seconds=0)
        return sorted(each.body for each in found)

    def redrive(self, name: str, receives_max: int = 3) -> dict[str, str]:
        policy = {"deadLetterTargetArn": self.old + name, "maxReceiveCount": receives_max}
        return {"RedrivePolicy": json.dumps(policy)}


@pytest_asyncio.fixture
async def ends(server: LocalServer, other: LocalServer) -> AsyncIterator[Ends]:
    async with (
        SqsClient(server.endpoint_url, server.access_key, region=server.region) as source,
        SqsClient(other.endpoint_url, other.access_key, region=other.region) as target,
    ):
        for client in (source, target):
            for url in await client.queue_urls():
                await client.delete_queue(url)
        yield Ends(source, target, ARNS.format(server), ARNS.format(other))


async def _rest(_: float) -> None:
    await asyncio.sleep(0)


async def test_queues_arrive_with_attributes_tags_policies_and_messages(ends: Ends) -> None:
    given = {"VisibilityTimeout": "77", "OrderHint": "any", "DelaySeconds": "900"}
    await ends.source.create_queue("dead", {}, {})
    policy = json.dumps({"Version": "2012-10-17", "Statement": []})
    attributes = {**given, **ends.redrive("dead"), "Policy": policy}
    await ends.source.create_queue("jobs", attributes, {"team": "a"})
    await ends.source.create_queue("empty", {}, {})
    message = SendMessageRequest(message_body="first", delay_seconds=0)
    await ends.source.send("jobs", message)
    await ends.send("dead", "letter")
    done = await ends.move()
    assert [(each.created, each.moved, each.done) for each in done.values()] == [
        (True, 1, True),
        (True, 0, True),
        (True, 1, True),
    ]
    found = await ends.target.attributes("jobs", ("All", "AllExtended"))
    assert given.items() <= found.items()
    assert json.loads(found["Policy"]) == json.loads(policy)
    redrive = {"deadLetterTargetArn": f"{ends.new}dead", "maxReceiveCount": 3}
    assert json.loads(found["RedrivePolicy"]) == redrive
    assert await ends.target.tags("jobs") == {"team": "a"}
    # The message has waited for its delay at the source.
    assert await ends.bodies("jobs") == ["first"]
    assert await ends.bodies("dead") == ["letter"]
    assert ends.lines == []


async def test_second_run_finds_nothing_to_do(ends: Ends) -> None:
    await ends.source.create_queue("jobs", {"DelaySeconds": "3"}, {"team": "a"})
    await ends.move()
    again = (await ends.move())["jobs"]
    assert (again.created, again.differences, again.moved, again.done) == (False, [], 0, True)
    assert ends.lines == []


async def test_queue_that_differs_is_reported_and_filled_and_not_changed(ends: Ends) -> None:
    await ends.source.create_queue("jobs", {"DelaySeconds": "0"}, {})
    await ends.target.create_queue("jobs", {"DelaySeconds": "9"}, {})
    await ends.send("jobs", "one")
    done = (await ends.move())["jobs"]
    difference = "DelaySeconds is 0 at the source and 9 at the target"
    assert (done.created, done.differences, done.done) == (False, [difference], True)
    assert ends.lines == [f"jobs was at the target already and was not changed: {difference}"]
    assert await ends.bodies("jobs") == ["one"]
    assert (await ends.target.attributes("jobs"))["DelaySeconds"] == "9"


async def test_message_that_a_receive_makes_a_dead_letter_is_moved_as_one(ends: Ends) -> None:
    await ends.source.create_queue("a-dead", {}, {})
    await ends.source.create_queue("jobs", ends.redrive("a-dead", 1), {})
    await ends.send("jobs", "failed")
    await ends.source.receive("jobs", lease_seconds=0)
    done = await ends.move()
    assert all(each.done for each in done.values())
    assert (await ends.bodies("jobs"), await ends.bodies("a-dead")) == ([], ["failed"])


async def test_run_that_ended_before_the_links_were_set_is_finished(ends: Ends) -> None:
    await ends.source.create_queue("dead", {}, {})
    await ends.source.create_queue("jobs", ends.redrive("dead"), {"team": "a"})
    await ends.target.create_queue("jobs", {}, {"team": "a", UNFINISHED: "true"})
    done = (await ends.move())["jobs"]
    assert (done.differences, done.done) == ([], True)
    assert await ends.target.tags("jobs") == {"team": "a"}
    found = await ends.target.attributes("jobs", ["RedrivePolicy"])
    assert json.loads(found["RedrivePolicy"])["deadLetterTargetArn"] == f"{ends.new}dead"


async def test_link_that_the_target_refuses_is_a_problem_and_messages_move(ends: Ends) -> None:
    await ends.source.create_queue("gone", {}, {})
    await ends.source.create_queue("jobs", ends.redrive("gone"), {})
    await ends.source.delete_queue("gone")
    await ends.send("jobs", "one")
    done = (await ends.move())["jobs"]
    assert not done.done
    assert "RedrivePolicy was not set at the target: " in (done.problem or "")
    assert ends.lines == [f"jobs: {done.problem}"]
    assert await ends.bodies("jobs") == ["one"]
    assert UNFINISHED in await ends.target.tags("jobs")


async def test_messages_of_a_paused_queue_stay(ends: Ends) -> None:
    await ends.source.create_queue("jobs", {"DeliveryPaused": "true"}, {})
    await ends.send("jobs", "one")
    done = (await ends.move())["jobs"]
    assert (done.created, done.moved, done.remaining) == (True, 0, 1)
    assert "dovemq queue set jobs DeliveryPaused=false" in (done.problem or "")


async def test_stopped_mover_starts_no_queue_and_counts_what_remains(ends: Ends) -> None:
    await ends.source.create_queue("jobs", {}, {})
    await ends.send("jobs", "one", "two")
    mover = ends.mover()
    mover.stop()
    (done,) = await mover.run()
    assert (done.created, done.moved, done.remaining, done.problem) == (False, 0, 2, None)
    assert await ends.target.queue_urls() == []
