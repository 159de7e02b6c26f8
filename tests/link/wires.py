"""A wire between two front ends that can be cut, held, delayed and damaged at any byte."""

import asyncio
from typing import cast

from tests.link.linked import HOST


class Wire:
    """Passes bytes between a caller and an owner.

    `caller_bytes_max` and `owner_bytes_max` are the bytes that one connection lets pass of what
    each side sends; after that it is cut, with what it has let through delivered. `flip` changes
    the byte of the caller at that place. While `held`, nothing passes and nothing is cut.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.caller_bytes_max: int | None = None
        self.owner_bytes_max: int | None = None
        self.flip: int | None = None
        self.held = False
        self.connections = 0
        self.passed = {"caller": 0, "owner": 0}
        self._ends: set[_End] = set()
        self._dials: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> str:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._accepted, HOST, 0)
        return f"{HOST}:{self._server.sockets[0].getsockname()[1]}"

    def cut(self) -> None:
        for end in list(self._ends):
            end.abort()

    def hold(self) -> None:
        self.held = True
        for end in self._ends:
            end.pause()

    def stop_answers(self) -> None:
        """Take no byte of the owner, as if the caller did not read."""
        for end in self._ends:
            if end.side == "owner":
                end.pause()

    def let_go(self) -> None:
        self.held = False
        for end in list(self._ends):
            end.resume()

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        for dial in self._dials:
            dial.cancel()
        await asyncio.gather(*self._dials, return_exceptions=True)
        self.cut()
        await asyncio.sleep(0)

    def _accepted(self) -> "_End":
        self.connections += 1
        self.passed = {"caller": 0, "owner": 0}
        caller, owner = _End(self, "caller"), _End(self, "owner")
        caller.other, owner.other = owner, caller
        self._ends |= {caller, owner}
        dial = asyncio.get_running_loop().create_task(self._dial(caller, owner))
        self._dials.add(dial)
        dial.add_done_callback(self._dials.discard)
        return caller

    async def _dial(self, caller: "_End", owner: "_End") -> None:
        try:
            await asyncio.get_running_loop().create_connection(lambda: owner, HOST, self.port)
        except OSError:
            caller.abort()

    def forget(self, end: "_End") -> None:
        self._ends.discard(end)


class _End(asyncio.Protocol):
    """One side's connection; bytes that it receives go to the other one."""

    other: "_End"

    def __init__(self, wire: Wire, side: str) -> None:
        self._wire = wire
        self.side = side
        self._transport: asyncio.Transport | None = None
        self._early = b""
        self._kept = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(self._early)

    def data_received(self, data: bytes) -> None:
        if self._wire.held:
            # A connection that is just being made cannot be paused yet.
            self._kept += data
            return
        wire, side = self._wire, self.side
        start = wire.passed[side]
        if side == "caller" and wire.flip is not None and 0 <= wire.flip - start < len(data):
            at = wire.flip - start
            data = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        limit = wire.caller_bytes_max if side == "caller" else wire.owner_bytes_max
        kept = data if limit is None else data[: max(0, limit - start)]
        wire.passed[side] += len(kept)
        self.other.write(kept)
        if len(kept) < len(data):
            self.other.close()
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._wire.forget(self)
        self.other.close()

    def write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)
        else:
            self._early += data

    def pause(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._transport is not None:
            self._transport.resume_reading()
            kept, self._kept = self._kept, b""
            self.data_received(kept)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()
