"""`dovemq.connect` for blocking programs, against a real server."""

import uuid

import pytest

import dovemq
from dovemq.client import BlockingSqsClient
from dovemq.core.errors import InvalidValue
from dovemq.fabric.autonomic import ClientRole
from dovemq.testing.local_server import LocalServer


@pytest.fixture
def queue(server: LocalServer) -> str:
    with BlockingSqsClient(server.endpoint_url, server.access_key) as client:
        return client.create_queue(f"q-{uuid.uuid4()}", {}, {})


def test_producer_and_consumer_exchange_messages(server: LocalServer, queue: str) -> None:
    key = server.access_key
    with (
        dovemq.connect(queue, "producer", key=key) as producer,
        dovemq.connect(queue, "consumer", key=key) as consumer,
    ):
        assert (producer.role, consumer.role) == (ClientRole.PRODUCER, ClientRole.CONSUMER)
        sent = [producer.send("a"), producer.send("b", group="tenant")]
        received = [each for _ in sent for each in consumer.receive(1, wait_seconds=5)]
        assert {each.message_id for each in received} == {*sent}
        for each in received:
            consumer.delete(each.receipt_handle)
        assert consumer.receive(10) == []


@pytest.mark.parametrize("form", ["name", "account and name", "URL"])
def test_server_and_key_come_from_the_environment(
    server: LocalServer, queue: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in server.env.items():
        monkeypatch.setenv(name, value)
    name = queue.rpartition("/")[2]
    given = {"name": name, "account and name": f"{server.announced.account}/{name}", "URL": queue}
    with dovemq.connect(given[form], "producer") as producer:
        assert producer.queue_url == queue
        assert producer.send("x")


def test_queue_without_a_server_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL_SQS", raising=False)
    with pytest.raises(InvalidValue, match="names no server"):
        dovemq.connect("jobs", "producer")
