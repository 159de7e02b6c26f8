"""A server with queues, and the processes that use them."""

import asyncio
import os
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path

from dovemq.client import BlockingAdminClient, BlockingSqsClient, SqsClient
from dovemq.sqs.shapes import SendEntry
from dovemq.testing.local_server import LocalServer

SENDERS = 16
FIFO = {"FifoQueue": "true"}
_COUNTS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")


class QueueWorld:
    def __init__(self, server: LocalServer) -> None:
        self.server = server
        key = server.access_key
        self.client = BlockingSqsClient(server.endpoint_url, key)
        self.admin = BlockingAdminClient(server.admin_url, key)
        self.options = {
            "endpointUrl": server.endpoint_url,
            "adminUrl": server.admin_url,
            "accessKeyId": key.key_id,
            "secretAccessKey": key.secret,
        }

    def new_queue(self, *, fifo: bool = False) -> str:
        name = f"q-{uuid.uuid4()}" + (".fifo" if fifo else "")
        self.client.create_queue(name, FIFO if fifo else {}, {})
        return name

    def fill(self, queue: str, count: int) -> list[str]:
        bodies = [f"body {number}" for number in range(count)]
        asyncio.run(_send(self.server, queue, bodies))
        return bodies

    def bodies(self, queue: str) -> list[str]:
        """Returns the bodies in the queue without receiving them."""
        found: list[str] = []
        after = 0
        account = self.server.announced.account
        while True:
            page = self.admin.messages(account, queue, 1_000, after)
            found += [message["body"] for message in page["messages"]]
            if page["next"] is None:
                return found
            after = int(page["next"])

    def left(self, queue: str) -> int:
        told = self.client.attributes(queue, _COUNTS)
        return sum(int(told[name]) for name in _COUNTS)

    def close(self) -> None:
        self.client.close()
        self.admin.close()


async def _send(server: LocalServer, queue: str, bodies: list[str]) -> None:
    async with SqsClient(server.endpoint_url, server.access_key) as client:
        waiting = iter(range(0, len(bodies), 10))

        async def send() -> None:
            for start in waiting:
                entries = [_entry(queue, body) for body in bodies[start : start + 10]]
                assert not (await client.send_batch(queue, entries)).failed

        await asyncio.gather(*(send() for _ in range(SENDERS)))


def _entry(queue: str, body: str) -> SendEntry:
    name = body.replace(" ", "-")
    token = name if queue.endswith(".fifo") else None
    return SendEntry(
        id=name, message_body=body, message_group_id=token, message_deduplication_id=token
    )


def kill_source_process() -> bool:
    """Kills the receiving process beside the driver; tells whether there was one."""
    found = processes_of(os.getpid(), b"python_streaming_source_runner")
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    return bool(found)


def processes_of(root: int, word: bytes) -> list[int]:
    """Returns the processes below `root` with that word in their command."""
    return [pid for pid in _descendants(root) if word in _command(pid)]


def _descendants(root: int) -> Iterator[int]:
    parents: dict[int, list[int]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        parents.setdefault(parent, []).append(int(place.name))
    waiting = [root]
    while waiting:
        found = parents.get(waiting.pop(), [])
        yield from found
        waiting += found


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
