"""Front ends on one store as an operator meets them: joining, status, refusals."""

import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from dovemq.testing.local_redis import LocalRedisCluster
from dovemq.testing.local_server import LocalServer, StartFailed
from tests.acceptance.commands import dovemq, dovemq_json
from tests.acceptance.conftest import SEEN_SECONDS_MAX
from tests.acceptance.deployments import FRONT_ENDS, Deployment, front_ends


def new_store(redis: LocalRedisCluster) -> str:
    return f"{redis.url}?prefix=front_ends_{secrets.token_hex(4)}"


@pytest.fixture(scope="module")
def store(redis_cluster: LocalRedisCluster) -> str:
    return new_store(redis_cluster)


@pytest.fixture(scope="module")
def three(store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Front ends that share a data directory, without a proxy."""
    servers = front_ends(store, FRONT_ENDS, tmp_path_factory.mktemp("three"))
    try:
        for each in servers:
            each.start()
        for each in servers:
            await_front_ends(each, FRONT_ENDS)
        yield Deployment(servers, servers[0].endpoint_url)
    finally:
        for each in servers:
            each.kill()


def status(server: LocalServer) -> Any:
    return dovemq_json("cluster", "status", "--data", server.data, "--admin-url", server.admin_url)


def await_front_ends(server: LocalServer, count: int) -> None:
    """Waits until the front end sees that all serve: it looks for them with each heartbeat."""
    until = time.monotonic() + SEEN_SECONDS_MAX
    while [each["state"] for each in status(server)["front_ends"]].count("serving") < count:
        assert time.monotonic() < until, "the front ends do not see each other"


def await_partitions(server: LocalServer, count: int) -> Any:
    """The status with so many partitions: a front end reads their owners once a second at most."""
    until = time.monotonic() + SEEN_SECONDS_MAX
    while len((found := status(server))["partitions"]) < count:
        assert time.monotonic() < until, "the front end does not see the partitions"
    return found


def client_of(server: LocalServer) -> Any:
    config = Config(retries={"total_max_attempts": 1})
    return boto3.client("sqs", config=config, **server.boto3_kwargs)


def test_status_lists_front_ends_owners_and_links(three: Deployment, store: str) -> None:
    first = three.servers[0]
    sqs = client_of(first)
    for number in range(FRONT_ENDS):
        url = sqs.create_queue(QueueName=f"status-{number}")["QueueUrl"]
        sqs.send_message(QueueUrl=url, MessageBody="hello")
    sqs.close()
    found = await_partitions(first, FRONT_ENDS)
    assert (found["database"], found["lease"]) == (store, True)
    living = {each["front_end"] for each in found["front_ends"]}
    assert len(living) == FRONT_ENDS
    assert {each["state"] for each in found["front_ends"]} == {"serving"}
    assert len(found["partitions"]) == FRONT_ENDS
    assert {each["front_end"] for each in found["partitions"]} <= living
    asked = ("--data", first.data, "--admin-url", first.admin_url)
    text = dovemq("cluster", "status", *asked).stdout
    assert f"database     {store}\n" in text
    for each in found["front_ends"]:
        assert f"{each['address']}  serving" in text
    assert "000000000000/status-0" in text


def test_doctor_shows_database_lease_and_front_ends(three: Deployment, store: str) -> None:
    report = dovemq_json("doctor", "--data", three.servers[0].data)
    checks = {each["name"]: (each["state"], each["found"]) for each in report["checks"]}
    assert checks[f"database {store}"] == ("ok", "answers")
    assert checks["asked"][0] == "ok"
    assert "holds its lease" in checks["asked"][1]
    assert checks["front ends"][1].startswith(f"{FRONT_ENDS}: 127.0.0.1:")


def test_data_directory_that_front_ends_share_shows_one_that_runs(three: Deployment) -> None:
    data = three.servers[0].data
    first = dovemq_json("env", "--data", data)["export"]["AWS_ENDPOINT_URL_SQS"]
    (announced,) = [each for each in three.servers if each.endpoint_url == first]
    announced.kill()
    second = dovemq_json("env", "--data", data)["export"]["AWS_ENDPOINT_URL_SQS"]
    assert second in {each.endpoint_url for each in three.servers if each is not announced}
    announced.start()


def test_front_end_without_an_address_is_refused_beside_others(
    three: Deployment, store: str, tmp_path: Path
) -> None:
    words = ("serve", "--store", store, "--data", tmp_path / "data", "--port", "0")
    refused = dovemq(*words, code=1)
    assert refused.stdout == ""
    assert "serves this store; stop that one, or start both with --advertise" in refused.stderr


def test_status_of_a_server_with_its_own_store_says_so(tmp_path: Path) -> None:
    with LocalServer(tmp_path / "data") as server:
        refused = dovemq("cluster", "status", "--data", server.data, code=1)
        checks = dovemq_json("doctor", "--data", server.data)["checks"]
    assert "The store of this server belongs to it alone; see --store." in refused.stderr
    assert not any(each["name"].startswith("database") for each in checks)


def test_server_that_is_alone_on_a_shared_store_makes_its_data_directory(
    redis_cluster: LocalRedisCluster, tmp_path: Path
) -> None:
    data = tmp_path / "not" / "there"
    log = tmp_path / "log"
    with LocalServer(data, args=["--store", new_store(redis_cluster)], log=log) as server:
        found = dovemq_json("cluster", "status", "--data", server.data)
    assert [each["address"] for each in found["front_ends"]] == [None]


def test_front_end_with_another_secret_is_refused_with_the_reason(
    redis_cluster: LocalRedisCluster, tmp_path: Path
) -> None:
    url = new_store(redis_cluster)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    [one] = front_ends(url, 1, tmp_path / "one")
    with one:
        # It is made now, so that it gets other ports.
        [two] = front_ends(url, 1, tmp_path / "two")
        unproved = "the dialling side did not prove that it knows the cluster's secret"
        with pytest.raises(StartFailed, match=f"refuse each other: .*{unproved}"):
            two.start()
        assert f"refused a link from 127.0.0.1: {unproved}" in one.log.read_text()
        assert [each["state"] for each in status(one)["front_ends"]].count("serving") == 1
