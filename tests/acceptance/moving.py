"""A move between two servers that is broken off half-way, for the tests of `dovemq move`."""

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import boto3

from dovemq.testing.local_server import LocalServer

GROUPS = 5
HALF_WAY_SECONDS_MAX = 60
ENDED_SECONDS_MAX = 180
LOOK_SECONDS = 0.01
FIFO = {"FifoQueue": "true"}


class Place:
    """A server and a client of it. Without a data directory it takes any key."""

    def __init__(self, boto3_kwargs: Mapping[str, Any], data: Path | None = None) -> None:
        self.sqs: Any = boto3.client("sqs", **boto3_kwargs)
        self.endpoint_url = boto3_kwargs["endpoint_url"]
        self._data = data

    @classmethod
    def of(cls, server: LocalServer) -> "Place":
        return cls(server.boto3_kwargs, server.data)

    def key_options(self, word: str) -> list[str]:
        return [f"--{word}-data", str(self._data)] if self._data else []

    def create(self, name: str) -> str:
        attributes = FIFO if name.endswith(".fifo") else {}
        url: str = self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        return url

    def fill(self, url: str, count: int) -> None:
        fifo = url.endswith(".fifo")
        for start in range(0, count, 10):
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
        reported = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])
        return int(reported["Attributes"][name])

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


class Move:
    """A move from one queue to another; `start` may be called again after it has ended."""

    def __init__(
        self, old: Place, source: str, new: Place, target: str, options: Sequence[str] = ()
    ) -> None:
        self.old, self.source = old, source
        self.new, self.target = new, target
        keys = [*old.key_options("from"), *new.key_options("to")]
        self._options = [*keys, "--json", *options]

    def start(self) -> subprocess.Popen[str]:
        return start_move(self.source, self.target, *self._options)

    def finish(self) -> tuple[int, dict[str, Any]]:
        return ended(self.start())

    @contextlib.contextmanager
    def half_done(self, count: int) -> Iterator[subprocess.Popen[str]]:
        """Runs it until a quarter has arrived; the test breaks it off."""
        with broken_off(self.start(), lambda: self.new.visible(self.target) >= count // 4) as begun:
            yield begun


def start_move(*words: str) -> subprocess.Popen[str]:
    kept = {key: text for key, text in os.environ.items() if not key.startswith("AWS_")}
    # For a place that takes any key; a data directory comes before it.
    keys = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any"}
    return subprocess.Popen(
        [sys.executable, "-m", "dovemq", "move", *words],
        env={**kept, **keys},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextlib.contextmanager
def broken_off(
    process: subprocess.Popen[str], half_way: Callable[[], bool]
) -> Iterator[subprocess.Popen[str]]:
    """Waits until the move is half-way; it is killed at the end of the block at the latest."""
    try:
        deadline = time.monotonic() + HALF_WAY_SECONDS_MAX
        while not half_way():
            assert time.monotonic() < deadline, "the move makes no progress"
            time.sleep(LOOK_SECONDS)
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str]) -> tuple[int, dict[str, Any]]:
    try:
        out, err = process.communicate(timeout=ENDED_SECONDS_MAX)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    # A long move reports its progress there, and nothing else.
    assert re.fullmatch(r"((\d+ of \d+ queues done, )?\d+ messages moved\n)*", err), err
    return process.returncode, json.loads(out) if out else {}


def in_order(found: Sequence[int], count: int) -> bool:
    """Whether each group came out whole and in the order in which it was sent."""
    return all(
        [number for number in found if number % GROUPS == group]
        == list(range(group, count, GROUPS))
        for group in range(GROUPS)
    )
