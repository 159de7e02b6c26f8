"""Stores of the audit log: JSON lines in the data directory, or the last entries in memory.

Entries that arrive during a write share the next write and sync, in a thread.
"""

import asyncio
import collections
import datetime
import logging
from collections.abc import Awaitable, Sequence
from typing import Any, Final, Protocol

import msgspec

from dovemq.core.errors import AuditUnwritable
from dovemq.server.audit_files import AuditFiles
from dovemq.service.audit import Audit, AuditEntry
from dovemq.system.outcomes import let_go_unread

log = logging.getLogger(__name__)

MEMORY_ENTRIES_MAX: Final = 1_000

Document = dict[str, Any]


class AuditLog(Audit, Protocol):
    """An audit log that can be read."""

    @property
    def last_sequence(self) -> int:
        """The sequence of the newest entry, which may not be written yet."""

    def page(self, after: int | None, count_max: int) -> Awaitable[list[Document]]:
        """Entries after that sequence, oldest first; with None the newest ones."""

    def close(self) -> Awaitable[None]: ...


class DurableAudit:
    """The audit log in files. After a failed write no change starts until a write succeeds.

    `_lines` are entries that are not written yet, `_waiters` the futures of the calls of `add` that
    wait for them. After a failure the lines stay and the calls fail.
    """

    def __init__(self, files: AuditFiles) -> None:
        self._files = files
        self._sequence = files.last_sequence
        self._lines: list[tuple[int, bytes]] = []
        self._waiters: list[asyncio.Future[None]] = []
        self._writing: asyncio.Task[None] | None = None
        self._failure: str | None = None

    @property
    def last_sequence(self) -> int:
        return self._sequence

    def check(self) -> None:
        if self._failure is not None:
            # This change is refused. The write that it starts decides whether the next one is.
            self._write_soon()
            raise AuditUnwritable(self._failure)

    def add(self, entry: AuditEntry) -> Awaitable[None]:
        self._sequence += 1
        line = msgspec.json.encode(_document(self._sequence, entry)) + b"\n"
        self._lines.append((self._sequence, line))
        written = asyncio.get_running_loop().create_future()
        # The client may have disconnected.
        let_go_unread(written)
        self._waiters.append(written)
        self._write_soon()
        return written

    async def page(self, after: int | None, count_max: int) -> list[Document]:
        return await asyncio.to_thread(self._files.page, after, count_max)

    async def idle(self) -> None:
        """Wait until nothing is being written."""
        if self._writing is not None:
            await self._writing

    async def close(self) -> None:
        self._write_soon()
        await self.idle()
        if self._lines:
            log.error("%d entries of the audit log were not written", len(self._lines))
        self._files.close()

    def _write_soon(self) -> None:
        if self._writing is None:
            self._writing = asyncio.get_running_loop().create_task(self._write())

    async def _write(self) -> None:
        try:
            while self._lines:
                lines, waiters = self._lines, self._waiters
                self._lines, self._waiters = [], []
                failure = await asyncio.to_thread(self._appended, lines)
                self._note(failure)
                if failure is not None:
                    self._lines = lines + self._lines
                    _resolve(waiters + self._waiters, failure)
                    self._waiters = []
                    return
                _resolve(waiters, None)
        finally:
            self._writing = None

    def _appended(self, lines: Sequence[tuple[int, bytes]]) -> str | None:
        """The reason why the lines were not written; None if they were."""
        try:
            self._files.append(lines)
        except OSError as error:
            return error.strerror or type(error).__name__
        return None

    def _note(self, failure: str | None) -> None:
        if failure is not None and self._failure is None:
            log.error("the audit log cannot be written (%s): changes are refused", failure)
        elif failure is None and self._failure is not None:
            log.warning("the audit log is written again")
        self._failure = failure


class MemoryAudit:
    """The last entries in memory, for a service whose messages are in memory too."""

    def __init__(self, entries_max: int = MEMORY_ENTRIES_MAX) -> None:
        self._lines: collections.deque[Document] = collections.deque(maxlen=entries_max)
        self._sequence = 0

    @property
    def last_sequence(self) -> int:
        return self._sequence

    def check(self) -> None:
        """Do nothing: memory can always be written."""

    def add(self, entry: AuditEntry) -> Awaitable[None]:
        self._sequence += 1
        self._lines.append(_document(self._sequence, entry))
        added = asyncio.get_running_loop().create_future()
        added.set_result(None)
        return added

    async def page(self, after: int | None, count_max: int) -> list[Document]:
        lines = list(self._lines)
        if after is None:
            return lines[-count_max:]
        return [line for line in lines if line["sequence"] > after][:count_max]

    async def close(self) -> None:
        """Do nothing: there is no file."""


def _resolve(waiters: Sequence["asyncio.Future[None]"], failure: str | None) -> None:
    for written in waiters:
        if written.done():
            # Its client has disconnected.
            continue
        if failure is None:
            written.set_result(None)
        else:
            written.set_exception(AuditUnwritable(failure))


def _document(sequence: int, entry: AuditEntry) -> Document:
    """The stored form of an entry. Sequences have no gaps, also over restarts."""
    fields = msgspec.structs.asdict(entry)
    return {"sequence": sequence, "ts": _time_text(fields.pop("at_ms")), **fields}


def _time_text(at_ms: int) -> str:
    """The time as in `2026-01-31T12:00:00.000Z`."""
    seconds, ms = divmod(at_ms, 1_000)
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ms:03d}Z"
