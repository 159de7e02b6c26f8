"""The floor to compare with: httptools, SigV4 and one SQLite group commit, nothing else.

A server of one standard queue that answers SendMessage, ReceiveMessage, DeleteMessage and the
batches of the first and last, durably and signed. It imports nothing of DoveMQ, checks no
limits, ends no leases and never recovers: it shows what the same work costs without the product.

    python -m bench.floor --data DIR        prints the port that it listens on
"""

import argparse
import asyncio
import hashlib
import hmac
import queue
import sys
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import apsw
import httptools
import msgspec
import uvloop

KEY_ID: Final = "AKIAFLOOR00000000000"
SECRET: Final = "floor-secret"
REGION: Final = "us-east-1"
LEASE_MS: Final = 30_000

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS message (
    sequence INTEGER PRIMARY KEY, message_id TEXT, body TEXT, visible_ms INTEGER, count INTEGER)
"""
_INSERT: Final = "INSERT INTO message VALUES (?, ?, ?, ?, 0)"
_LEASE: Final = "UPDATE message SET visible_ms = ?, count = count + 1 WHERE sequence = ?"
_DELETE: Final = "DELETE FROM message WHERE sequence = ?"


class Entry(msgspec.Struct):
    Id: str = ""
    MessageBody: str = ""
    ReceiptHandle: str = ""


class Request(msgspec.Struct):
    MessageBody: str = ""
    ReceiptHandle: str = ""
    MaxNumberOfMessages: int = 1
    Entries: list[Entry] = []


class Group:
    """The writes of one commit and the requests that it answers."""

    def __init__(self) -> None:
        self.sends: list[tuple[int, str, str, int]] = []
        self.leases: dict[int, int] = {}
        self.settles: list[int] = []
        self.answers: list[Callable[[], None]] = []


class Store:
    """A deque of visible messages, and a writer thread that commits in groups."""

    def __init__(self, path: Path, loop: asyncio.AbstractEventLoop) -> None:
        self._path = path
        self._loop = loop
        self._groups: queue.SimpleQueue[Group | None] = queue.SimpleQueue()
        self._pending = Group()
        self._busy = False
        self._scheduled = False
        self._sequence = 0
        self._ready: deque[tuple[int, str, str]] = deque()
        threading.Thread(target=self._write, daemon=True).start()

    def send(self, body: str, message_id: str) -> None:
        self._sequence += 1
        row = (self._sequence, message_id, body, 0)
        self._pending.sends.append(row)

    def lease(self, count: int) -> list[tuple[int, str, str]]:
        taken = [self._ready.popleft() for _ in range(min(count, len(self._ready)))]
        until_ms = time.time_ns() // 1_000_000 + LEASE_MS
        for sequence, _, _ in taken:
            self._pending.leases[sequence] = until_ms
        return taken

    def settle(self, sequence: int) -> None:
        self._pending.leases.pop(sequence, None)
        self._pending.settles.append(sequence)

    def after_commit(self, answer: Callable[[], None]) -> None:
        self._pending.answers.append(answer)
        if not self._busy and not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._hand_over)

    def _hand_over(self) -> None:
        self._scheduled = False
        if self._pending.answers:
            self._busy = True
            self._groups.put(self._pending)
            self._pending = Group()

    def _committed(self, group: Group) -> None:
        self._busy = False
        self._ready.extend((row[0], row[1], row[2]) for row in group.sends)
        for answer in group.answers:
            answer()
        self._hand_over()

    def _write(self) -> None:
        connection = apsw.Connection(str(self._path))
        for pragma in ("journal_mode=WAL", "synchronous=FULL"):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        connection.execute(_SCHEMA)
        while (group := self._groups.get()) is not None:
            connection.execute("BEGIN")
            connection.executemany(_INSERT, group.sends)
            connection.executemany(_LEASE, ((ms, seq) for seq, ms in group.leases.items()))
            connection.executemany(_DELETE, ((seq,) for seq in group.settles))
            connection.execute("COMMIT")
            self._loop.call_soon_threadsafe(self._committed, group)


class Verifier:
    def __init__(self) -> None:
        self._keys: dict[str, bytes] = {}

    def accepts(self, path: str, headers: dict[str, str], body: bytes) -> bool:
        words = headers.get("authorization", "").replace(",", "").split()
        fields = dict(word.split("=", 1) for word in words[1:])
        date, scope = self._scope(fields["Credential"])
        names = fields["SignedHeaders"]
        lines = "".join(f"{name}:{headers[name].strip()}\n" for name in names.split(";"))
        digest = hashlib.sha256(body).hexdigest()
        canonical = f"POST\n{path}\n\n{lines}\n{names}\n{digest}"
        text = (
            f"AWS4-HMAC-SHA256\n{headers['x-amz-date']}\n{scope}\n"
            f"{hashlib.sha256(canonical.encode()).hexdigest()}"
        )
        expected = hmac.digest(self._key(date), text.encode(), "sha256").hex()
        return hmac.compare_digest(expected, fields["Signature"])

    def _scope(self, credential: str) -> tuple[str, str]:
        scope = credential.partition("/")[2]
        return scope[:8], scope

    def _key(self, date: str) -> bytes:
        if date not in self._keys:
            key = b"AWS4" + SECRET.encode()
            for part in (date, REGION, "sqs", "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            self._keys[date] = key
        return self._keys[date]


_decode: Final = msgspec.json.Decoder(Request).decode
_encode: Final = msgspec.json.encode


class Connection(asyncio.Protocol):
    def __init__(self, store: Store, verifier: Verifier) -> None:
        self._store = store
        self._verifier = verifier
        self._actions = {
            "AmazonSQS.SendMessage": self._send,
            "AmazonSQS.SendMessageBatch": self._send_batch,
            "AmazonSQS.ReceiveMessage": self._receive,
            "AmazonSQS.DeleteMessage": self._delete,
            "AmazonSQS.DeleteMessageBatch": self._delete_batch,
        }
        self._start()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._parser = httptools.HttpRequestParser(self)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def _start(self) -> None:
        self._path = ""
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []

    def on_url(self, url: bytes) -> None:
        self._path = url.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        headers, body = self._headers, b"".join(self._body)
        path = self._path
        self._start()
        if not self._verifier.accepts(path, headers, body):
            self._answer({"__type": "SignatureDoesNotMatch"}, b"403 Forbidden")
            return
        self._actions[headers["x-amz-target"]](_decode(body))

    def _send(self, request: Request) -> None:
        message_id = str(uuid.uuid4())
        self._store.send(request.MessageBody, message_id)
        digest = hashlib.md5(request.MessageBody.encode()).hexdigest()
        answer = {"MessageId": message_id, "MD5OfMessageBody": digest}
        self._store.after_commit(lambda: self._answer(answer))

    def _send_batch(self, request: Request) -> None:
        sent = []
        for entry in request.Entries:
            message_id = str(uuid.uuid4())
            self._store.send(entry.MessageBody, message_id)
            digest = hashlib.md5(entry.MessageBody.encode()).hexdigest()
            sent.append({"Id": entry.Id, "MessageId": message_id, "MD5OfMessageBody": digest})
        self._store.after_commit(lambda: self._answer({"Successful": sent}))

    def _receive(self, request: Request) -> None:
        messages = [
            {
                "MessageId": message_id,
                "ReceiptHandle": str(sequence),
                "MD5OfBody": hashlib.md5(body.encode()).hexdigest(),
                "Body": body,
            }
            for sequence, message_id, body in self._store.lease(request.MaxNumberOfMessages)
        ]
        self._answer({"Messages": messages} if messages else {})

    def _delete(self, request: Request) -> None:
        self._store.settle(int(request.ReceiptHandle))
        self._store.after_commit(lambda: self._answer({}))

    def _delete_batch(self, request: Request) -> None:
        for entry in request.Entries:
            self._store.settle(int(entry.ReceiptHandle))
        done = [{"Id": entry.Id} for entry in request.Entries]
        self._store.after_commit(lambda: self._answer({"Successful": done}))

    def _answer(self, answer: object, status: bytes = b"200 OK") -> None:
        body = _encode(answer)
        self._transport.write(
            b"HTTP/1.1 %b\r\nContent-Type: application/x-amz-json-1.0\r\n"
            b"x-amzn-RequestId: %b\r\nContent-Length: %d\r\n\r\n%b"
            % (status, str(uuid.uuid4()).encode(), len(body), body)
        )


async def serve(directory: Path) -> None:
    loop = asyncio.get_running_loop()
    store, verifier = Store(directory / "floor.db", loop), Verifier()
    server = await loop.create_server(lambda: Connection(store, verifier), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench.floor", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    uvloop.run(serve(parser.parse_args(arguments).data))


if __name__ == "__main__":
    main(sys.argv[1:])
