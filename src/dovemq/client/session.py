"""Signed requests to one address, for the SQS client and the admin client."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, TypedDict

from dovemq.client.connection import ClientResponse, Sink
from dovemq.client.pool import ATTEMPTS_MAX, CONNECTIONS_MAX, Address, Pool
from dovemq.core.access import AccessKey
from dovemq.core.ports import Clock
from dovemq.sqs.signature import SignatureForm, Signer
from dovemq.system.clock import SystemClock

ANSWER_SECONDS_MAX: Final = 30.0
"""Longest wait for an answer, which is longer than the longest poll."""


class SessionOptions(TypedDict, total=False):
    """Options of a client; `SignedSession` has their defaults."""

    region: str
    clock: Clock | None
    connections_max: int
    ca_bundle: Path | None
    attempts_max: int
    """How often a repeatable request is sent when its connection breaks."""


class SignedSession:
    """Sends signed requests. Without a key they are unsigned, for servers that check none."""

    def __init__(
        self,
        url: str,
        key: AccessKey | None,
        *,
        service: str,
        region: str = "us-east-1",
        clock: Clock | None = None,
        connections_max: int = CONNECTIONS_MAX,
        ca_bundle: Path | None = None,
        attempts_max: int = ATTEMPTS_MAX,
    ) -> None:
        address = Address.parse(url)
        self.url = address.url
        self._host = address.authority
        self._signer = Signer(key, region=region, service=service) if key else None
        self._clock = clock or SystemClock()
        self._pool = Pool(address, connections_max, ca_bundle, attempts_max)

    def form(
        self, method: str, path: str, headers: Mapping[str, str], query: str = ""
    ) -> "RequestForm":
        """A form for requests that differ in their body alone. Header names are lower-case."""
        sent = {"host": self._host, **headers}
        signature = self._signer.form(method, path, query, sent) if self._signer else None
        target = f"{path}?{query}" if query else path
        lines = [f"{method} {target} HTTP/1.1", *map(": ".join, sent.items())]
        return RequestForm("\r\n".join(lines), signature)

    async def ask(
        self,
        form: "RequestForm",
        body: bytes = b"",
        *,
        seconds_max: float = ANSWER_SECONDS_MAX,
        repeatable: bool = False,
        sink: Sink | None = None,
    ) -> ClientResponse:
        """The answer, whatever its status is."""

        def request() -> bytes:
            return self.signed(form, body)

        return await self._pool.exchange(request, seconds_max, repeatable=repeatable, sink=sink)

    def signed(self, form: "RequestForm", body: bytes) -> bytes:
        """The bytes of a request that is signed now."""
        return form.request(body, self._clock.now_ms())

    async def ask_signed(self, request: bytes, seconds_max: float) -> ClientResponse:
        """The answer to a request that must not be repeated."""
        return await self._pool.exchange(lambda: request, seconds_max, repeatable=False)

    async def close(self) -> None:
        await self._pool.close()


class SessionClient:
    """A client that sends its requests through a session, which it closes."""

    _session: SignedSession

    async def close(self) -> None:
        await self._session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


@dataclass(slots=True)
class RequestForm:
    """The start of requests that differ in their body alone."""

    _head: str
    _signature: SignatureForm | None

    def request(self, body: bytes, now_ms: int) -> bytes:
        head = f"{self._head}\r\ncontent-length: {len(body)}\r\n"
        if self._signature is not None:
            date, authorization = self._signature.signed(body, now_ms)
            head += f"x-amz-date: {date}\r\nauthorization: {authorization}\r\n"
        return f"{head}\r\n".encode("latin-1") + body
