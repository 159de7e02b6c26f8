"""Connections to PostgreSQL: a bounded number, one call at a time on each.

It wraps every exception of the driver. The pool of asyncpg itself costs as much CPU again as an
append; this one only keeps idle connections. A call that takes too long is given up by closing its
connection, never by a request to cancel it: a commit that is cancelled while it waits for a standby
would be reported as done.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

import asyncpg

from dovemq.core.errors import StoreFull, StoreUnreachable, StoreUnusable, UnavailableError
from dovemq.stores.postgresql.location import PostgresqlLocation

SESSION_SETTINGS: Final = {
    "application_name": "dovemq",
    "default_transaction_isolation": "read committed",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "jit": "off",
}
"""Plans are kept while the tables grow: one that was made for a small table must use the index too.
The compiler would start for every plan that cannot, since such plans are counted as expensive."""
CLOSE_S_MAX: Final = 2
REASON_LENGTH_MAX: Final = 200

T = TypeVar("T")
Work = Callable[[asyncpg.Connection], Awaitable[T]]

_FAILURES: Final = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
)
"""Everything that a connection can raise; `OSError` includes time-outs and TLS."""
_TO_BE_CHANGED: Final = ("28", "3D", "3F", "42")
"""Classes of SQLSTATE at start: login refused, no such database or schema, no permission."""


class PostgresqlConnections:
    def __init__(self, location: PostgresqlLocation, call_s_max: float) -> None:
        """`call_s_max`: the longest time of a call, with the wait for a connection."""
        self._location = location
        self._call_s_max = call_s_max
        self._slots = asyncio.Semaphore(location.connections)
        self._open: set[asyncpg.Connection] = set()
        self._idle: list[asyncpg.Connection] = []
        self._is_closed = False

    async def execute(self, statement: str, *arguments: object) -> int:
        """Run a statement, and answer the number of rows that it changed."""
        status: str = await self.call(lambda line: line.execute(statement, *arguments))
        return int(status.rpartition(" ")[2])

    async def fetch(self, statement: str, *arguments: object) -> list[Any]:
        return await self.call(lambda line: line.fetch(statement, *arguments))

    async def call(self, work: Work[T]) -> T:
        """Do the work on a connection, and keep the connection if it is sound afterwards."""
        try:
            async with asyncio.timeout(self._call_s_max), self._slots:
                return await self._work_on(await self._take(), work)
        except _FAILURES as error:
            raise self._unavailable(error) from error

    async def start(self, work: Work[None]) -> None:
        """Do the first work, on a connection of its own that is closed afterwards.

        Raises `StoreUnusable` for a fault that somebody must correct.
        """
        try:
            async with asyncio.timeout(self._call_s_max):
                connection = await self._connect()
                try:
                    await work(connection)
                finally:
                    self._drop(connection)
        except _FAILURES as error:
            raise self._unusable(error) or self._unavailable(error) from error

    async def close(self) -> None:
        """Close all connections. Calls under way raise `StoreUnreachable`."""
        self._is_closed = True
        idle, self._idle = self._idle, []
        closing = (connection.close(timeout=CLOSE_S_MAX) for connection in idle)
        await asyncio.gather(*closing, return_exceptions=True)
        for connection in list(self._open):
            self._drop(connection)

    async def _work_on(self, connection: asyncpg.Connection, work: Work[T]) -> T:
        try:
            answer = await work(connection)
        except asyncpg.PostgresError:
            self._give_back(connection)
            raise
        except BaseException:
            self._drop(connection)
            raise
        self._give_back(connection)
        return answer

    async def _take(self) -> asyncpg.Connection:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
            self._drop(connection)
        return await self._connect()

    def _give_back(self, connection: asyncpg.Connection) -> None:
        if self._is_closed or connection.is_closed():
            self._drop(connection)
        else:
            self._idle.append(connection)

    def _drop(self, connection: asyncpg.Connection) -> None:
        self._open.discard(connection)
        connection.terminate()

    async def _connect(self) -> asyncpg.Connection:
        if self._is_closed:
            raise asyncpg.InterfaceError("this client was closed")
        location = self._location
        connection = await asyncpg.connect(
            f"postgresql://?{urlencode(location.tls)}",
            host=location.host,
            port=location.port,
            user=location.user,
            password=location.password,
            database=location.database,
            target_session_attrs="read-write",
            timeout=self._call_s_max,
            server_settings={
                **SESSION_SETTINGS,
                "search_path": location.schema,
                "statement_timeout": f"{self._call_s_max * 1_000:.0f}",
            },
        )
        self._open.add(connection)
        return connection

    def _unavailable(self, error: Exception) -> UnavailableError:
        if isinstance(error, asyncpg.DiskFullError):
            return StoreFull()
        return StoreUnreachable(str(self._location), self._reason(error))

    def _unusable(self, error: Exception) -> StoreUnusable | None:
        """The error at start, if the next attempt would meet it too."""
        name = str(self._location)
        match error:
            case asyncpg.PostgresError() if (error.sqlstate or "").startswith(_TO_BE_CHANGED):
                remedy = "correct the URL, or what the user may do in the database"
                return StoreUnusable(name, self._reason(error), remedy)
            case (
                ssl.SSLError()
                | asyncpg.ClientConfigurationError()
                | FileNotFoundError()
                | PermissionError()
            ):
                remedy = "correct sslmode and the files of the URL"
                return StoreUnusable(name, f"TLS failed: {self._reason(error)}", remedy)
        return None

    def _reason(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return f"no answer within {self._call_s_max:g} s"
        return (str(error).partition("\n")[0] or type(error).__name__)[:REASON_LENGTH_MAX]
