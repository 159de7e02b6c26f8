"""`dovemq move --all`: an embedded server moves into a shared store and back."""

import json
import secrets
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from dovemq.testing.local_redis import LocalRedisCluster
from dovemq.testing.local_server import LocalServer
from tests.acceptance.moving import Place, broken_off, ended, in_order, start_move

COUNT = 400
GIVEN = {"VisibilityTimeout": "77", "OrderHint": "any", "MessageRetentionPeriod": "86400"}
ALL = ["All", "AllExtended"]
COUNTED = ("Approximate", "Created", "LastModified")
LEASE = ["--lease", "2"]


@pytest.fixture
def places(
    redis_cluster: LocalRedisCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Place, Place]]:
    """An embedded server, and one that is alone on a shared store."""
    folder = tmp_path_factory.mktemp("move-all")
    url = f"{redis_cluster.url}?prefix=move_all_{secrets.token_hex(4)}"
    shared = LocalServer(folder / "shared", args=["--store", url])
    with LocalServer(folder / "embedded") as embedded, shared:
        yield Place.of(embedded), Place.of(shared)


def options(old: Place, new: Place) -> list[str]:
    return ["--all", *old.key_options("from"), *new.key_options("to"), "--json", *LEASE]


def moved(old: Place, new: Place) -> list[dict[str, Any]]:
    code, document = ended(start_move(*options(old, new)))
    assert (code, document["stopped"]) == (0, False)
    queues: list[dict[str, Any]] = document["queues"]
    return queues


def attributes(place: Place, name: str) -> dict[str, str]:
    url = place.sqs.get_queue_url(QueueName=name)["QueueUrl"]
    found = place.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=ALL)["Attributes"]
    return {key: text for key, text in found.items() if not key.startswith(COUNTED)}


def test_queues_move_into_a_shared_store_and_back(places: tuple[Place, Place]) -> None:
    embedded, shared = places
    dead = embedded.create("dead")
    arn = attributes(embedded, "dead")["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 3})
    jobs = embedded.sqs.create_queue(
        QueueName="jobs", Attributes={**GIVEN, "RedrivePolicy": policy}, tags={"team": "a"}
    )["QueueUrl"]
    ordered = embedded.create("ordered.fifo")
    for url in (jobs, ordered):
        embedded.fill(url, COUNT)
    embedded.fill(dead, 10)
    names = ("dead", "jobs", "ordered.fifo")
    before = {name: attributes(embedded, name) for name in names}
    there = moved(embedded, shared)
    assert [(each["queue"], each["created"], each["moved"]) for each in there] == [
        ("dead", True, 10),
        ("jobs", True, COUNT),
        ("ordered.fifo", True, COUNT),
    ]
    assert {name: attributes(shared, name) for name in names} == before
    back = moved(shared, embedded)
    assert [(each["created"], each["differences"], each["moved"]) for each in back] == [
        (False, [], 10),
        (False, [], COUNT),
        (False, [], COUNT),
    ]
    assert {name: attributes(embedded, name) for name in names} == before
    assert sorted(embedded.bodies(jobs)) == list(range(COUNT))
    found = embedded.bodies(ordered)
    assert sorted(found) == list(range(COUNT))
    assert in_order(found, COUNT)


def test_killed_move_of_all_queues_is_resumed_without_loss(places: tuple[Place, Place]) -> None:
    embedded, shared = places
    for name in ("plain", "ordered.fifo"):
        embedded.fill(embedded.create(name), COUNT)
    urls = {
        name: f"{shared.endpoint_url}/000000000000/{name}" for name in ("plain", "ordered.fifo")
    }

    def half_way() -> bool:
        created = shared.sqs.list_queues().get("QueueUrls", [])
        return len(created) == 2 and all(shared.visible(url) > 0 for url in urls.values())

    with broken_off(start_move(*options(embedded, shared)), half_way) as process:
        process.kill()
    resumed = moved(embedded, shared)
    assert all(not each["created"] and not each["differences"] for each in resumed)
    found = Counter(shared.bodies(urls["plain"]))
    assert set(found) == set(range(COUNT))
    assert sum(found.values()) - COUNT <= 40
    in_groups = shared.bodies(urls["ordered.fifo"])
    assert sorted(in_groups) == list(range(COUNT))
    assert in_order(in_groups, COUNT)
