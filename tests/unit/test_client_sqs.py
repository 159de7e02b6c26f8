"""The SQS and admin clients, and their blocking faces, against a real server."""

import asyncio
import threading
import uuid
from collections.abc import Iterator

import pytest

from dovemq.client import (
    AdminClient,
    AnswerMalformed,
    BlockingAdminClient,
    BlockingSqsClient,
    Refused,
    SqsClient,
)
from dovemq.client.retrying import is_about_one_message
from dovemq.core.access import AccessKey
from dovemq.sqs.shapes import AttributeValue, SendEntry, SendMessageRequest
from dovemq.testing.clock import ManualClock
from dovemq.testing.local_server import LocalServer

LONG_AGO_MS = 1_000_000_000_000


@pytest.fixture
def client(server: LocalServer) -> Iterator[BlockingSqsClient]:
    with BlockingSqsClient(server.endpoint_url, server.access_key) as opened:
        yield opened


@pytest.fixture
def admin(server: LocalServer) -> Iterator[BlockingAdminClient]:
    with BlockingAdminClient(server.admin_url, server.access_key) as opened:
        yield opened


@pytest.fixture
def queue(client: BlockingSqsClient) -> str:
    return client.create_queue(f"q-{uuid.uuid4()}", {}, {})


def name_of(queue: str) -> str:
    return queue.rpartition("/")[2]


def test_message_goes_there_and_back(client: BlockingSqsClient, queue: str) -> None:
    attributes = {
        "t": AttributeValue("String", "é"),
        "b": AttributeValue("Binary", binary_value=b"\x00\xff"),
    }
    message = SendMessageRequest(message_body="héllo", message_attributes=attributes)
    sent = client.send(queue, message)
    (received,) = client.receive(queue, 10)
    assert (received.message_id, received.body) == (sent.message_id, "héllo")
    assert received.message_attributes == attributes
    assert received.attributes["ApproximateReceiveCount"] == "1"
    client.settle(queue, received.receipt_handle)
    assert client.receive(queue, 10) == []


def test_batches_tell_what_failed(client: BlockingSqsClient, queue: str) -> None:
    answer = client.send_batch(
        queue, [SendEntry(id="a", message_body="one"), SendEntry(id="b", message_body="\x00")]
    )
    assert [entry.id for entry in answer.successful] == ["a"]
    assert [entry.id for entry in answer.failed] == ["b"]
    (received,) = client.receive(queue, 10)
    settled = client.settle_batch(queue, [received.receipt_handle, "garbage"])
    assert [entry.id for entry in settled.successful] == ["0"]
    assert [entry.id for entry in settled.failed] == ["1"]


async def test_long_poll_waits_for_a_message(server: LocalServer, queue: str) -> None:
    async with SqsClient(server.endpoint_url, server.access_key) as client:
        waiting = asyncio.create_task(client.receive(queue, wait_seconds=20))
        await client.send(queue, SendMessageRequest(message_body="hello"))
        assert [message.body for message in await waiting] == ["hello"]


def test_extended_lease_of_zero_makes_visible(client: BlockingSqsClient, queue: str) -> None:
    client.send(queue, SendMessageRequest(message_body="x"))
    (first,) = client.receive(queue, lease_seconds=60)
    client.extend(queue, first.receipt_handle, 0)
    (second,) = client.receive(queue)
    assert second.attributes["ApproximateReceiveCount"] == "2"


def test_queues_are_created_listed_changed_and_deleted(client: BlockingSqsClient) -> None:
    prefix = f"q-{uuid.uuid4()}"
    urls = [client.create_queue(f"{prefix}-{n}", {"DelaySeconds": "1"}, {"k": "v"}) for n in (1, 2)]
    assert client.queue_urls(prefix) == urls
    assert client.queue_url(f"{prefix}-1") == urls[0]
    client.set_attributes(urls[0], {"DelaySeconds": "7"})
    assert client.attributes(urls[0], ["DelaySeconds"]) == {"DelaySeconds": "7"}
    client.tag(urls[0], {"other": "w"})
    client.untag(urls[0], ["k"])
    assert client.tags(urls[0]) == {"other": "w"}
    client.purge(urls[0])
    client.delete_queue(urls[0])
    assert client.queue_urls(prefix) == urls[1:]


def test_dead_letters_are_moved_back(client: BlockingSqsClient, queue: str) -> None:
    dead = client.create_queue(f"dead-{uuid.uuid4()}", {}, {})
    arn = client.attributes(dead, ["QueueArn"])["QueueArn"]
    policy = f'{{"deadLetterTargetArn":"{arn}","maxReceiveCount":1}}'
    client.set_attributes(queue, {"RedrivePolicy": policy, "VisibilityTimeout": "0"})
    client.send(queue, SendMessageRequest(message_body="poison"))
    assert len(client.receive(queue)) == 1
    assert client.receive(queue) == []
    assert client.start_move(arn, None, None)
    assert [message.body for message in client.receive(queue, wait_seconds=20)] == ["poison"]
    assert client.moves(arn)[0].status in ("RUNNING", "COMPLETED")


def test_any_operation_can_be_called_by_its_wire_names(
    client: BlockingSqsClient, queue: str
) -> None:
    answer = client.call("SendMessage", {"QueueUrl": queue, "MessageBody": "x"})
    assert answer["MD5OfMessageBody"] == "9dd4e461268c8034f5c8564e155c67a6"


def test_refusal_carries_code_text_and_request_id(client: BlockingSqsClient) -> None:
    with pytest.raises(Refused) as caught:
        client.receive("no-such-queue")
    error = caught.value
    assert (error.status, error.code) == (400, "AWS.SimpleQueueService.NonExistentQueue")
    assert error.message == "The specified queue does not exist."
    assert str(uuid.UUID(error.request_id)) == error.request_id


def test_wrong_secret_is_refused(server: LocalServer) -> None:
    key = AccessKey(server.access_key.key_id, "x" * 40, "000000000000")
    with BlockingSqsClient(server.endpoint_url, key) as client, pytest.raises(Refused) as caught:
        client.queue_urls()
    assert (caught.value.status, caught.value.code) == (403, "SignatureDoesNotMatch")


def test_request_without_a_key_is_refused(server: LocalServer) -> None:
    with BlockingSqsClient(server.endpoint_url) as client, pytest.raises(Refused) as caught:
        client.queue_urls()
    assert caught.value.status == 403


async def test_clock_that_is_wrong_is_refused(server: LocalServer) -> None:
    clock = ManualClock(LONG_AGO_MS)
    client = SqsClient(server.endpoint_url, server.access_key, clock=clock)
    async with client:
        with pytest.raises(Refused, match="Signature expired"):
            await client.queue_urls()


def test_admin_api_is_not_taken_for_the_sqs_endpoint(server: LocalServer) -> None:
    with (
        BlockingSqsClient(server.admin_url, server.access_key) as client,
        pytest.raises((AnswerMalformed, Refused)),
    ):
        client.queue_urls()


async def test_proxy_that_finds_a_request_too_large_refuses_it() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        page = b"<html>413 Request Entity Too Large</html>"
        head = f"HTTP/1.1 413 Too Large\r\ncontent-length: {len(page)}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + page)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        async with SqsClient(f"http://127.0.0.1:{port}") as client:
            with pytest.raises(Refused) as caught:
                await client.send("queue", SendMessageRequest(message_body="x"))
    assert is_about_one_message(caught.value.code)


def test_blocking_client_serves_many_threads(client: BlockingSqsClient, queue: str) -> None:
    def send() -> None:
        for _ in range(10):
            client.send(queue, SendMessageRequest(message_body="x"))

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    names = ["ApproximateNumberOfMessages"]
    assert client.attributes(queue, names) == {"ApproximateNumberOfMessages": "80"}


def test_closed_client_refuses(server: LocalServer) -> None:
    client = BlockingSqsClient(server.endpoint_url, server.access_key)
    client.close()
    client.close()
    with pytest.raises(RuntimeError):
        client.queue_urls()


def test_admin_lists_queues_with_counts(
    admin: BlockingAdminClient, client: BlockingSqsClient, queue: str
) -> None:
    client.send(queue, SendMessageRequest(message_body="x"))
    (found,) = admin.queues(name_of(queue))
    assert found["name"] == name_of(queue)
    assert found["counts"]["visible"] == 1
    assert admin.queue("000000000000", name_of(queue))["counts"] == found["counts"]


def test_admin_looks_at_messages_without_receiving_them(
    admin: BlockingAdminClient, client: BlockingSqsClient, queue: str
) -> None:
    client.send(queue, SendMessageRequest(message_body="first"))
    client.send(queue, SendMessageRequest(message_body="second"))
    page = admin.messages("000000000000", name_of(queue), 1)
    assert [message["body"] for message in page["messages"]] == ["first"]
    page = admin.messages("000000000000", name_of(queue), 10, page["messages"][0]["sequence"])
    assert [message["body"] for message in page["messages"]] == ["second"]
    (received, _) = client.receive(queue, 10)
    assert received.attributes["ApproximateReceiveCount"] == "1"


def test_admin_reports_health_and_counters(admin: BlockingAdminClient) -> None:
    assert admin.health()["ready"] is True
    assert admin.counters()["queues"] >= 0


async def test_admin_refuses_a_wrong_key(server: LocalServer) -> None:
    key = AccessKey(server.access_key.key_id, "x" * 40, "000000000000")
    async with AdminClient(server.admin_url, key) as client:
        with pytest.raises(Refused) as caught:
            await client.queues()
        assert caught.value.status == 403


def test_memory_store_cannot_be_backed_up(admin: BlockingAdminClient) -> None:
    taken: list[bytes] = []
    with pytest.raises(Refused) as caught:
        admin.backup(taken.append)
    assert (caught.value.status, taken) == (501, [])


async def test_session_token_goes_with_every_request_and_is_signed() -> None:
    heads: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    key = AccessKey("AKIA", "secret", "")
    async with listener, SqsClient(url, key, session_token="passing") as client:
        await client.call("ListQueues", {})
    assert "x-amz-security-token: passing\r\n" in heads[0]
    assert ";x-amz-security-token;" in heads[0]
