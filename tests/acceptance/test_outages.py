"""The database of a shared store is away: at the start, and while the server runs."""

import secrets
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from dovemq.system.ports import free_ports
from dovemq.testing.local_cluster import generator
from dovemq.testing.local_postgres import LocalPostgres
from dovemq.testing.local_redis import LocalRedisCluster
from dovemq.testing.local_server import LocalServer
from tests.acceptance.commands import dovemq, dovemq_json
from tests.acceptance.conftest import LOOK_SECONDS, SEEN_SECONDS_MAX
from tests.acceptance.deployments import PORTS
from tests.real_stores import checked, new_directory

TRYING = "Trying again in 2 seconds."


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SEEN_SECONDS_MAX
    while not holds():
        assert time.monotonic() < deadline, f"it was never seen that {what}"
        time.sleep(LOOK_SECONDS)


@pytest.fixture
def stopped_postgres() -> Iterator[LocalPostgres]:
    """A server that has run before, and has its port."""
    server = checked(LocalPostgres(new_directory("postgres")))
    server.start()
    server.stop()
    yield server
    server.stop()


def ready(server: LocalServer) -> bool:
    try:
        urllib.request.urlopen(f"{server.admin_url}/health/ready").close()
    except urllib.error.HTTPError as error:
        error.close()
        return False
    return True


def refusal(sqs: Any, queue: str) -> tuple[int, str]:
    """Returns the status and the text of a send that must fail."""
    with pytest.raises(ClientError) as caught:
        sqs.send_message(QueueUrl=queue, MessageBody="during")
    answer = caught.value.response
    return answer["ResponseMetadata"]["HTTPStatusCode"], answer["Error"]["Message"]


def bodies(sqs: Any, queue: str) -> set[str]:
    answer = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
    return {message["Body"] for message in answer["Messages"]}


def test_start_gives_up_on_a_database_that_does_not_answer(tmp_path: Path) -> None:
    [port] = free_ports(1, PORTS, generator())
    url = f"postgresql://dove@127.0.0.1:{port}/queues"
    words = ("--store", url, "--data", tmp_path / "data", "--port", "0")
    ended = dovemq("serve", *words, "--store-wait-seconds", "3", code=1)
    found = f"The database {url} cannot be reached ("
    *tried, last = ended.stderr.splitlines()
    assert tried
    assert all(found in line and line.endswith(TRYING) for line in tried)
    assert last.startswith(f"dovemq: {found}")
    assert "Gave up after 3 seconds" in last
    assert ended.stdout == ""


def test_start_waits_for_a_database_that_comes(
    stopped_postgres: LocalPostgres, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    server = LocalServer(tmp_path / "data", args=["--store", stopped_postgres.url], log=log)
    with ThreadPoolExecutor(1) as aside:
        starting = aside.submit(server.start)
        until(lambda: log.exists() and TRYING in log.read_text(), "the server waits")
        stopped_postgres.start()
        starting.result()
    try:
        assert dovemq_json("doctor", "--data", server.data)["ok"]
    finally:
        server.stop()


def test_store_without_enough_replicas_answers_503_and_recovers_by_itself(
    own_redis: LocalRedisCluster, tmp_path: Path
) -> None:
    url = f"{own_redis.url}?wait=1&prefix=outage_{secrets.token_hex(4)}"
    with LocalServer(tmp_path / "data", args=["--store", url], log=tmp_path / "log") as server:
        config = Config(retries={"total_max_attempts": 1}, read_timeout=SEEN_SECONDS_MAX)
        sqs = boto3.client("sqs", config=config, **server.boto3_kwargs)
        queue = sqs.create_queue(QueueName="kept")["QueueUrl"]
        sqs.send_message(QueueUrl=queue, MessageBody="before")
        replicas = set(range(own_redis.nodes)) - own_redis.masters().keys()
        for node in replicas:
            own_redis.pause(node)
        try:
            refused = refusal(sqs, queue)
            until(lambda: not ready(server), "the server is unready")
            report = dovemq_json("doctor", "--data", server.data, code=1)
        finally:
            for node in replicas:
                own_redis.resume(node)
        until(lambda: ready(server), "the server is ready again")
        sqs.send_message(QueueUrl=queue, MessageBody="after")
        found = bodies(sqs, queue)
        sqs.close()
    assert refused == (
        503,
        "The service is unavailable: too few nodes of its database answer. Try again later.",
    )
    broken = {each["name"]: each["found"] for each in report["checks"] if each["state"] == "broken"}
    assert any("0 of 1 replicas" in text for text in broken.values())
    assert {"before", "after"} <= found <= {"before", "during", "after"}
