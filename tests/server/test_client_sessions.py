"""Sessions of clients over real connections: they begin, have roles, and end."""

import asyncio
import itertools
import json
import random
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from dovemq.client import Refused, SqsClient, WrongRole, connect_async
from dovemq.core.errors import InvalidValue
from dovemq.core.queue import Queue, QueueKey
from dovemq.core.sending import new_draft
from dovemq.fabric.store import FabricStore
from dovemq.service import build_service
from dovemq.sqs.endpoint import SqsEndpoint
from dovemq.sqs.shapes import SendMessageRequest
from dovemq.stores.memory import MemoryStore
from dovemq.system.clock import SystemClock
from tests.server.sockets import Answer, Serving, post, serving

ACCOUNT = "000000000000"
MESSAGE = SendMessageRequest(message_body="x")


class Place:
    """An endpoint with the queue `jobs` of two partitions, which sizes itself."""

    def __init__(self) -> None:
        clock, numbers = SystemClock(), itertools.count(1)

        def new_id() -> str:
            return f"00000000-0000-4000-8000-{next(numbers):012d}"

        self.fabric = FabricStore(MemoryStore(random.Random(1), b"k" * 32), clock)
        self.service = build_service(self.fabric, clock, new_id, join=self.fabric.join)
        self.endpoint = SqsEndpoint(self.service, None, "us-east-1", ACCOUNT, None, new_id)
        self.serving: Serving
        self.queue: Queue
        self._clients: list[SqsClient] = []

    async def start(self, serving: Serving) -> None:
        self.serving = serving
        queue = await self.service.queues.create(QueueKey(ACCOUNT, "jobs"), {"partitions": 2}, {})
        settings = msgspec.structs.replace(queue.settings, auto=True)
        changed = msgspec.structs.replace(queue, settings=settings)
        assert await self.fabric.catalogue.replace(changed)
        self.queue = changed

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.serving.listener.port}"

    @property
    def queue_url(self) -> str:
        return f"{self.url}/{ACCOUNT}/jobs"

    def client(self) -> SqsClient:
        """A client with one connection, which stays open."""
        self._clients.append(SqsClient(self.url, connections_max=1))
        return self._clients[-1]

    def sessions(self) -> dict[int, tuple[int, int]]:
        counts = self.fabric.clients.counts(self.queue.number)
        return {each: (counts[each].producers, counts[each].consumers) for each in sorted(counts)}

    async def until(self, wanted: dict[int, tuple[int, int]]) -> None:
        await self.serving.until(lambda: self.sessions() == wanted)

    async def close(self) -> None:
        for client in self._clients:
            await client.close()
        await self.service.close()


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    made = Place()
    async with serving(made.endpoint.handle) as started:
        await made.start(started)
        yield made
        await made.close()


async def test_connection_is_one_session_until_it_is_closed(place: Place) -> None:
    one, other = place.client(), place.client()
    for _ in range(3):
        await one.send(place.queue_url, MESSAGE)
    assert place.sessions() == {0: (1, 0)}
    await other.send(place.queue_url, MESSAGE)
    assert place.sessions() == {0: (1, 0), 1: (1, 0)}
    await one.close()
    await place.until({1: (1, 0)})


async def test_connection_that_sends_and_receives_has_two_roles(place: Place) -> None:
    client = place.client()
    await client.send(place.queue_url, MESSAGE)
    (received,) = await client.receive(place.queue_url)
    await client.settle(place.queue_url, received.receipt_handle)
    assert place.sessions() == {0: (1, 0), 1: (0, 1)}
    await client.close()
    await place.until({})


async def test_requests_without_a_role_make_no_session(place: Place) -> None:
    client = place.client()
    await client.attributes(place.queue_url)
    await client.queue_url("jobs")
    assert place.sessions() == {}


async def test_session_ends_when_its_client_leaves_a_long_poll(place: Place) -> None:
    client = place.client()
    polling = asyncio.create_task(client.receive(place.queue_url, wait_seconds=20))
    await place.until({0: (0, 1)})
    polling.cancel()
    await place.until({})


async def test_move_task_is_no_session_of_the_client_that_started_it(place: Place) -> None:
    client = place.client()
    arn = (await client.attributes(place.queue_url, ["QueueArn"]))["QueueArn"]
    redrive = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
    source = await client.create_queue("source", {"RedrivePolicy": redrive}, {})
    draft = new_draft(place.queue, message_id="id", body="x", sender=ACCOUNT)
    await place.service.messages.send(place.queue, [draft])
    await client.start_move(arn, f"{arn.removesuffix('jobs')}source", None)
    await place.service.moves.idle()
    assert len(await client.receive(source)) == 1
    assert place.sessions() == {}


async def test_role_is_announced_when_a_session_connects(place: Place) -> None:
    async with connect_async(place.queue_url, "consumer") as consumer:
        assert place.sessions() == {0: (0, 1)}
        async with connect_async("jobs", "producer", endpoint_url=place.url) as producer:
            assert producer.queue_url == consumer.queue_url == place.queue_url
            assert place.sessions() == {0: (0, 1), 1: (1, 0)}
            message_id = await producer.send("hello")
            (received,) = await consumer.receive(wait_seconds=5)
            assert (received.message_id, received.body) == (message_id, "hello")
            await consumer.extend(received.receipt_handle, 60)
            await consumer.delete(received.receipt_handle)
            assert place.sessions() == {0: (0, 1), 1: (1, 0)}
        await place.until({0: (0, 1)})
    await place.until({})


async def test_session_does_what_its_role_does(place: Place) -> None:
    async with connect_async(place.queue_url, "consumer") as consumer:
        with pytest.raises(WrongRole, match="send: this session is a consumer"):
            await consumer.send("x")
    async with connect_async(place.queue_url, "producer") as producer:
        with pytest.raises(WrongRole, match="connect another one as a consumer"):
            await producer.receive()


async def test_queue_that_does_not_exist_cannot_be_connected_to(place: Place) -> None:
    with pytest.raises(Refused):
        async with connect_async("nothing", "producer", endpoint_url=place.url):
            pass
    await place.serving.until(lambda: not place.serving.traffic.connections)


async def test_unknown_role_is_refused_by_the_client(place: Place) -> None:
    unknown: Any = "observer"
    with pytest.raises(InvalidValue, match="producer or consumer"):
        async with connect_async(place.queue_url, unknown):
            pass


async def announce(place: Place, role: str) -> Answer:
    client = await place.serving.connect()
    headers = ("X-Amz-Target: AmazonSQS.GetQueueUrl", "Content-Type: application/x-amz-json-1.0")
    body = json.dumps({"QueueName": "jobs", "QueueOwnerAWSAccountId": ACCOUNT}).encode()
    return await client.ask(post(body, *headers, f"X-Dovemq-Role: {role}"))


async def test_unknown_role_is_refused_by_the_server(place: Place) -> None:
    answer = await announce(place, "observer" * 100)
    assert answer.status == 400
    assert b"Must be producer or consumer." in answer.body
    assert len(answer.body) < 300
    assert place.sessions() == {}


async def test_role_needs_the_right_to_act_in_it(place: Place) -> None:
    policy = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Deny",
                "Principal": "*",
                "Action": "sqs:SendMessage",
                "Resource": f"arn:aws:sqs:us-east-1:{ACCOUNT}:jobs",
            }
        ],
    }
    await place.client().set_attributes(place.queue_url, {"Policy": json.dumps(policy)})
    assert (await announce(place, "producer")).status == 403
    assert place.sessions() == {}
    assert (await announce(place, "consumer")).status == 200
    assert place.sessions() == {0: (0, 1)}
