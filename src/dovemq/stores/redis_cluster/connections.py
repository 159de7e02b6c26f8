"""Connections to one Redis server: a bounded number, one call at a time on each.

redis-py's connections do the protocol, TLS and the login. Its cluster client is not used: it costs
half as much CPU again for an append, sends ASKING on a connection that may be another than that of
the command, and does not send a script call and its WAIT in one write.
"""

import asyncio
import ssl
from collections.abc import Callable, Sequence
from typing import Any, Final

import hiredis
from redis.asyncio import Connection, SSLConnection
from redis.exceptions import RedisError, ResponseError

from dovemq.stores.redis_cluster.location import RedisAddress, RedisLocation, written_address

CONNECT_SECONDS_MAX: Final = 2.0
READ_BYTES: Final = 256 << 10
"""The most that one read of a socket gives; pages of a scan are large."""

CommandPart = bytes | str | int
Command = tuple[CommandPart, ...]
Reply = Any
"""A value, a list of values, or a `ResponseError` that the server has answered with."""

Connecting = Callable[[RedisAddress], Connection]


class NotSent(Exception):
    """No connection could be made, so the server has not seen the call."""

    def __init__(self, address: RedisAddress, cause: Exception) -> None:
        server, text = written_address(address), str(cause)
        super().__init__(text if server in text else f"{server}: {text}")
        self.cause = cause


class RedisNode:
    """One server. `ask` raises `NotSent`, or `RedisError` if the outcome is unknown."""

    def __init__(self, address: RedisAddress, connecting: Connecting, connections: int) -> None:
        self.address = address
        self._connecting = connecting
        self._places = asyncio.Semaphore(connections)
        self._idle: list[Connection] = []
        self._busy: set[Connection] = set()
        self._is_closed = False

    async def ask(self, commands: Sequence[Command]) -> list[Reply]:
        """Send all commands in one write on one connection, and read their answers."""
        # The stub of hiredis allows tuples with one part only.
        packed = [hiredis.pack_command(command) for command in commands]  # type: ignore[arg-type]
        async with self._places:
            connection = await self._take()
            self._busy.add(connection)
            try:
                await connection.send_packed_command(packed, check_health=False)
                replies = [await _reply(connection) for _ in commands]
            except BaseException:
                await connection.disconnect(nowait=True)
                raise
            finally:
                self._busy.discard(connection)
            if self._is_closed:
                await connection.disconnect(nowait=True)
            else:
                self._idle.append(connection)
            return replies

    async def close(self) -> None:
        """Close all connections, and wait for the end of TLS. Calls under way fail."""
        self._is_closed = True
        idle, self._idle = self._idle, []
        closing = (connection.disconnect() for connection in (*idle, *self._busy))
        # A server that does not answer any more is left after CONNECT_SECONDS_MAX.
        await asyncio.gather(*closing, return_exceptions=True)

    async def _take(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            try:
                if connection.is_connected and not await connection.can_read():
                    return connection
            except RedisError:
                continue
            # Between two calls there is nothing to read but the end of the connection.
            await connection.disconnect(nowait=True)
        return await self._connected()

    async def _connected(self) -> Connection:
        connection = self._connecting(self.address)
        try:
            await connection.connect()  # type: ignore[no-untyped-call]
            if self._is_closed:
                raise RedisError("this client was closed")
        except BaseException as error:
            await connection.disconnect(nowait=True)
            if isinstance(error, (RedisError, OSError)):
                raise NotSent(self.address, error) from error
            raise
        return connection


async def _reply(connection: Connection) -> Reply:
    try:
        return await connection.read_response()
    except ResponseError as error:
        return error


def connecting_to(location: RedisLocation) -> Connecting:
    """The way to connect to any server of the location. Raises `OSError` for unfit files of TLS."""
    options: dict[str, Any] = {
        "username": location.user,
        "password": location.password,
        "protocol": 2,
        "driver_info": None,
        # The caller limits the whole call: a limit for each read costs a timer each.
        "socket_timeout": None,
        "socket_connect_timeout": CONNECT_SECONDS_MAX,
        "socket_read_size": READ_BYTES,
    }
    if location.tls is None:
        return lambda address: Connection(host=address[0], port=address[1], **options)
    context = _tls_context(location.tls)

    def connect_securely(address: RedisAddress) -> Connection:
        connection = SSLConnection(host=address[0], port=address[1], **options)
        # One context for all: redis-py would read the files for each connection, and trust the
        # authorities of the machine beside those of `ca`.
        connection.ssl_context.context = context
        return connection

    return connect_securely


def _tls_context(tls: dict[str, str]) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=tls.get("ca"))
    context.check_hostname = tls.get("verify") != "ca"
    if "cert" in tls:
        context.load_cert_chain(tls["cert"], tls.get("key"))
    return context


def tls_failed(error: NotSent) -> bool:
    """Whether the certificate of one side was refused by the other."""
    causes = (error.cause, error.cause.__cause__, error.cause.__context__)
    return any(isinstance(cause, ssl.SSLError) for cause in causes)
