"""The load client of the benchmarks: raw keep-alive connections and cheap signatures.

It knows five operations in AWS JSON 1.0 and trusts its server; it is no SQS client.
"""

import asyncio
import datetime
import hashlib
import hmac
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_SIGNED: Final = "content-type;host;x-amz-date;x-amz-target"
_CONTENT: Final = "application/x-amz-json-1.0"


class Access(NamedTuple):
    port: int
    key_id: str
    secret: str
    region: str = "us-east-1"


class Answer(NamedTuple):
    status: int
    body: bytes


class Refused(Exception):
    def __init__(self, answer: Answer) -> None:
        super().__init__(f"{answer.status}: {answer.body[:300]!r}")
        self.answer = answer


class Signer:
    """Signs with the time of its creation, which is valid for as long as a benchmark runs."""

    def __init__(self, access: Access) -> None:
        self._host = f"127.0.0.1:{access.port}"
        now = datetime.datetime.now(datetime.UTC)
        self._time = now.strftime("%Y%m%dT%H%M%SZ")
        self._scope = f"{self._time[:8]}/{access.region}/sqs/aws4_request"
        self._credential = f"{access.key_id}/{self._scope}"
        key = b"AWS4" + access.secret.encode()
        for part in self._scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        self._key = key

    def request(self, operation: str, body: bytes) -> bytes:
        target = f"AmazonSQS.{operation}"
        canonical = (
            f"POST\n/\n\ncontent-type:{_CONTENT}\nhost:{self._host}\nx-amz-date:{self._time}\n"
            f"x-amz-target:{target}\n\n{_SIGNED}\n{hashlib.sha256(body).hexdigest()}"
        )
        text = (
            f"AWS4-HMAC-SHA256\n{self._time}\n{self._scope}\n"
            f"{hashlib.sha256(canonical.encode()).hexdigest()}"
        )
        signature = hmac.digest(self._key, text.encode(), "sha256").hex()
        head = (
            f"POST / HTTP/1.1\r\nHost: {self._host}\r\nX-Amz-Target: {target}\r\n"
            f"Content-Type: {_CONTENT}\r\nX-Amz-Date: {self._time}\r\n"
            f"Authorization: AWS4-HMAC-SHA256 Credential={self._credential}, "
            f"SignedHeaders={_SIGNED}, Signature={signature}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode("latin-1") + body


class Connection(asyncio.Protocol):
    """One request at a time, whose answer is a future."""

    def __init__(self) -> None:
        self._received = b""
        self._waiting: asyncio.Future[Answer] | None = None
        self._transport: Any = None
        self._lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        self._lost = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(ConnectionResetError("the server closed the connection"))

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return
        found = _LENGTH.search(self._received, 0, end)
        total = end + 4 + (int(found[1]) if found else 0)
        if len(self._received) >= total and self._waiting is not None:
            answer = Answer(int(self._received[9:12]), self._received[end + 4 : total])
            self._received = self._received[total:]
            waiting, self._waiting = self._waiting, None
            if not waiting.done():
                waiting.set_result(answer)

    def ask(self, request: bytes) -> asyncio.Future[Answer]:
        if self._lost:
            raise ConnectionResetError("the server closed the connection")
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._waiting

    async def must(self, request: bytes) -> bytes:
        answer = await self.ask(request)
        if answer.status != 200:
            raise Refused(answer)
        return answer.body

    def close(self) -> None:
        self._transport.close()


async def connect(port: int, count: int) -> list[Connection]:
    loop = asyncio.get_running_loop()
    made = []
    for _ in range(count):
        _, connection = await loop.create_connection(Connection, "127.0.0.1", port)
        made.append(connection)
    return made


class _Message(msgspec.Struct):
    ReceiptHandle: str
    Body: str


class _Received(msgspec.Struct):
    Messages: list[_Message] = []


received: Final = msgspec.json.Decoder(_Received).decode


class Load:
    """Requests about one queue; those that never change are signed once."""

    def __init__(
        self, signer: Signer, queue_url: str, body_bytes: int, wait_seconds: int = 0
    ) -> None:
        self._signer = signer
        self._queue = {"QueueUrl": queue_url}
        body = "x" * body_bytes
        entries = [{"Id": str(n), "MessageBody": body} for n in range(10)]
        self.send = self.request("SendMessage", MessageBody=body)
        self.send_ten = self.request("SendMessageBatch", Entries=entries)
        self.receive = self.request("ReceiveMessage", WaitTimeSeconds=wait_seconds)
        self.receive_ten = self.request(
            "ReceiveMessage", MaxNumberOfMessages=10, WaitTimeSeconds=wait_seconds
        )

    def request(self, operation: str, **parameters: object) -> bytes:
        body = msgspec.json.encode({**self._queue, **parameters})
        return self._signer.request(operation, body)

    def delete(self, receipt: str) -> bytes:
        return self.request("DeleteMessage", ReceiptHandle=receipt)

    def delete_all(self, receipts: Sequence[str]) -> bytes:
        entries = [{"Id": str(n), "ReceiptHandle": text} for n, text in enumerate(receipts)]
        return self.request("DeleteMessageBatch", Entries=entries)


async def singles(connection: Connection, load: Load, count: int) -> None:
    for _ in range(count):
        await connection.must(load.send)
        await settle_one(connection, load)


async def settle_one(connection: Connection, load: Load) -> None:
    messages = received(await connection.must(load.receive)).Messages
    await connection.must(load.delete(messages[0].ReceiptHandle))


async def tens(connection: Connection, load: Load, count: int) -> None:
    for _ in range(count // 10):
        await connection.must(load.send_ten)
        await settle_ten(connection, load)


async def settle_ten(connection: Connection, load: Load) -> int:
    messages = received(await connection.must(load.receive_ten)).Messages
    await connection.must(load.delete_all([message.ReceiptHandle for message in messages]))
    return len(messages)
