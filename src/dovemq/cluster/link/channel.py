"""Frames over one connection of a link: gathering, bounds, tags, signs of life.

    frame = length (4 bytes) · tag (16 bytes, without TLS) · payload

The payload is one greeting, and later a list of messages: all messages of one turn of the event
loop share a frame and a write. Without TLS the tag is a keyed BLAKE2b of the number of the frame
and its payload, so that a frame that was forged, changed, repeated or left out ends the connection.

Bytes that the other side does not take wait here and not in the transport. So the messages that
certainly were not delivered are known when the connection is lost.
"""

import asyncio
import hashlib
import hmac
import socket
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol, cast

import msgspec

from dovemq.cluster.link.bounds import (
    FRAME_BYTES_AIM,
    FRAME_BYTES_MAX,
    FRAME_TICKS_MAX,
    GREETING_BYTES_MAX,
    MESSAGE_BYTES_MAX,
    SILENT_TICKS_MAX,
    STALLED_TICKS_MAX,
    TICK_SECONDS,
)
from dovemq.cluster.link.verbs import PING

_LENGTH_BYTES: Final = 4
_TAG_BYTES: Final = 16
_LIST_HEAD: Final = b"\xdd"
"""msgpack's mark of a list whose length takes four bytes."""
_LIST_HEAD_BYTES: Final = 5

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The errors of a decoder that was given anything but its own messages."""

Undelivered = Callable[[], None]


class MessageTooLarge(Exception):
    """A message does not fit into a frame; it was not sent."""


class ChannelReceiver(Protocol):
    """The side of a link that a channel reports to."""

    def opened(self) -> None: ...

    def frame_received(self, payload: memoryview) -> None:
        """Handle a frame. One that cannot be decoded ends the connection."""

    def ticked(self) -> None: ...

    def written(self) -> None:
        """The transport has all messages; called often."""

    def lost(self, cause: str) -> None:
        """The connection has ended; called once, after `opened`."""

    def unreadable(self, start: bytes) -> str:
        """The reason why these first bytes are not a frame."""


class _Tags:
    """Tags of the frames of one direction; each frame has the next number."""

    def __init__(self, key: bytes) -> None:
        self._keyed = hashlib.blake2b(key=key, digest_size=_TAG_BYTES)
        self._number = 0

    def next(self, payload: bytes | bytearray | memoryview) -> bytes:
        tag = self._keyed.copy()
        tag.update(self._number.to_bytes(8, "big"))
        tag.update(payload)
        self._number += 1
        return tag.digest()


class Channel(asyncio.Protocol):
    def __init__(self, receiver: ChannelReceiver) -> None:
        self._receiver = receiver
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._encode_into = msgspec.msgpack.Encoder().encode_into
        self._frame_bytes_max = GREETING_BYTES_MAX
        self._tags_in: _Tags | None = None
        self._tags_out: _Tags | None = None
        self._partial = bytearray()
        self._head_bytes = 0
        self._frame = bytearray()
        self._count = 0
        self._undelivered: list[Undelivered] = []
        self._sealed: deque[tuple[bytearray, list[Undelivered]]] = deque()
        self._flush_due = False
        self._paused = False
        self._reading = True
        self._wrote = False
        self._silent_ticks = 0
        self._stalled_ticks = 0
        self._frame_ticks = 0
        self._timer: asyncio.TimerHandle | None = None
        self._cause = "the connection was closed"
        self.unsent_bytes = 0
        self.closed = False

    @property
    def peer_address(self) -> str:
        found = self._transport and self._transport.get_extra_info("peername")
        return str(found[0]) if found else "an unknown address"

    @property
    def ssl_object(self) -> Any:
        return self._transport and self._transport.get_extra_info("ssl_object")

    # Called by the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        # "Paused" then means that the operating system has not taken everything.
        self._transport.set_write_buffer_limits(high=0)
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._timer = self._loop.call_later(TICK_SECONDS, self._tick)
        self._receiver.opened()

    def data_received(self, data: bytes) -> None:
        self._silent_ticks = 0
        if self.closed:
            return
        if self._partial:
            self._partial += data
            with memoryview(self._partial) as view:
                taken = self._frames(view)
            if taken:
                self._frame_ticks = 0
                # A new object, since a view of a frame may still hold the old one.
                self._partial = self._partial[taken:]
        else:
            taken = self._frames(memoryview(data))
            if taken < len(data):
                self._frame_ticks = 0
                self._partial += data[taken:]

    def pause_writing(self) -> None:
        self._paused = True
        self._stalled_ticks = 0

    def resume_writing(self) -> None:
        self._paused = False
        self._write()

    def eof_received(self) -> bool:
        self.fail("the other side closed the connection")
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None and not self.closed:
            self._cause = _text(exc)
        self.closed = True
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()
        undelivered = [each for _, group in self._sealed for each in group] + self._undelivered
        self._sealed.clear()
        self._undelivered = []
        self._partial = bytearray()
        for take_back in undelivered:
            take_back()
        self._receiver.lost(self._cause)

    # Called by the link.

    def greet(self, payload: bytes) -> None:
        """Write a frame of the handshake, which has no tag."""
        if self._transport is not None and not self.closed:
            self._transport.write(len(payload).to_bytes(_LENGTH_BYTES, "big") + payload)

    def begin(self, *, key_in: bytes | None, key_out: bytes | None) -> None:
        """Start with messages, now that both sides have proved themselves; no keys under TLS."""
        self._tags_in = _Tags(key_in) if key_in else None
        self._tags_out = _Tags(key_out) if key_out else None
        self._frame_bytes_max = FRAME_BYTES_MAX
        self._head_bytes = _LENGTH_BYTES + (_TAG_BYTES if key_out else 0)
        self._new_frame()

    def put(self, message: msgspec.Struct, undelivered: Undelivered | None = None) -> None:
        """Send a message with the others of this turn.

        `undelivered` is called if the connection is lost before the message has left.
        """
        if self._transport is None:
            if undelivered is not None:
                undelivered()
            return
        frame, start = self._frame, len(self._frame)
        try:
            self._encode_into(message, frame, -1)
        except Exception:
            del frame[start:]
            raise
        if len(frame) - start > MESSAGE_BYTES_MAX:
            del frame[start:]
            raise MessageTooLarge
        self._count += 1
        if undelivered is not None:
            self._undelivered.append(undelivered)
        if not self._flush_due:
            self._flush_due = True
            self._loop.call_soon(self._flush)
        if len(frame) >= FRAME_BYTES_AIM:
            self._seal()

    def pause_reading(self) -> None:
        if self._reading and self._transport is not None and not self.closed:
            self._reading = False
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if not self._reading and self._transport is not None and not self.closed:
            self._reading = True
            self._silent_ticks = 0
            self._transport.resume_reading()

    def fail(self, cause: str) -> None:
        """End the connection at once. `lost` follows with this cause."""
        if not self.closed:
            self.closed = True
            self._cause = cause
            self._abort()

    def close(self, cause: str) -> None:
        """End the connection after everything that waits was written."""
        if self.closed or self._transport is None:
            return
        if self._count:
            self._seal()
        self._paused = False
        self._write()
        self.closed = True
        self._cause = cause
        self._transport.close()

    def _frames(self, view: memoryview) -> int:
        """Pass on the complete frames; the number of bytes that they took."""
        start, end = 0, len(view)
        while end - start >= _LENGTH_BYTES and not self.closed:
            size = int.from_bytes(view[start : start + _LENGTH_BYTES], "big")
            if size > self._frame_bytes_max:
                self.fail(self._receiver.unreadable(bytes(view[:_LENGTH_BYTES])))
                break
            until = start + _LENGTH_BYTES + size
            if until > end:
                break
            self._take(view[start + _LENGTH_BYTES : until])
            start = until
        return end if self.closed else start

    def _take(self, frame: memoryview) -> None:
        if self._tags_in is not None:
            tag, frame = frame[:_TAG_BYTES], frame[_TAG_BYTES:]
            if not hmac.compare_digest(tag, self._tags_in.next(frame)):
                self.fail("a frame was forged, changed or lost on the way")
                return
        try:
            self._receiver.frame_received(frame)
        except UNREADABLE as error:
            # The text of some of these errors holds a part of the frame.
            self.fail(f"a frame cannot be read ({type(error).__name__})")

    def _new_frame(self) -> None:
        self._frame = bytearray(self._head_bytes + _LIST_HEAD_BYTES)
        self._count = 0

    def _seal(self) -> None:
        """Complete the frame's head; from here on its bytes and its place are fixed."""
        frame, head = self._frame, self._head_bytes
        frame[head : head + _LIST_HEAD_BYTES] = _LIST_HEAD + self._count.to_bytes(4, "big")
        frame[:_LENGTH_BYTES] = (len(frame) - _LENGTH_BYTES).to_bytes(_LENGTH_BYTES, "big")
        if self._tags_out is not None:
            with memoryview(frame) as view:
                frame[_LENGTH_BYTES:head] = self._tags_out.next(view[head:])
        self._sealed.append((frame, self._undelivered))
        self.unsent_bytes += len(frame)
        self._undelivered = []
        self._new_frame()

    def _flush(self) -> None:
        self._flush_due = False
        if self._count:
            self._seal()
        self._write()

    def _write(self) -> None:
        transport = self._transport
        while self._sealed and not self._paused and transport is not None and not self.closed:
            frame, _ = self._sealed.popleft()
            self.unsent_bytes -= len(frame)
            self._wrote = True
            self._stalled_ticks = 0
            transport.write(frame)
        if not self._sealed and not self.closed:
            self._receiver.written()

    def _abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _tick(self) -> None:
        self._timer = self._loop.call_later(TICK_SECONDS, self._tick)
        self._silent_ticks += self._reading
        self._stalled_ticks += self._paused
        self._frame_ticks += bool(self._partial) and self._reading
        if self.closed:
            # The bytes before the end are not taken either.
            self._abort()
        elif self._silent_ticks > SILENT_TICKS_MAX:
            self.fail(f"no sign of life for {SILENT_TICKS_MAX * TICK_SECONDS:g} s")
        elif self._stalled_ticks > STALLED_TICKS_MAX:
            self.fail(f"it read nothing for {STALLED_TICKS_MAX * TICK_SECONDS:g} s")
        elif self._frame_ticks > FRAME_TICKS_MAX:
            self.fail("a frame did not end")
        elif self._head_bytes:
            if not self._wrote and not self._count:
                self.put(PING)
            self._wrote = False
            self._receiver.ticked()


def _text(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
