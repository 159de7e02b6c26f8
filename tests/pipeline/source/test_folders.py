"""The guarantees of every staging folder, on a local file system and on S3."""

import builtins
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from dovemq.pipeline.source.errors import OptionRefused, StagingBusy, StagingUnfit
from dovemq.pipeline.source.folders import (
    LocalStagingFolder,
    S3StagingFolder,
    StagingFolder,
    staging_folder,
)
from dovemq.pipeline.source.options import ReceiveOptions
from tests.pipeline.source.staged_world import World

NewPlace = Callable[[], StagingFolder]


@pytest.fixture(scope="module")
def s3_url() -> Iterator[str]:
    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(s3_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in {
        "AWS_ENDPOINT_URL_S3": s3_url,
        "AWS_ACCESS_KEY_ID": "one",
        "AWS_SECRET_ACCESS_KEY": "two",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    boto3.client("s3").create_bucket(Bucket="staging")
    return f"s3://staging/{tmp_path.name}"


@pytest.fixture(params=["local", "s3"])
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> NewPlace:
    if request.param == "local":
        return lambda: staging_folder(str(tmp_path))
    location = request.getfixturevalue("bucket")
    return lambda: staging_folder(location)


def test_written_files_are_read_listed_and_removed(new_place: NewPlace) -> None:
    place, other = new_place(), new_place()
    assert place.read("a") is None
    place.write("a", b"one")
    place.write("a", b"two")
    place.write("b", memoryview(b"three"))
    found = other.read("a")
    assert found is not None
    assert found.to_pybytes() == b"two"
    assert sorted(other.names()) == ["a", "b"]
    other.remove("a")
    other.remove("a")
    assert place.names() == ["b"]
    assert place.read("a") is None


def test_a_name_is_published_once(new_place: NewPlace) -> None:
    place, other = new_place(), new_place()
    assert place.publish("a", b"one")
    assert not other.publish("a", b"two")
    assert not place.publish("a", b"one")
    found = other.read("a")
    assert found is not None
    assert found.to_pybytes() == b"one"
    assert place.names() == ["a"]


async def test_a_stream_of_epochs_runs_on_every_place(new_place: NewPlace, tmp_path: Path) -> None:
    options = ReceiveOptions(wait_seconds=0, receivers=3, lease_seconds=30)
    world = World(tmp_path, fifo=True, options=options, place=new_place)
    world.queue.send(*map(str, range(100)))

    keeper = world.start()
    first = await keeper.offer(keeper.settled, 60)
    staged = await world.read_all(first)
    assert len(set(staged)) == 60
    world.queue.now += 31
    second = await keeper.offer(first, 100)
    rest = await world.read_all(second)
    assert sorted(staged + rest) == sorted(map(str, range(100)))
    assert await world.start().offer(second, 60) == second
    world.end()
    assert world.queue.messages == {}
    assert not [name for name in new_place().names() if name[0] == "0"]


def test_a_second_query_on_s3_is_refused_while_the_first_gives_signs_of_life(bucket: str) -> None:
    first = S3StagingFolder(bucket)
    first.claim()
    second = S3StagingFolder(bucket, lambda seconds: first.keep_claim())
    with pytest.raises(StagingBusy, match="used by another query"):
        second.claim()
    first.keep_claim()
    first.close()
    second.claim()
    second.close()


def test_a_query_on_s3_takes_over_from_one_that_was_killed(bucket: str) -> None:
    """The older query, if it is still alive, notices, also after its successor has ended."""
    older, later = S3StagingFolder(bucket), S3StagingFolder(bucket, lambda seconds: None)
    older.claim()
    later.claim()
    later.keep_claim()
    with pytest.raises(StagingBusy):
        older.keep_claim()
    later.close()
    with pytest.raises(StagingBusy):
        older.keep_claim()
    newest = S3StagingFolder(bucket)
    newest.claim()
    with pytest.raises(StagingBusy):
        older.keep_claim()
    assert newest.names() == ["claim-000000000003"]


class Forgetful(S3StagingFolder):
    """Replaces existing objects, as some S3 servers do."""

    def publish(self, name: str, content: Any) -> bool:
        self.write(name, content)
        return True


def test_an_s3_server_that_replaces_what_exists_is_refused(bucket: str) -> None:
    with pytest.raises(StagingUnfit, match="ignores If-None-Match"):
        Forgetful(bucket).claim()


def test_an_answer_that_s3_lost_does_not_lose_the_race(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = S3StagingFolder(bucket)
    put = place.client.put_object

    def twice(**given: Any) -> Any:
        put(**given)
        return put(**given)

    monkeypatch.setattr(place.client, "put_object", twice)
    assert place.publish("a", b"one")
    assert not S3StagingFolder(bucket).publish("a", b"two")


def test_s3_without_boto3_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    find = builtins.__import__

    def without_boto3(name: str, *more: Any, **given: Any) -> Any:
        if name == "boto3":
            raise ModuleNotFoundError(name)
        return find(name, *more, **given)

    monkeypatch.setattr(builtins, "__import__", without_boto3)
    with pytest.raises(StagingUnfit, match="S3 needs boto3 on the driver and all executors"):
        staging_folder("s3a://bucket/folder")


def test_a_link_whose_answer_was_lost_does_not_lose_the_race(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def twice(source: Path, target: Path) -> None:
        link(source, target)
        link(source, target)

    monkeypatch.setattr(os, "link", twice)
    assert LocalStagingFolder(tmp_path).publish("a", b"one")
    assert os.listdir(tmp_path) == ["a"]


def test_a_file_system_without_hard_links_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(StagingUnfit, match="a hard link failed"):
        LocalStagingFolder(tmp_path).publish("a", b"one")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("hdfs://namenode/staging", "on HDFS, where PyArrow replaces a file"),
        ("gs://bucket/staging", "scheme gs:, which has no write that refuses"),
        ("here", "not an absolute path"),
    ],
)
def test_places_that_cannot_be_safe_are_refused_by_name(location: str, reason: str) -> None:
    with pytest.raises(OptionRefused, match=reason):
        staging_folder(location)


def test_a_location_is_a_path_or_a_uri(bucket: str) -> None:
    assert staging_folder("/mnt/a b").location == "/mnt/a b"
    assert staging_folder("file:///mnt/a%20b").location == "/mnt/a b"
    assert staging_folder("s3a://staging/x").location == "s3://staging/x"
