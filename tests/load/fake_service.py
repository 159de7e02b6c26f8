"""A small SQS endpoint that fails when a test says so. It checks no signature."""

import asyncio
import contextlib
import enum
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Final

import msgspec

from dovemq.load.plan import Endpoint

EMPTY_SECONDS: Final = 0.005
"""The duration of an empty receive, so that receivers do not poll without a pause."""


class Mishap(enum.Enum):
    NONE = 0
    DROPPED = 1
    """The connection is cut and nothing is done."""
    UNANSWERED = 2
    """The request is done and the connection is cut."""
    FAILED = 3
    """The request is done and answered with 503."""
    LIED = 4
    """The request is not done and answered as if it were."""
    LEFT_OUT = 5
    """One entry of a batch has no answer."""


Decide = Callable[[str, int], Mishap]
"""Decides by the operation and its number."""


class Stored:
    def __init__(self, message_id: str, body: str) -> None:
        self.message_id = message_id
        self.body = body
        self.visible_at = 0.0
        self.receives = 0


class FakeService:
    def __init__(self, decide: Decide) -> None:
        self.asked: Counter[str] = Counter()
        self.operations: list[str] = []
        self.queues: dict[str, dict[str, Stored]] = {}
        self.leases: dict[str, int] = {}
        self._decide = decide
        self._ids: Iterator[int] = itertools.count(1)
        self._conversations: set[asyncio.Task[Any]] = set()

    async def ended(self) -> None:
        """Waits until the last client has gone."""
        await asyncio.gather(*self._conversations)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._conversations.add(task)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while not writer.is_closing():
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
                asked = msgspec.json.decode(await reader.readexactly(length))
                target = head.partition("x-amz-target: amazonsqs.")[2].partition("\r\n")[0]
                await self._answer(target, asked, writer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        self._conversations.remove(task)

    async def _answer(self, target: str, asked: dict[str, Any], out: asyncio.StreamWriter) -> None:
        self.asked[target] += 1
        self.operations.append(target)
        mishap = self._decide(target, self.asked[target])
        if mishap is Mishap.DROPPED:
            out.close()
            return
        kept = {url: dict(messages) for url, messages in self.queues.items()}
        answer = getattr(self, f"_{target}")(asked)
        if mishap is Mishap.LIED:
            self.queues = kept
        if mishap is Mishap.LEFT_OUT:
            answer["Successful"].pop()
        if mishap is Mishap.UNANSWERED:
            out.close()
            return
        if answer == {"Messages": []}:
            await asyncio.sleep(EMPTY_SECONDS)
        status = b"503 Slow Down" if mishap is Mishap.FAILED else b"200 OK"
        body = msgspec.json.encode(answer)
        out.write(b"HTTP/1.1 %b\r\ncontent-length: %d\r\n\r\n%b" % (status, len(body), body))

    def _createqueue(self, asked: dict[str, Any]) -> dict[str, Any]:
        url = f"http://fake/000000000000/{asked['QueueName']}"
        self.queues[url] = {}
        self.leases[url] = int(asked["Attributes"]["VisibilityTimeout"])
        return {"QueueUrl": url}

    def _deletequeue(self, asked: dict[str, Any]) -> dict[str, Any]:
        del self.queues[asked["QueueUrl"]]
        return {}

    def put(self, url: str, body: str) -> None:
        """Puts a message into a queue, as another client would."""
        self._sendmessage({"QueueUrl": url, "MessageBody": body})

    def _sendmessage(self, asked: dict[str, Any]) -> dict[str, Any]:
        message = Stored(f"message-{next(self._ids)}", asked["MessageBody"])
        self.queues[asked["QueueUrl"]][message.message_id] = message
        return {"MessageId": message.message_id, "MD5OfMessageBody": ""}

    def _sendmessagebatch(self, asked: dict[str, Any]) -> dict[str, Any]:
        url = {"QueueUrl": asked["QueueUrl"]}
        done = [{"Id": each["Id"], **self._sendmessage(each | url)} for each in asked["Entries"]]
        return {"Successful": done, "Failed": []}

    def _receivemessage(self, asked: dict[str, Any]) -> dict[str, Any]:
        now = asyncio.get_running_loop().time()
        url = asked["QueueUrl"]
        found: list[Stored] = []
        for each in self.queues[url].values():
            if each.visible_at <= now and len(found) < asked["MaxNumberOfMessages"]:
                each.visible_at = now + self.leases[url]
                each.receives += 1
                found.append(each)
        return {"Messages": [_told(each) for each in found]}

    def _deletemessage(self, asked: dict[str, Any]) -> dict[str, Any]:
        self.queues[asked["QueueUrl"]].pop(asked["ReceiptHandle"], None)
        return {}

    def _deletemessagebatch(self, asked: dict[str, Any]) -> dict[str, Any]:
        url = {"QueueUrl": asked["QueueUrl"]}
        for each in asked["Entries"]:
            self._deletemessage(each | url)
        return {"Successful": [{"Id": each["Id"]} for each in asked["Entries"]], "Failed": []}


def _told(message: Stored) -> dict[str, Any]:
    return {
        "MessageId": message.message_id,
        "ReceiptHandle": message.message_id,
        "Body": message.body,
        "MD5OfBody": "",
        "Attributes": {"ApproximateReceiveCount": str(message.receives)},
    }


def never(operation: str, number: int) -> Mishap:
    return Mishap.NONE


@contextlib.asynccontextmanager
async def serving(decide: Decide = never) -> AsyncIterator[tuple[FakeService, Endpoint]]:
    service = FakeService(decide)
    server = await asyncio.start_server(service.serve, "127.0.0.1", 0, limit=1 << 22)
    port = server.sockets[0].getsockname()[1]
    try:
        yield service, Endpoint(f"http://127.0.0.1:{port}")
    finally:
        server.close()
        await server.wait_closed()
        await service.ended()
