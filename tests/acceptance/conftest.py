"""A real server and clients of it, once per worker."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config

from dovemq.testing.local_server import LocalServer

NewQueue = Callable[..., str]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    with LocalServer(
        tmp_path_factory.mktemp("server") / "data", args=["--store", "memory://"]
    ) as running:
        yield running


@pytest.fixture(scope="session")
def sqs(server: LocalServer) -> Iterator[Any]:
    config = Config(retries={"total_max_attempts": 1})
    client = boto3.client("sqs", config=config, **server.boto3_kwargs)
    yield client
    client.close()


@pytest.fixture(scope="session")
def queue_numbers() -> Iterator[int]:
    return itertools.count()


@pytest.fixture
def new_queue(sqs: Any, queue_numbers: Iterator[int]) -> NewQueue:
    """Makes a queue of a name not used before; `.fifo` when the attributes say so."""

    def create(**attributes: str) -> str:
        suffix = ".fifo" if attributes.get("FifoQueue") == "true" else ""
        name = f"queue-{next(queue_numbers)}{suffix}"
        url: str = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        return url

    return create
