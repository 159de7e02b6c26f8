"""Backups over HTTP: a copy is made in the data directory, streamed, and removed."""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import BinaryIO, Final

from dovemq.server.care import StoreCare
from dovemq.server.traffic import StreamedResponse

CHUNK_BYTES: Final = 256 << 10
_NAME: Final = "http-backup-"


class Backups:
    """Makes one backup at a time, in the directory `scratch`: each needs room for a whole copy."""

    def __init__(self, care: StoreCare, scratch: Path, new_id: Callable[[], str]) -> None:
        self._care = care
        self._scratch = scratch
        self._new_id = new_id
        self.running = False

    async def make(self) -> StreamedResponse:
        self.running = True
        copy = self._scratch / f"{_NAME}{self._new_id()}"
        copying = asyncio.ensure_future(self._copied(copy))
        try:
            file = await asyncio.shield(copying)
        except asyncio.CancelledError:
            # The store's thread goes on copying; another copy beside it might fill the disk.
            copying.add_done_callback(self._dismiss)
            raise
        except BaseException:
            self.running = False
            raise
        return self._streamed(file)

    async def _copied(self, copy: Path) -> BinaryIO:
        self._remove_leftovers()
        try:
            await self._care.backup(copy)
            # A file without a name is gone with its last reader, also if the process is killed.
            return copy.open("rb")
        finally:
            copy.unlink(missing_ok=True)

    def _dismiss(self, copying: "asyncio.Future[BinaryIO]") -> None:
        self.running = False
        if not copying.cancelled() and copying.exception() is None:
            copying.result().close()

    def _streamed(self, file: BinaryIO) -> StreamedResponse:
        loop = asyncio.get_running_loop()
        length = file.seek(0, 2)
        file.seek(0)

        async def read() -> bytes:
            return await loop.run_in_executor(None, file.read, CHUNK_BYTES)

        def close() -> None:
            file.close()
            self.running = False

        return StreamedResponse(HTTPStatus.OK, "application/vnd.sqlite3", length, read, close)

    def _remove_leftovers(self) -> None:
        """Remove the copies of a server that was killed while it made one."""
        for left in self._scratch.glob(_NAME + "*"):
            left.unlink(missing_ok=True)
