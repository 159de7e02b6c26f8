"""Traffic of a queue while a test looks: senders at random times, and consumers that work."""

import contextlib
import random
import threading
from collections.abc import Iterator
from typing import Any

import boto3

from tests.console.site import Site

LOOK_SECONDS = 1


@contextlib.contextmanager
def traffic(
    site: Site, queue: str, *, per_second: float, consumers: int, service_seconds: float
) -> Iterator[None]:
    """Times between sends and those of services are exponential."""
    ended = threading.Event()
    url = _client(site).get_queue_url(QueueName=queue)["QueueUrl"]
    rng = random.Random(5)

    def send() -> None:
        sqs = _client(site)
        while not ended.wait(rng.expovariate(per_second)):
            sqs.send_message(QueueUrl=url, MessageBody="a parcel")

    def work() -> None:
        sqs = _client(site)
        while not ended.is_set():
            found = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=LOOK_SECONDS)
            for message in found.get("Messages", []):
                ended.wait(rng.expovariate(1 / service_seconds))
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])

    threads = [threading.Thread(target=each) for each in [send, *[work] * consumers]]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def _client(site: Site) -> Any:
    return boto3.client("sqs", **site.server.boto3_kwargs)
