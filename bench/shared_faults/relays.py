"""Relays between front ends, so that the link of a pair can be cut without rights on the machine.

A cut relay passes nothing on and closes nothing, as a network that drops packets. What was written
meanwhile arrives when the cut ends.
"""

import asyncio
import contextlib
from typing import Final

HOST: Final = "127.0.0.1"
CHUNK_BYTES: Final = 65_536


class LinkRelay:
    """Listens on `port` and passes on what it gets to `target`, until it is cut."""

    def __init__(self, port: int, target: int) -> None:
        self.port = port
        self.target = target
        self._open = asyncio.Event()
        self._open.set()
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accepted, HOST, self.port)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def cut(self) -> None:
        self._open.clear()

    def mend(self) -> None:
        self._open.set()

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._relay(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError):
            await self._open.wait()
            there, back = await asyncio.open_connection(HOST, self.target)
            with contextlib.closing(back):
                ways = [self._pass_on(reader, back), self._pass_on(there, writer)]
                tasks = [asyncio.ensure_future(way) for way in ways]
                try:
                    # One side that ends its connection ends the other one.
                    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for task in tasks:
                        task.cancel()
                    await asyncio.gather(*tasks, return_exceptions=True)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(CHUNK_BYTES):
            await self._open.wait()
            writer.write(data)
            await writer.drain()
        await self._open.wait()
