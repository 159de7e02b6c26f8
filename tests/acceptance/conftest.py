"""Real servers and clients of them, once per worker."""

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from dovemq.testing.local_server import LocalServer
from tests.acceptance.deployments import Deployment, Shape, deployed, store_url
from tools.dist import build

NewQueue = Callable[..., str]
See = Callable[[Callable[[], Any], Any], None]
Soon = Callable[[Callable[[], Any]], Any]

SEEN_SECONDS_MAX = 60
"""Far longer than the second after which front ends know of each other's changes."""
LOOK_SECONDS = 0.05


@pytest.fixture(scope="session")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source distribution and the wheel of this tree."""
    return build(tmp_path_factory.mktemp("distribution"))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    with LocalServer(
        tmp_path_factory.mktemp("server") / "data", args=["--store", "memory://"]
    ) as running:
        yield running


@pytest.fixture(scope="session")
def deployment(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    """The service of the shape that a test asks for by `on_deployments`; else one in memory."""
    shape: Shape = getattr(request, "param", Shape())
    if shape.store == "memory":
        running: LocalServer = request.getfixturevalue("server")
        yield Deployment([running], running.endpoint_url)
        return
    url = store_url(shape, request.getfixturevalue)
    with deployed(url, shape.front_ends, tmp_path_factory.mktemp(str(shape))) as running_shape:
        yield running_shape


@pytest.fixture(scope="session")
def sqs(deployment: Deployment) -> Iterator[Any]:
    config = Config(retries={"total_max_attempts": 1})
    client = boto3.client("sqs", config=config, **deployment.boto3_kwargs)
    yield client
    client.close()


@pytest.fixture
def see(deployment: Deployment) -> See:
    """Asserts what a reading gives: at once, or soon where several front ends may be asked."""

    def check(read: Callable[[], Any], wanted: Any) -> None:
        until = time.monotonic() + SEEN_SECONDS_MAX
        while (found := read()) != wanted and len(deployment.servers) > 1:
            assert time.monotonic() < until, f"{found} was never {wanted}"
            time.sleep(LOOK_SECONDS)
        assert found == wanted

    return check


@pytest.fixture
def soon(deployment: Deployment) -> Soon:
    """Makes a call; again if several front ends are asked and one does not know of a change yet."""

    def make(call: Callable[[], Any]) -> Any:
        until = time.monotonic() + SEEN_SECONDS_MAX
        while True:
            try:
                return call()
            except ClientError:
                if len(deployment.servers) == 1 or time.monotonic() > until:
                    raise
            time.sleep(LOOK_SECONDS)

    return make


@pytest.fixture(scope="session")
def queue_numbers() -> Iterator[int]:
    return itertools.count()


@pytest.fixture
def partitions(request: pytest.FixtureRequest) -> str:
    """The number of partitions that a test asks for by `on_deployments`; else 1."""
    count: str = getattr(request, "param", "1")
    return count


def spread_attributes(partitions: str, *, fifo: bool) -> dict[str, str]:
    """Attributes of a queue whose receives look into all partitions. FIFO queues cannot have
    `auto`."""
    if partitions == "1" or (fifo and partitions == "auto"):
        return {}
    if partitions == "auto":
        return {"Partitions": partitions, "PartitionsMin": "2", "DequeueFanout": "16"}
    attributes = {"Partitions": partitions, "DequeueFanout": partitions}
    return {**attributes, "DeduplicationScope": "messageGroup"} if fifo else attributes


@pytest.fixture
def new_queue(sqs: Any, queue_numbers: Iterator[int], partitions: str) -> NewQueue:
    """Makes a queue of a name not used before; `.fifo` when the attributes say so."""

    def create(**attributes: str) -> str:
        fifo = attributes.get("FifoQueue") == "true"
        suffix = ".fifo" if fifo else ""
        attributes = {**spread_attributes(partitions, fifo=fifo), **attributes}
        name = f"queue-{next(queue_numbers)}{suffix}"
        url: str = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        return url

    return create
