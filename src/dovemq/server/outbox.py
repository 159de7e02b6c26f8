"""The answers of one connection on their way to the client.

An answer is delivered once the operating system has taken all of it. When the connection ends,
the `undelivered` callbacks of the other answers take their messages back.

    put → gathered (small ones of one turn) → transport → operating system
                                              └ `unsent_bytes` while it is paused
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from dovemq.core.errors import InvariantError
from dovemq.http import HttpResponse, Undelivered
from dovemq.server.answers import StreamedResponse, encode_head
from dovemq.server.traffic import Traffic
from dovemq.telemetry.logs import log_failure

log = logging.getLogger(__name__)

GATHERED_BYTES_MAX: Final = 64 << 10
"""Size of the answers that are gathered for one write."""


@dataclass(slots=True, eq=False)
class Outbox:
    _traffic: Traffic
    _transport: asyncio.Transport
    paused: bool = False
    since_tick: int = 0
    unsent_bytes: int = 0
    _drained: asyncio.Future[None] | None = None
    _gathered: list[bytes] = field(default_factory=list)
    _gathered_bytes: int = 0
    _streaming: bool = False
    # Only their callbacks: the transport holds the bytes.
    _unsent: list[tuple[Undelivered | None, Callable[[], None] | None]] = field(
        default_factory=list
    )

    def __post_init__(self) -> None:
        # With a limit of 0 every write is tried at once, and "paused" means that the operating
        # system has not taken all of it.
        self._transport.set_write_buffer_limits(high=0)

    @property
    def clear(self) -> bool:
        """Whether an interim response may be written now."""
        return not (self.paused or self._gathered or self._streaming)

    def pause(self) -> None:
        self.paused = True
        self.since_tick = self._traffic.tick

    def resume(self) -> None:
        self.paused = False
        self.close()
        if not self._gathered:
            self._delivered()
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    def put(self, response: HttpResponse, connection: str, *, bare: bool, more: bool) -> None:
        """Write an answer, without its body if `bare`. `more`: other requests wait for answers."""
        body = response.body
        traffic = self._traffic
        data = encode_head(response, len(body), connection, traffic.date)
        large = len(body) > GATHERED_BYTES_MAX and not bare
        if body and not bare and not large:
            data += body
        if traffic.unsent_bytes + len(body) > traffic.limits.unsent_bytes_max:
            traffic.free_answers(len(data) + len(body))
        if large:
            # In two writes, since the joined answer would be in memory twice. The head goes
            # before the answer is in `_unsent`: a head that was taken delivers nothing.
            self.flush()
            self.write(data)
        if response.undelivered is not None or response.written is not None:
            self._unsent.append((response.undelivered, response.written))
        if large:
            self.write(body)
        elif more and self._gathered_bytes < GATHERED_BYTES_MAX:
            # The next answer may be ready in this turn of the loop, or be a long poll. So the
            # gathered ones are written at the end of this turn.
            if not self._gathered:
                self._traffic.loop.call_soon(self.flush)
            self._gathered.append(data)
            self._gathered_bytes += len(data)
        elif self._gathered:
            self._gathered.append(data)
            self.flush()
        else:
            self.write(data)

    def flush(self) -> None:
        if self._gathered:
            data = b"".join(self._gathered)
            self._gathered.clear()
            self._gathered_bytes = 0
            self.write(data)

    def write(self, data: bytes) -> None:
        transport = self._transport
        if transport.is_closing():
            return
        transport.write(data)
        if self.paused:
            self.unsent_bytes += len(data)
            self._traffic.unsent_bytes += len(data)
        elif self._unsent and not transport.is_closing():
            self._delivered()

    def close(self) -> None:
        """Reset the count of unsent bytes: they were taken, or are dropped with the connection."""
        self._traffic.unsent_bytes -= self.unsent_bytes
        self.unsent_bytes = 0

    async def stream(self, response: StreamedResponse, connection: str, *, bare: bool) -> None:
        self.flush()
        left = 0 if bare else response.length
        head = encode_head(response, response.length, connection, self._traffic.date)
        self._streaming = True
        try:
            self.write(head)
            while left and not self._transport.is_closing():
                if self.paused:
                    await self.taken()
                chunk = await response.read()
                if not 0 < len(chunk) <= left:
                    raise InvariantError(
                        "a streamed answer does not have the length that it announced"
                    )
                left -= len(chunk)
                self.write(chunk)
        except Exception as error:
            # The head is sent, so the only way left to report an error is to close the connection.
            log_failure(log, "a streamed answer was cut off", error)
            self._transport.abort()
        finally:
            self._streaming = False
            response.close()

    async def taken(self) -> None:
        """Wait until the operating system has taken everything."""
        self._drained = self._traffic.loop.create_future()
        try:
            await self._drained
        finally:
            self._drained = None

    async def take_back(self) -> None:
        unsent, self._unsent = self._unsent, []
        for undelivered, _ in unsent:
            if undelivered is None:
                continue
            try:
                await undelivered()
            except Exception as error:
                log_failure(log, "messages of an undelivered answer were not taken back", error)

    def _delivered(self) -> None:
        for _, written in self._unsent:
            if written is None:
                continue
            try:
                written()
            except Exception as error:
                log_failure(log, "the callback of a written answer failed", error)
        self._unsent.clear()
