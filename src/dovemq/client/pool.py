"""A bounded pool of connections to one address, with timeouts and safe retries."""

import asyncio
import contextlib
import os
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from dovemq.client.connection import ClientResponse, ConnectionBroken, PooledConnection, Sink
from dovemq.client.errors import (
    AnswerMalformed,
    TimedOut,
    Unconnected,
    Unreachable,
    Untrusted,
)

CONNECTIONS_MAX: Final = 32
CONNECT_SECONDS_MAX: Final = 5.0
ATTEMPTS_MAX: Final = 3
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class Address(Struct, frozen=True):
    url: str
    host: str
    port: int
    authority: str
    secure: bool

    @classmethod
    def parse(cls, url: str) -> "Address":
        try:
            parts = urlsplit(url)
            if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
                raise AnswerMalformed(url, "not an http:// or https:// address")
            port = parts.port or _DEFAULT_PORTS[parts.scheme]
        except ValueError as error:
            raise AnswerMalformed(url, f"not an address: {error}") from None
        authority = parts.netloc.rpartition("@")[2]
        return cls(url, parts.hostname, port, authority, parts.scheme == "https")


class Pool:
    """Keeps connections open and reuses them, the most recent first.

    Certificates are checked against `ca_bundle` if it is given, else against the system's.
    """

    def __init__(
        self,
        address: Address,
        connections_max: int = CONNECTIONS_MAX,
        ca_bundle: Path | None = None,
        attempts_max: int = ATTEMPTS_MAX,
    ) -> None:
        self._address = address
        self._attempts_max = attempts_max
        self._trust = _trust(address, ca_bundle) if address.secure else None
        self._idle: list[PooledConnection] = []
        self._slots = asyncio.Semaphore(connections_max)
        self._closed = False

    async def exchange(
        self,
        make_request: Callable[[], bytes],
        seconds_max: float,
        *,
        repeatable: bool,
        sink: Sink | None = None,
    ) -> ClientResponse:
        """The answer, within `seconds_max` for all attempts together.

        A request whose connection breaks is sent again only if it is `repeatable`. Each attempt
        calls `make_request`, since signatures expire.
        """
        deadline = asyncio.get_running_loop().time() + seconds_max
        try:
            if self._slots.locked():
                async with asyncio.timeout_at(deadline):
                    await self._slots.acquire()
            else:
                await self._slots.acquire()
            try:
                return await self._attempts(make_request, deadline, repeatable, sink)
            finally:
                self._slots.release()
        except TimeoutError:
            raise TimedOut(self._address.url, seconds_max) from None

    async def _attempts(
        self,
        make_request: Callable[[], bytes],
        deadline: float,
        repeatable: bool,
        sink: Sink | None,
    ) -> ClientResponse:
        attempts_max = self._attempts_max if repeatable and sink is None else 1
        for attempt in range(attempts_max):
            connection = self._idle_one() or await self._connection(deadline)
            try:
                answer = await connection.exchange(make_request(), deadline, sink)
            except ConnectionBroken as error:
                if attempt + 1 == attempts_max:
                    raise Unreachable(self._address.url, str(error)) from None
            else:
                self._keep(connection)
                return answer
        raise AssertionError("the last attempt answers or raises")

    def _idle_one(self) -> PooledConnection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                return connection
        return None

    async def _connection(self, deadline: float) -> PooledConnection:
        address = self._address
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(min(deadline, loop.time() + CONNECT_SECONDS_MAX)):
                _, connection = await loop.create_connection(
                    PooledConnection, address.host, address.port, ssl=self._trust
                )
        except TimeoutError:
            raise Unconnected(address.url, "no connection in time") from None
        except ssl.SSLCertVerificationError as error:
            raise Untrusted(address.url, f"its certificate: {error.verify_message}") from None
        except OSError as error:
            raise Unconnected(address.url, _reason(error)) from None
        return connection

    def _keep(self, connection: PooledConnection) -> None:
        if self._closed:
            connection.close()
        elif connection.usable:
            self._idle.append(connection)

    async def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.pop().close()
        with contextlib.suppress(asyncio.CancelledError):
            # The loop releases the closed transports before it is closed itself.
            await asyncio.sleep(0)


def _reason(error: OSError) -> str:
    """The reason of the operating system. asyncio replaces its text by a call that failed."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or str(error)


def _trust(address: Address, ca_bundle: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_bundle)
    except OSError as error:
        found = f"{ca_bundle} cannot be used ({error.strerror or error})"
        raise Untrusted(address.url, found) from None
