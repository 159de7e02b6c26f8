"""`dovemq copy` between two real servers, killed and interrupted half-way."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from dovemq.testing.local_server import LocalServer

COUNT = 4_000
GROUPS = 5
LEASE_SECONDS = 2
HALF_WAY_SECONDS_MAX = 60
LOOK_SECONDS = 0.01
FIFO = {"FifoQueue": "true"}


class Place:
    """A server and a client of it."""

    def __init__(self, server: LocalServer) -> None:
        self.server = server
        self.sqs: Any = boto3.client("sqs", **server.boto3_kwargs)

    def create(self, name: str) -> str:
        attributes = FIFO if name.endswith(".fifo") else {}
        url: str = self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        return url

    def fill(self, url: str) -> None:
        fifo = url.endswith(".fifo")
        for start in range(0, COUNT, 10):
            entries: list[dict[str, Any]] = [
                {"Id": str(number), "MessageBody": str(number)}
                for number in range(start, start + 10)
            ]
            for entry in entries if fifo else ():
                entry["MessageGroupId"] = f"g{int(entry['Id']) % GROUPS}"
                entry["MessageDeduplicationId"] = entry["Id"]
            self.sqs.send_message_batch(QueueUrl=url, Entries=entries)

    def visible(self, url: str) -> int:
        name = "ApproximateNumberOfMessages"
        told = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])
        return int(told["Attributes"][name])

    def bodies(self, url: str) -> list[int]:
        """All messages, in the order in which they are received; they are deleted."""
        found: list[int] = []
        ask = {"QueueUrl": url, "MaxNumberOfMessages": 10, "WaitTimeSeconds": 0}
        while messages := self.sqs.receive_message(**ask).get("Messages"):
            found += [int(message["Body"]) for message in messages]
            entries = [
                {"Id": str(place), "ReceiptHandle": message["ReceiptHandle"]}
                for place, message in enumerate(messages)
            ]
            self.sqs.delete_message_batch(QueueUrl=url, Entries=entries)
        return found


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Place, Place]]:
    folder = tmp_path_factory.mktemp("copy")
    with LocalServer(folder / "old") as old, LocalServer(folder / "new") as new:
        yield Place(old), Place(new)


def start(places: tuple[Place, Place], source: str, target: str) -> subprocess.Popen[str]:
    old, new = places
    kept = {key: text for key, text in os.environ.items() if not key.startswith("AWS_")}
    keys = ["--from-data", str(old.server.data), "--to-data", str(new.server.data)]
    options = [*keys, "--lease", str(LEASE_SECONDS), "--json"]
    return subprocess.Popen(
        [sys.executable, "-m", "dovemq", "copy", source, target, *options],
        env=kept,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, dict[str, Any]]:
    out, err = process.communicate(timeout=60)
    assert not err
    return process.returncode, json.loads(out) if out else {}


def wait_for_half(place: Place, url: str) -> None:
    deadline = time.monotonic() + HALF_WAY_SECONDS_MAX
    while place.visible(url) < COUNT // 4:
        assert time.monotonic() < deadline, "the copy does not get on"
        time.sleep(LOOK_SECONDS)


@contextlib.contextmanager
def half_copied(
    places: tuple[Place, Place], name: str
) -> Iterator[tuple[str, str, subprocess.Popen[str]]]:
    old, new = places
    source, target = old.create(name), new.create(name)
    old.fill(source)
    process = start(places, source, target)
    try:
        wait_for_half(new, target)
        yield source, target, process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_killed_copy_is_resumed_without_loss(places: tuple[Place, Place]) -> None:
    with half_copied(places, "plain") as (source, target, process):
        process.kill()
        assert process.wait() == -signal.SIGKILL
        assert 0 < places[1].visible(target) < COUNT
        code, summary = ended(start(places, source, target))
        assert (code, summary["remaining"], summary["refused"]) == (0, 0, 0)
        found = Counter(places[1].bodies(target))
        assert set(found) == set(range(COUNT))
        # What one copier holds at a time, sent and not yet deleted.
        assert sum(found.values()) - COUNT <= 40


def test_killed_copy_of_a_fifo_queue_is_resumed_without_loss_or_duplicate(
    places: tuple[Place, Place],
) -> None:
    with half_copied(places, "ordered.fifo") as (source, target, process):
        process.kill()
        process.wait()
        code, summary = ended(start(places, source, target))
        assert (code, summary["remaining"]) == (0, 0)
        found = places[1].bodies(target)
        assert sorted(found) == list(range(COUNT))
        for group in range(GROUPS):
            assert [n for n in found if n % GROUPS == group] == list(range(group, COUNT, GROUPS))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_copy_finishes_what_it_has_received(
    places: tuple[Place, Place], number: signal.Signals
) -> None:
    with half_copied(places, f"broken-off-{number}") as (source, target, process):
        process.send_signal(number)
        code, summary = ended(process)
        assert (code, summary["stopped"]) == (130, True)
        old, new = places
        assert old.visible(source) == summary["remaining"] == COUNT - summary["copied"]
        both = old.bodies(source) + new.bodies(target)
        assert sorted(both) == list(range(COUNT))
