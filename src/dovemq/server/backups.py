"""Backups over HTTP: the store makes a copy, which is streamed and gone afterwards."""

import asyncio
from http import HTTPStatus
from typing import BinaryIO, Final

from dovemq.server.answers import StreamedResponse
from dovemq.server.care import StoreCare

CHUNK_BYTES: Final = 256 << 10


class Backups:
    """Makes one backup at a time, since each needs room for a whole copy."""

    def __init__(self, care: StoreCare) -> None:
        self._care = care
        self.running = False

    async def make(self) -> StreamedResponse:
        self.running = True
        copying = asyncio.ensure_future(self._care.backup())
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
