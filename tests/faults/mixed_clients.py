"""Clients of all kinds at one server: valid, invalid, and those that cause warnings."""

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import msgspec
from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from dovemq.client.connection import ClientResponse
from dovemq.client.errors import ClientError
from dovemq.client.pool import Address, Pool
from dovemq.core.access import AccessKey
from dovemq.sqs.signature import Signer

REGION = "us-east-1"
JSON = "application/x-amz-json-1.0"
FORM = "application/x-www-form-urlencoded"
OLD_MS = 3_600_000
CONNECTIONS = 8
QUEUE = "jobs"


class MixedClients:
    """`body` marks every message; `answers` are the bodies of all answers."""

    def __init__(self, url: str, ca_bundle: Path, body: str) -> None:
        address = Address.parse(url)
        self.answers: list[ClientResponse] = []
        self.signatures: list[str] = []
        self._host = address.authority
        self._url = url
        self._body = body
        self._pool = Pool(address, CONNECTIONS, ca_bundle)

    async def close(self) -> None:
        await self._pool.close()

    async def ask(self, request: bytes) -> ClientResponse | None:
        """The answer; None when the server closes the connection, as it may on invalid HTTP."""
        try:
            answer = await self._pool.exchange(lambda: request, 30, repeatable=False)
        except ClientError:
            return None
        self.answers.append(answer)
        return answer

    async def all_kinds(self, key: AccessKey, rounds: int) -> None:
        for _ in range(rounds):
            await asyncio.gather(*map(self.ask, self._requests(key)))

    def signed(
        self,
        key: AccessKey,
        operation: str,
        fields: dict[str, object],
        *,
        ago_ms: int = 0,
        tamper: Callable[[dict[str, str], bytes], bytes] = lambda _, body: body,
    ) -> bytes:
        body = msgspec.json.encode(fields)
        headers = {
            "host": self._host,
            "content-type": JSON,
            "x-amz-target": f"AmazonSQS.{operation}",
        }
        now_ms = time.time_ns() // 1_000_000 - ago_ms
        sent = Signer(key, region=REGION).sign("POST", "/", "", headers, body, now_ms)
        self.signatures.append(sent["authorization"].rpartition("=")[2])
        return _http("POST /", sent, tamper(sent, body))

    def presigned(self, key: AccessKey, *, tampered: bool = False) -> bytes:
        """The message stands in the query, as does its signature."""
        query = urlencode({"Action": "SendMessage", "MessageBody": self._body})
        url = f"{self._url}/{key.account}/{QUEUE}?{query}"
        request = AWSRequest("GET", url, headers={"Host": self._host})
        SigV4QueryAuth(Credentials(key.key_id, key.secret), "sqs", REGION).add_auth(request)
        parts = urlsplit(str(request.url))
        self.signatures.append(parts.query.rpartition("=")[2])
        query = parts.query.replace("SendMessage", "PurgeQueue") if tampered else parts.query
        return _http(f"GET {parts.path}?{query}", {"host": self._host}, b"")

    def _requests(self, key: AccessKey) -> Iterator[bytes]:
        send: dict[str, object] = {"QueueUrl": QUEUE, "MessageBody": self._body}
        forged = AccessKey(key.key_id, key.secret[::-1], key.account)
        unknown = AccessKey("AKIAUNKNOWN234567", key.secret, key.account)
        yield self.signed(key, "SendMessage", send)
        yield self.signed(key, "ReceiveMessage", {"QueueUrl": QUEUE})
        yield self.signed(forged, "SendMessage", send)
        yield self.signed(unknown, "SendMessage", send)
        yield self.signed(key, "SendMessage", send, ago_ms=OLD_MS)
        yield self.signed(key, "SendMessage", send, tamper=lambda _, body: body + b" ")
        yield self.signed(key, "SendMessage", send, tamper=_other_operation)
        yield self.signed(key, "SendMessage", send, tamper=_no_signature)
        yield self.signed(key, "SendMessage", send, tamper=_secret_as_signature(key))
        yield self.signed(key, "SendMessage", {**send, "DelaySeconds": self._body})
        yield self.signed(key, "SendMessage", {**send, "DelaySeconds": 100_000})
        yield self.signed(key, "SendMessage", {"QueueUrl": "missing", "MessageBody": self._body})
        yield self.signed(key, "SendMessage", {"QueueUrl": QUEUE, "MessageBody": [self._body]})
        yield self.signed(key, "NoSuchOperation", send)
        yield self.presigned(key)
        yield self.presigned(forged)
        yield self.presigned(key, tampered=True)
        yield _http("POST /", {"host": self._host, "content-type": FORM}, self._body.encode())
        yield _http(f"GET /{self._body}", {"host": self._host}, b"")
        yield _http("GET /", {"host": f"{self._body} {key.secret}"}, b"")
        yield f"{self._body} / HTTP/9.9\r\n\r\n".encode()
        yield b"POST / HTTP/1.1\r\ncontent-length: " + self._body.encode() + b"\r\n\r\n"


def _http(line: str, headers: dict[str, str], body: bytes) -> bytes:
    lines = [f"{line} HTTP/1.1", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def _other_operation(headers: dict[str, str], body: bytes) -> bytes:
    headers["x-amz-target"] = "AmazonSQS.PurgeQueue"
    return body


def _no_signature(headers: dict[str, str], body: bytes) -> bytes:
    del headers["authorization"]
    return body


def _secret_as_signature(key: AccessKey) -> Callable[[dict[str, str], bytes], bytes]:
    """Send the secret where the signature belongs, as people do by mistake."""

    def tamper(headers: dict[str, str], body: bytes) -> bytes:
        named, _, _ = headers["authorization"].rpartition("=")
        headers["authorization"] = f"{named}={key.secret}"
        headers["x-amz-security-token"] = key.secret
        return body

    return tamper
