"""A session with the cluster: the only module that calls the driver and knows its errors.

A plain statement may be repeated as it is, so it is: by the driver, which asks another node when a
node is lost or slow, and here, when the answer was that of a moment without a majority. A
compare-and-set is sent once. If its answer is lost, its outcome is unknown until the caller has
read at `SERIAL`, which first ends what was left unfinished.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Final

import acsylla
from acsylla.errors import (
    CassErrorLibBadParams,
    CassErrorLibUnableToSetKeyspace,
    CassErrorServerBadCredentials,
    CassErrorServerConfigError,
    CassErrorServerInvalidQuery,
    CassErrorServerReadTimeout,
    CassErrorServerSyntaxError,
    CassErrorServerUnauthorized,
    CassErrorServerUnavailable,
    CassErrorServerWriteTimeout,
    CassErrorSourceSsl,
    CassErrorSslClosed,
    CassException,
)
from msgspec import Struct

from dovemq.core.errors import (
    DoveError,
    ReplicasMissing,
    StoreFull,
    StoreUnreachable,
    StoreUnusable,
)
from dovemq.stores.cassandra.location import CassandraLocation

CONNECT_SECONDS_MAX: Final = 5.0
REQUEST_SECONDS_MAX: Final = 4.0
"""The driver waits this long for an answer, the time for asking other nodes included."""
SCHEMA_SECONDS_MAX: Final = 20.0
AGREEMENT_MS: Final = 1_000
"""The driver's wait for all nodes after each change of the schema, which it spends whole while a
node is down. `schema.py` waits for those that answer after the last change."""
REPEAT_SECONDS: Final = (0.1, 0.4)
"""Pauses before a statement is sent again. With these a call ends within 13 seconds."""
SECOND_NODE_MS: Final = 1_000
"""A node that has not answered a repeatable statement for so long is not waited for alone."""
SECOND_NODES_MAX: Final = 1
RECONNECT_MS: Final = 500
RECONNECT_MS_MAX: Final = 4_000
HEARTBEAT_SECONDS: Final = 3
SILENT_SECONDS_MAX: Final = 8
"""A connection without any answer for so long is closed."""
IN_FLIGHT_MAX: Final = 512
PAGE_ROWS: Final = 500
PAGES_MAX: Final = 100_000

ONE: Final = acsylla.Consistency.ONE
ALL: Final = acsylla.Consistency.ALL
QUORUM: Final = acsylla.Consistency.QUORUM
SERIAL: Final = acsylla.Consistency.SERIAL
CONSISTENCIES: Final = {
    "one": acsylla.Consistency.ONE,
    "quorum": acsylla.Consistency.QUORUM,
    "all": acsylla.Consistency.ALL,
}
_CERTIFICATE, _ADDRESS, _NAME = 1, 2, 4
_VERIFY: Final = {
    # The driver checks the authority only if it is asked to, whatever else it checks.
    "ca": _CERTIFICATE,
    "address": _CERTIFICATE | _ADDRESS,
    "name": _CERTIFICATE | _NAME,
}
_REFUSALS: Final = (
    CassErrorLibBadParams,
    CassErrorServerConfigError,
    CassErrorServerInvalidQuery,
    CassErrorServerSyntaxError,
    CassErrorServerUnauthorized,
)
"""Answers that the same statement would get again."""
_TOO_FEW: Final = (
    CassErrorServerReadTimeout,
    CassErrorServerUnavailable,
    CassErrorServerWriteTimeout,
)
_DISK_FULL: Final = "disk usage exceeds"
_NO_NODES: Final = "configured local datacenter"
_NOISE: Final = ("sharding info", "' does not exist'")
"""The driver expects shards, which ScyllaDB alone has; a keyspace that is missing is created."""

_log = logging.getLogger(__name__)

Prepared = Any
Rows = Any
"""The result of the driver: a sized iterable of rows."""


class CassandraStatements(Struct, frozen=True):
    """The prepared statements, each under its name in `statements.cql`."""

    append: Prepared
    note_segment: Prepared
    find_segments: Prepared
    scan: Prepared
    read: Prepared
    drop_segment: Prepared
    forget_segments: Prepared
    get: Prepared
    all: Prepared
    put: Prepared
    put_stamped: Prepared
    remove: Prepared
    remove_stamped: Prepared
    stamp: Prepared
    ledger_get: Prepared
    ledger_put: Prepared
    ledger_remove: Prepared
    ledger_page: Prepared
    ledger_labels: Prepared
    ledger_due: Prepared


class CassandraSession:
    """Connections to all nodes, for one keyspace or for none."""

    def __init__(self, cluster: Any, session: Any, location: CassandraLocation) -> None:
        self.location = location
        self.name = str(location)
        self._cluster = cluster
        self._session = session
        self._places = asyncio.Semaphore(IN_FLIGHT_MAX)
        self._is_closed = False

    async def close(self) -> None:
        """Close the connections; what is under way may end before. May be repeated."""
        if not self._is_closed:
            self._is_closed = True
            try:
                await self._session.close()
            finally:
                _leave(self._cluster)

    async def prepare(self, only: frozenset[str] | None = None) -> CassandraStatements:
        """The statements; with `only` the others are None, since their tables may be missing."""
        return CassandraStatements(**await self.prepare_file("statements.cql", only))

    async def prepare_file(
        self, file: str, only: frozenset[str] | None = None
    ) -> dict[str, Prepared | None]:
        """The statements of a file beside this module, by the names that it gives them."""
        text = resources.files(__package__).joinpath(file).read_text("utf-8")
        sections = [section.partition("\n") for section in text.split("-- name: ")[1:]]
        asked = [(name, cql) for name, _, cql in sections if only is None or name in only]
        found = await asyncio.gather(*(self._prepared(name, cql) for name, cql in asked))
        prepared = {name: each for (name, _), each in zip(asked, found, strict=True)}
        return {name: prepared.get(name) for name, _, _ in sections}

    async def _prepared(self, name: str, text: str) -> Prepared:
        level = CONSISTENCIES[self.location.consistency] if name == "append" else QUORUM
        cql = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
        return await self._wrapped(self._session.create_prepared(cql.strip(), consistency=level))

    async def run(self, cql: str, host: str | None = None) -> Rows:
        """Run one statement that is not prepared, on any node or on this one."""
        statement = acsylla.create_statement(cql, timeout=SCHEMA_SECONDS_MAX)
        if host is not None:
            statement.set_host(host, self.location.port)
        return await self._wrapped(self._session.execute(statement))

    async def ask(self, statement: Prepared, values: Sequence[object], **options: object) -> Rows:
        """Run a statement that may be repeated."""
        return await self._repeated(lambda: self._once(statement, values, options))

    async def ask_batch(
        self, statement: Prepared, rows: Sequence[Sequence[object]], consistency: int
    ) -> None:
        """Run a statement that may be repeated with each row, as one write of one partition."""
        if len(rows) == 1:
            await self.ask(statement, rows[0], consistency=consistency)
        elif rows:
            await self._repeated(lambda: self._once_batch(statement, rows, consistency))

    async def _repeated(self, once: Callable[[], Awaitable[Rows]]) -> Rows:
        async with self._places:
            for pause in REPEAT_SECONDS:
                try:
                    return await once()
                except StoreUnreachable as error:
                    if self._is_closed or isinstance(error, StatementRefused):
                        raise
                await asyncio.sleep(pause)
            return await once()

    async def pages(self, statement: Prepared, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """All rows of a select, in any order."""
        rows: list[tuple[Any, ...]] = []
        state = None
        for _ in range(PAGES_MAX):
            found = await self.ask(statement, values, page_size=PAGE_ROWS, page_state=state)
            rows.extend(row.as_tuple() for row in found)
            if not found.has_more_pages():
                return rows
            state = found.page_state()
        raise StoreUnreachable(self.name, f"more than {PAGES_MAX} pages of {PAGE_ROWS} rows")

    async def swap(self, statement: Prepared, values: Sequence[object]) -> tuple[bool, int] | None:
        """Run a compare-and-set, once.

        Returns whether it was applied, and the stored version if it was not. None means that the
        outcome is unknown.
        """
        row = await self.swap_row(statement, values)
        return None if row is None else (row["[applied]"], row.get("version") or 0)

    async def swap_row(
        self, statement: Prepared, values: Sequence[object]
    ) -> dict[str, Any] | None:
        """Run a compare-and-set, once; the row of its answer, or None for an unknown outcome."""
        async with self._places:
            self._require_open()
            try:
                result = await self._session.execute(statement.bind(values))
            except _REFUSALS as error:
                raise self._failure(error) from error
            except CassException as error:
                _log.info("The outcome of a compare-and-set is unknown: %s", error)
                return None
        return dict(result.first())

    async def _once(
        self, statement: Prepared, values: Sequence[object], options: Mapping[str, object]
    ) -> Rows:
        self._require_open()
        bound = statement.bind(values, **options)
        bound.set_is_idempotent(True)
        try:
            return await self._session.execute(bound)
        except CassException as error:
            raise self._failure(error) from error

    async def _once_batch(
        self, statement: Prepared, rows: Sequence[Sequence[object]], consistency: int
    ) -> Rows:
        self._require_open()
        batch = acsylla.create_batch_unlogged()
        batch.set_consistency(consistency)
        batch.set_is_idempotent(True)
        for row in rows:
            batch.add_statement(statement.bind(row))
        try:
            return await self._session.execute_batch(batch)
        except CassException as error:
            raise self._failure(error) from error

    async def _wrapped(self, call: Awaitable[Any]) -> Any:
        try:
            return await call
        except CassException as error:
            raise self._failure(error) from error

    def _require_open(self) -> None:
        if self._is_closed:
            raise StoreUnreachable(self.name, "this client is closed")

    def _failure(self, error: CassException) -> DoveError:
        if isinstance(error, _TOO_FEW):
            return ReplicasMissing(self.name, f"{error}")
        if not isinstance(error, _REFUSALS):
            return StoreUnreachable(self.name, f"{error}")
        if _DISK_FULL in f"{error}":
            return StoreFull()
        return StatementRefused(self.name, f"{error}")


class StatementRefused(StoreUnreachable):
    """The cluster will refuse the statement again: a missing right, table or setting."""


async def open_session(location: CassandraLocation, keyspace: str | None) -> CassandraSession:
    """Connect to the cluster. Ends within a few `CONNECT_SECONDS_MAX`."""
    cluster = _cluster(location)
    task = asyncio.create_task(cluster.create_session(keyspace))
    try:
        return CassandraSession(cluster, await asyncio.shield(task), location)
    except asyncio.CancelledError:
        # The driver never ends if a session is abandoned while it connects.
        while not task.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        if task.exception() is None:
            await task.result().close()
        _leave(cluster)
        raise
    except CassException as error:
        _leave(cluster)
        raise _connect_failure(location, error) from None


def _connect_failure(location: CassandraLocation, error: CassException) -> DoveError:
    name = str(location)
    if isinstance(error, CassErrorServerBadCredentials):
        remedy = "correct user and password in the URL of the store"
        return StoreUnusable(name, f"the cluster refuses the login ({error})", remedy)
    if isinstance(error, CassErrorSourceSsl) and not isinstance(error, CassErrorSslClosed):
        remedy = "correct ca, cert, key and verify in the URL of the store"
        return StoreUnusable(name, f"TLS failed ({error})", remedy)
    if _NO_NODES in f"{error}":
        found = f"no node that answers is in the datacenter {location.datacenter!r}"
        return StoreUnusable(name, found, "correct datacenter in the URL of the store")
    if isinstance(error, CassErrorLibUnableToSetKeyspace):
        return StatementRefused(name, f"{error}")
    return StoreUnreachable(name, f"{error}")


def _leave(cluster: Any) -> None:
    """Close the sockets by which the driver's threads wake the loop, which it leaves open."""
    cluster.get_logger().destroy()
    cluster.destroy()


def _cluster(location: CassandraLocation) -> Any:
    cluster = acsylla.create_cluster(
        list(location.hosts),
        port=location.port,
        username=location.user,
        password=location.password,
        connect_timeout=CONNECT_SECONDS_MAX,
        request_timeout=REQUEST_SECONDS_MAX,
        resolve_timeout=CONNECT_SECONDS_MAX,
        log_level="error",
        logging_callback=_note,
        consistency=QUORUM,
        serial_consistency=SERIAL,
        queue_size_io=IN_FLIGHT_MAX * 2,
        exponential_reconnect_base_delay_ms=RECONNECT_MS,
        exponential_reconnect_max_delay_ms=RECONNECT_MS_MAX,
        max_schema_wait_time_ms=AGREEMENT_MS,
        load_balance_dc_aware=location.datacenter,
        heartbeat_interval_sec=HEARTBEAT_SECONDS,
        idle_timeout_sec=SILENT_SECONDS_MAX,
        hostname_resolution=location.tls is not None and location.tls.verify == "name",
        speculative_execution_policy=acsylla.SpeculativeExecutionPolicy(
            SECOND_NODE_MS, SECOND_NODES_MAX
        ),
        application_name="dovemq",
    )
    try:
        _secure(cluster, location)
    except StoreUnusable:
        _leave(cluster)
        raise
    return cluster


def _secure(cluster: Any, location: CassandraLocation) -> None:
    if (tls := location.tls) is None:
        return
    cert, key, ca = (_pem(location, file) for file in (tls.cert, tls.key, tls.ca))
    try:
        cluster.set_ssl(True, cert, key, "", ca, _VERIFY[tls.verify])
    except CassException as error:
        found = f"one of ca, cert and key is not in PEM form ({error})"
        raise StoreUnusable(str(location), found, "correct the files") from None


def _pem(location: CassandraLocation, file: Path | None) -> str | None:
    try:
        return file.read_text("utf-8") if file else None
    except (OSError, UnicodeDecodeError) as error:
        raise StoreUnusable(str(location), f"{file}: {error}", "name a file in PEM form") from None


def _note(message: Any) -> None:
    if not any(text in message.message for text in _NOISE):
        _log.warning("%s", message.message)
