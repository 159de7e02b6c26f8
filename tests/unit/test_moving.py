"""Moving a queue into another: what is kept, what is refused, what a lost answer does."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import pytest

from dovemq.client import Refused, SqsClient, Unreachable
from dovemq.client.batching import batches
from dovemq.client.delivering import QueueSide, SameQueue, received_bytes
from dovemq.client.moving import MoveOptions, MoveSummary, QueueMover
from dovemq.sqs.shapes import (
    AttributeValue,
    ReceivedMessage,
    SendEntry,
    SendMessageBatchResponse,
    SendMessageRequest,
    SendMessageResponse,
)
from dovemq.testing.local_server import LocalServer

OPTIONS = MoveOptions(workers=2, idle_seconds=20, wait_seconds=0, empty_seconds=0)
FIFO = {"FifoQueue": "true"}
numbers = itertools.count()

T = TypeVar("T")


class LossyClient(SqsClient):
    """Every second answer to a send is lost after the server has given it."""

    sends = 0

    async def send(self, queue: str, message: SendMessageRequest) -> SendMessageResponse:
        return self._maybe(await super().send(queue, message))

    async def send_batch(
        self, queue: str, entries: Sequence[SendEntry]
    ) -> SendMessageBatchResponse:
        return self._maybe(await super().send_batch(queue, entries))

    def _maybe(self, answer: T) -> T:
        self.sends += 1
        if self.sends % 2:
            raise Unreachable("target", "lost")
        return answer


class Bench:
    """Two queues of one server, and what the mover said."""

    def __init__(self, client: SqsClient, target: SqsClient, source: str, goal: str) -> None:
        self.client = client
        self.source = QueueSide(client, source)
        self.target = QueueSide(target, goal)
        self.problems: list[str] = []

    def mover(self, *, keep_ids: bool = False) -> QueueMover:
        return QueueMover(
            self.source,
            self.target,
            self.problems.append,
            options=OPTIONS,
            keep_ids=keep_ids,
            pause=_rest,
        )

    async def send(self, body: str, **more: str) -> str:
        message = SendMessageRequest(
            message_body=body,
            message_group_id=more.get("group"),
            message_deduplication_id=more.get("key"),
        )
        return (await self.client.send(self.source.queue, message)).message_id

    async def arrived(self) -> list[ReceivedMessage]:
        found: list[ReceivedMessage] = []
        while got := await self.client.receive(self.target.queue, 10, wait_seconds=0):
            found += got
            await self.client.settle_batch(self.target.queue, [m.receipt_handle for m in got])
        return found

    async def bodies(self) -> list[str]:
        return [message.body for message in await self.arrived()]


async def _rest(_: float) -> None:
    await asyncio.sleep(0)


@asynccontextmanager
async def bench(
    server: LocalServer,
    source: dict[str, str],
    target: dict[str, str],
    kind: type[SqsClient] = SqsClient,
) -> AsyncIterator[Bench]:
    async with (
        SqsClient(server.endpoint_url, server.access_key) as client,
        kind(server.endpoint_url, server.access_key) as other,
    ):
        urls = []
        for attributes in (source, target):
            name = f"move-{next(numbers)}" + (".fifo" if "FifoQueue" in attributes else "")
            urls.append(await client.create_queue(name, attributes, {}))
        yield Bench(client, other, *urls)


async def test_message_keeps_body_attributes_group_and_trace(server: LocalServer) -> None:
    async with bench(server, {}, {}) as made:
        attributes = {
            "n": AttributeValue("Number.int", "3"),
            "b": AttributeValue("Binary", binary_value=b"\x00\xff"),
        }
        trace = {"AWSTraceHeader": AttributeValue("String", "Root=1-5759e988")}
        message = SendMessageRequest(
            message_body="héllo\n",
            message_attributes=attributes,
            message_system_attributes=trace,
            message_group_id="g",
        )
        await made.client.send(made.source.queue, message)
        assert await made.mover().run() == MoveSummary(1, 0, 0, 0, False)
        [found] = await made.arrived()
        assert (found.body, found.message_attributes) == ("héllo\n", attributes)
        assert found.attributes["MessageGroupId"] == "g"
        assert found.attributes["AWSTraceHeader"] == "Root=1-5759e988"


async def test_fifo_groups_keep_their_order(server: LocalServer) -> None:
    async with bench(server, FIFO, FIFO) as made:
        for number in range(60):
            await made.send(str(number), group=f"g{number % 3}", key=f"k{number}")
        assert (await made.mover().run()).moved == 60
        found = [(m.attributes["MessageGroupId"], m.body) for m in await made.arrived()]
        for group in range(3):
            bodies = [body for name, body in found if name == f"g{group}"]
            assert bodies == [str(number) for number in range(group, 60, 3)]


async def test_messages_that_share_a_deduplication_id_are_all_moved(
    server: LocalServer,
) -> None:
    async with bench(server, {**FIFO, "DeduplicationScope": "messageGroup"}, FIFO) as made:
        ids = {await made.send(group, group=group, key="same") for group in "abc"}
        assert (await made.mover().run()).moved == 3
        found = await made.arrived()
        assert sorted(m.body for m in found) == ["a", "b", "c"]
        assert {m.attributes["MessageDeduplicationId"] for m in found} == ids


async def test_kept_id_that_would_drop_a_message_leaves_it_at_the_source(
    server: LocalServer,
) -> None:
    async with bench(server, {**FIFO, "DeduplicationScope": "messageGroup"}, FIFO) as made:
        for group in "abc":
            await made.send(group, group=group, key="same")
        assert await made.mover(keep_ids=True).run() == MoveSummary(1, 2, 0, 2, False)
        assert all("same deduplication id" in problem for problem in made.problems)
        [found] = await made.arrived()
        assert found.attributes["MessageDeduplicationId"] == "same"


async def test_standard_message_gets_group_and_id_where_the_target_wants_them(
    server: LocalServer,
) -> None:
    async with bench(server, {}, FIFO) as made:
        message_id = await made.send("one")
        assert (await made.mover().run()).moved == 1
        [found] = await made.arrived()
        assert found.attributes["MessageGroupId"] == message_id
        assert found.attributes["MessageDeduplicationId"] == message_id


async def test_fifo_message_goes_into_a_standard_queue(server: LocalServer) -> None:
    async with bench(server, FIFO, {}) as made:
        await made.send("one", group="g", key="k")
        assert (await made.mover().run()).moved == 1
        assert await made.bodies() == ["one"]


async def test_lost_answers_lose_nothing(server: LocalServer) -> None:
    async with bench(server, {}, {}, LossyClient) as made:
        bodies = {await made.send(str(number)) and str(number) for number in range(50)}
        summary = await made.mover().run()
        assert (summary.moved, summary.remaining) == (50, 0)
        assert set(await made.bodies()) == bodies


async def test_fifo_target_takes_a_message_once_though_answers_are_lost(
    server: LocalServer,
) -> None:
    async with bench(server, FIFO, FIFO, LossyClient) as made:
        for number in range(30):
            await made.send(str(number), group="g", key=f"k{number}")
        assert (await made.mover().run()).remaining == 0
        assert await made.bodies() == [str(number) for number in range(30)]


async def test_message_that_the_target_refuses_stays_at_the_source(server: LocalServer) -> None:
    async with bench(server, {}, {"MaximumMessageSize": "1024"}) as made:
        long_id = await made.send("x" * 2000)
        for number in range(20):
            await made.send(str(number))
        assert await made.mover().run() == MoveSummary(20, 1, 0, 1, False)
        assert [long_id in problem for problem in made.problems] == [True]
        assert len(await made.bodies()) == 20


async def test_refused_message_holds_back_what_follows_in_its_group(server: LocalServer) -> None:
    async with bench(server, FIFO, {**FIFO, "MaximumMessageSize": "1024"}) as made:
        for key, body in enumerate(["first", "x" * 2000, "third"]):
            await made.send(body, group="g", key=str(key))
        await made.send("other", group="h", key="h")
        mover = made.mover()
        move = asyncio.create_task(mover.run())
        while mover.moved < 2:
            await asyncio.sleep(0)
        mover.stop()
        assert await move == MoveSummary(2, 1, 0, 2, True)
        assert sorted(await made.bodies()) == ["first", "other"]


async def test_queue_is_not_moved_into_itself(server: LocalServer) -> None:
    async with bench(server, {}, {}) as made:
        await made.send("round and round")
        made.target = made.source
        with pytest.raises(SameQueue):
            await made.mover().run()


async def test_target_that_is_gone_ends_the_move_and_loses_nothing(server: LocalServer) -> None:
    async with bench(server, {}, {}) as made:
        await made.send("kept")
        await made.client.delete_queue(made.target.queue)
        with pytest.raises(Refused, match="NonExistentQueue"):
            await made.mover().run()
        reported = await made.client.attributes(made.source.queue)
        assert reported["ApproximateNumberOfMessagesNotVisible"] == "1"


def received(number: int, body: str) -> ReceivedMessage:
    value = {"name": AttributeValue("String", "v" * 100)}
    return ReceivedMessage(str(number), "r", "", body, message_attributes=value)


def test_batches_hold_ten_messages_and_a_mebibyte_at_most() -> None:
    small = [received(number, "b") for number in range(25)]
    assert [len(batch) for batch in batches(small, received_bytes)] == [10, 10, 5]
    large = [received(number, "é" * (1 << 18)) for number in range(4)]
    assert [len(batch) for batch in batches(large, received_bytes)] == [1, 1, 1, 1]
    assert list(batches([], received_bytes)) == []
