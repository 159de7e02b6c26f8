"""Clients that send and receive without a pause and without retries, and note every error."""

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

SENDERS: Final = 6
RECEIVERS: Final = 3
POLL_SECONDS: Final = 2
PAUSE_SECONDS: Final = 0.01
"""Time between two sends of a client: the load must leave the machine time for the servers."""
DRAIN_SECONDS_MAX: Final = 60.0


class SteadyLoad:
    """The traffic of one queue. `errors` has the time, the operation and the text of each."""

    def __init__(self, boto3_kwargs: Mapping[str, Any], queue_url: str) -> None:
        self.queue_url = queue_url
        self.errors: list[str] = []
        self.sent: set[str] = set()
        self.received: Counter[str] = Counter()
        self._kwargs = boto3_kwargs
        self._sending = threading.Event()
        self._receiving = threading.Event()
        self._began = time.monotonic()

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Sends and receives during the block, then receives until all that was sent is there."""
        threads = [
            *(threading.Thread(target=self._send, args=(f"s{n}",)) for n in range(SENDERS)),
            *(threading.Thread(target=self._receive) for _ in range(RECEIVERS)),
        ]
        self._sending.set()
        self._receiving.set()
        for thread in threads:
            thread.start()
        try:
            yield
            self._sending.clear()
            until = time.monotonic() + DRAIN_SECONDS_MAX
            while not self.sent <= self.received.keys() and time.monotonic() < until:
                time.sleep(PAUSE_SECONDS)
        finally:
            self._sending.clear()
            self._receiving.clear()
            for thread in threads:
                thread.join()

    def _send(self, name: str) -> None:
        client = self._client()
        number = 0
        while self._sending.is_set():
            body = f"{name}-{number}"
            number += 1
            if self._attempt(client.send_message, MessageBody=body) is not None:
                self.sent.add(body)
            time.sleep(PAUSE_SECONDS)
        client.close()

    def _receive(self) -> None:
        client = self._client()
        ask = {"MaxNumberOfMessages": 10, "WaitTimeSeconds": POLL_SECONDS}
        while self._receiving.is_set():
            answer = self._attempt(client.receive_message, **ask) or {}
            for message in answer.get("Messages", []):
                self.received[message["Body"]] += 1
                self._attempt(client.delete_message, ReceiptHandle=message["ReceiptHandle"])
        client.close()

    def _attempt(self, call: Callable[..., Any], **parameters: Any) -> Any:
        try:
            return call(QueueUrl=self.queue_url, **parameters)
        except (BotoCoreError, ClientError) as error:
            at = time.monotonic() - self._began
            self.errors.append(f"{at:.1f} s: {call.__name__}: {error}")
            return None

    def _client(self) -> Any:
        config = Config(retries={"total_max_attempts": 1})
        return boto3.client("sqs", config=config, **self._kwargs)
