"""Signed requests to one address: what the SQS and the admin client have in common."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from dovemq.client.connection import Answer, Sink
from dovemq.client.pool import ATTEMPTS_MAX, CONNECTIONS_MAX, Address, Pool
from dovemq.core.access import AccessKey
from dovemq.core.ports import Clock
from dovemq.service.clock import SystemClock
from dovemq.sqs.signature import Signer

ANSWER_SECONDS_MAX: Final = 30.0
"""Longer than the longest poll."""


class Session:
    """Without a key requests go out unsigned, for servers that check no signatures."""

    def __init__(
        self,
        url: str,
        key: AccessKey | None,
        *,
        region: str,
        service: str,
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

    async def ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        query: str = "",
        seconds_max: float = ANSWER_SECONDS_MAX,
        repeatable: bool = False,
        sink: Sink | None = None,
    ) -> Answer:
        """The answer, whatever its status; header names are lower-case."""

        def request() -> bytes:
            return self._request(method, path, query, headers, body)

        return await self._pool.exchange(request, seconds_max, repeatable=repeatable, sink=sink)

    async def close(self) -> None:
        await self._pool.close()

    def _request(
        self, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes
    ) -> bytes:
        sent: Mapping[str, str] = {"host": self._host, **headers}
        if self._signer is not None:
            sent = self._signer.sign(method, path, query, sent, body, self._clock.now_ms())
        target = f"{path}?{query}" if query else path
        lines = [f"{method} {target} HTTP/1.1", f"content-length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in sent.items()]
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body
