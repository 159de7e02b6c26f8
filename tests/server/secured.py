"""Certificates of an authority of our own, and a TLS client whose every step a test decides."""

import asyncio
import contextlib
import socket
import ssl
import struct
from pathlib import Path

import trustme

from dovemq.server.certificates import Certificates

READ_BYTES = 1 << 16


class Pair:
    """A certificate and its key as files, and the authority that signed it."""

    def __init__(self, folder: Path) -> None:
        self.certificate = folder / "certificate.pem"
        self.key = folder / "key.pem"
        self.authority = trustme.CA()
        self.renew()

    def renew(self) -> None:
        """A certificate of the same authority, with another serial number."""
        leaf = self.authority.issue_cert("127.0.0.1", "localhost")
        self.certificate.write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
        self.key.unlink(missing_ok=True)
        self.key.touch(0o600)
        self.key.write_bytes(leaf.private_key_pem.bytes())

    def certificates(self) -> Certificates:
        return Certificates(self.certificate, self.key)

    def trust(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        return context


class TlsClient:
    """Sends and ends, in TLS and in TCP, exactly as it is told."""

    def __init__(self, connection: socket.socket, context: ssl.SSLContext) -> None:
        self._socket = connection
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.session = context.wrap_bio(self._incoming, self._outgoing, server_hostname="127.0.0.1")

    @classmethod
    async def connect(cls, port: int, context: ssl.SSLContext) -> "TlsClient":
        client = await cls.reach(port, context)
        while True:
            try:
                client.session.do_handshake()
                break
            except ssl.SSLWantReadError:
                await client.flush()
                await client.fill()
        await client.flush()
        return client

    @classmethod
    async def reach(cls, port: int, context: ssl.SSLContext) -> "TlsClient":
        """Connected in TCP, without a handshake."""
        connection = socket.socket()
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
        return cls(connection, context)

    async def send(self, data: bytes) -> None:
        self.session.write(data)
        await self.flush()

    async def send_raw(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self._socket, data)

    async def rest(self) -> bytes:
        """All until the server says that it ends; an end without a word raises."""
        found = b""
        while True:
            try:
                part = self.session.read(READ_BYTES)
            except ssl.SSLWantReadError:
                await self.fill()
                continue
            except ssl.SSLZeroReturnError:
                return found
            if not part:
                return found
            found += part

    async def rest_raw(self) -> bytes:
        found = b""
        with contextlib.suppress(ConnectionError):
            while part := await asyncio.get_running_loop().sock_recv(self._socket, READ_BYTES):
                found += part
        return found

    async def end_tls(self) -> None:
        """TLS's word that we send no more; TCP stays as it is."""
        with contextlib.suppress(ssl.SSLWantReadError):
            self.session.unwrap()
        await self.flush()

    def end_tcp(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    def close(self, *, reset: bool = False) -> None:
        if reset:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()

    async def flush(self) -> None:
        await self.send_raw(self._outgoing.read())

    async def fill(self) -> None:
        data = await asyncio.get_running_loop().sock_recv(self._socket, READ_BYTES)
        if data:
            self._incoming.write(data)
        else:
            self._incoming.write_eof()
