"""A dialling side that knows the secret and then sends whatever a test likes."""

import asyncio
import contextlib
import hashlib

from dovemq.cluster.link.greeting import DiallerGreeting
from tests.link.linked import HOST, identity, nonces


class Rogue:
    def __init__(self, port: int) -> None:
        self._port = port
        self._number = 0
        self._key = b""

    async def connect(self) -> "Rogue":
        self.reader, self._writer = await asyncio.open_connection(HOST, self._port)
        greeting = DiallerGreeting(identity(incarnation="rogue"), nonces(77)())
        frame: bytes | None = greeting.opening()
        while frame is not None:
            self.write(len(frame).to_bytes(4, "big") + frame)
            size = int.from_bytes(await self.reader.readexactly(4), "big")
            frame = greeting.answer(memoryview(await self.reader.readexactly(size)))
        self._key = greeting.keys().from_dialler
        return self

    def framed(self, payload: bytes) -> bytes:
        """The payload with a valid head."""
        tag = hashlib.blake2b(key=self._key, digest_size=16)
        tag.update(self._number.to_bytes(8, "big") + payload)
        self._number += 1
        return (len(payload) + 16).to_bytes(4, "big") + tag.digest() + payload

    def write(self, data: bytes) -> None:
        self._writer.write(data)

    async def hung_up(self) -> None:
        """Read until the other side has ended the connection."""
        with contextlib.suppress(ConnectionError):
            while await self.reader.read(1 << 16):
                pass
        self.close()

    def close(self) -> None:
        self._writer.close()
