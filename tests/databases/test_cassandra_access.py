"""Cassandra behind TLS and passwords, and clusters that cannot be reached."""

import asyncio
import contextlib
import ssl
import struct
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trustme

from dovemq.core.errors import StoreUnreachable, StoreUnusable
from dovemq.stores.cassandra import open_database
from dovemq.stores.cassandra.location import parse_cassandra_url
from dovemq.stores.cassandra.session import open_session
from dovemq.testing.local_cassandra import LocalCassandra

HOST = "127.0.0.1"
SECRET = "hunter2"
SECONDS_MAX = 300
"""Longer than any attempt may take on a machine that is busy with other things."""
READ_BYTES = 1 << 16
HEAD = struct.Struct(">BBhBi")
ERROR, STARTUP, AUTHENTICATE, OPTIONS, SUPPORTED, AUTH_RESPONSE = 0, 1, 3, 5, 6, 15
BAD_CREDENTIALS = 0x0100


Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[None, None, None]]


@asynccontextmanager
async def listening(handler: Handler, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """A port; its connections are ended at the end."""
    tasks: set[asyncio.Task[None]] = set()

    def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(ended(reader, writer)))

    async def ended(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await handler(reader, writer)
        finally:
            writer.transport.abort()

    async with await asyncio.start_server(serve, HOST, 0, ssl=context) as server:
        yield server.sockets[0].getsockname()[1]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def secured(cluster: LocalCassandra, context: ssl.SSLContext) -> AsyncIterator[int]:
    """A port on which the first node can be reached by TLS."""

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(READ_BYTES):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection(HOST, cluster.ports[0])
        try:
            await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))
        finally:
            inner_writer.transport.abort()

    async with listening(serve, context) as port:
        yield port


@pytest.fixture
def authority(tmp_path: Path) -> trustme.CA:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "other.pem"))
    client = authority.issue_cert("client")
    client.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    client.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    (tmp_path / "no.pem").write_text("no certificate")
    return authority


def _server_context(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


def _url(port: int, folder: Path, ca: str, *parameters: str) -> str:
    given = "&".join(("tls=on", f"ca={folder / ca}", *parameters))
    return f"cassandra://{HOST}:{port}/k?{given}"


async def _connects(url: str) -> None:
    async with asyncio.timeout(SECONDS_MAX):
        session = await open_session(parse_cassandra_url(url), None)
        try:
            assert len(await session.run("SELECT key FROM system.local")) == 1
        finally:
            await session.close()


@pytest.mark.parametrize(
    ("named", "verify"), [(HOST, "address"), ("elsewhere.example", "ca"), (HOST, "ca")]
)
async def test_certificate_of_the_authority_is_accepted(
    cassandra: LocalCassandra, authority: trustme.CA, tmp_path: Path, named: str, verify: str
) -> None:
    async with secured(cassandra, _server_context(authority, named)) as port:
        await _connects(_url(port, tmp_path, "ca.pem", f"verify={verify}"))


@pytest.mark.parametrize(
    ("ca", "named", "verify"),
    [
        ("other.pem", HOST, "address"),
        ("other.pem", HOST, "ca"),
        ("ca.pem", "127.0.0.9", "address"),
        ("ca.pem", "elsewhere.example", "address"),
    ],
)
async def test_certificate_that_does_not_fit_is_refused(
    cassandra: LocalCassandra,
    authority: trustme.CA,
    tmp_path: Path,
    ca: str,
    named: str,
    verify: str,
) -> None:
    async with secured(cassandra, _server_context(authority, named)) as port:
        with pytest.raises(StoreUnusable, match=r"TLS failed .*; correct ca, cert, key"):
            await _connects(_url(port, tmp_path, ca, f"verify={verify}"))


async def test_client_shows_its_certificate_if_it_has_one(
    cassandra: LocalCassandra, authority: trustme.CA, tmp_path: Path
) -> None:
    context = _server_context(authority, HOST)
    context.verify_mode = ssl.CERT_REQUIRED
    authority.configure_trust(context)
    files = (f"cert={tmp_path / 'cert.pem'}", f"key={tmp_path / 'key.pem'}")
    async with secured(cassandra, context) as port:
        await _connects(_url(port, tmp_path, "ca.pem", *files))
        with pytest.raises((StoreUnreachable, StoreUnusable)):
            await _connects(_url(port, tmp_path, "ca.pem"))


@pytest.mark.parametrize("ca", ["missing.pem", "no.pem"])
async def test_file_that_is_no_certificate_is_refused(
    authority: trustme.CA, tmp_path: Path, ca: str
) -> None:
    with pytest.raises(StoreUnusable, match="PEM"):
        await _connects(_url(1, tmp_path, ca))


@asynccontextmanager
async def answering(*logins: bytes) -> AsyncIterator[int]:
    """A port on which a server asks for a login, and refuses all but these."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            version, _, stream, opcode, length = HEAD.unpack(await reader.readexactly(HEAD.size))
            body = await reader.readexactly(length)
            kind, answer = _answer(opcode, body, logins)
            writer.write(HEAD.pack(version | 0x80, 0, stream, kind, len(answer)) + answer)

    async with listening(serve) as port:
        yield port


def _answer(opcode: int, body: bytes, logins: tuple[bytes, ...]) -> tuple[int, bytes]:
    if opcode == OPTIONS:
        return SUPPORTED, struct.pack(">H", 0)
    if opcode == STARTUP:
        return AUTHENTICATE, _string("org.apache.cassandra.auth.PasswordAuthenticator")
    assert opcode == AUTH_RESPONSE
    text = "known" if body[4:] in logins else "Provided username and/or password are incorrect"
    return ERROR, struct.pack(">i", BAD_CREDENTIALS) + _string(text)


def _string(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


@pytest.mark.parametrize(("password", "found"), [(SECRET, "known"), ("wrong", "incorrect")])
async def test_login_of_the_url_is_sent_and_a_refused_one_is_not_shown(
    password: str, found: str
) -> None:
    async with answering(b"\0dove\0" + SECRET.encode()) as port:
        url = f"cassandra://dove:{password}@{HOST}:{port}/k"
        with pytest.raises(StoreUnusable, match=rf"{HOST}:{port}.*refuses the login") as caught:
            await open_database(parse_cassandra_url(url))
    assert found in str(caught.value)
    assert password not in str(caught.value)


async def test_cluster_without_a_node_is_unreachable() -> None:
    with pytest.raises(StoreUnreachable, match=r"127\.0\.0\.9.*refused"):
        await open_database(parse_cassandra_url("cassandra://127.0.0.9:1,127.0.0.8/k"))


async def test_server_that_never_answers_is_given_up() -> None:
    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async with listening(wait) as port:
        with pytest.raises(StoreUnreachable):
            async with asyncio.timeout(SECONDS_MAX):
                await open_database(parse_cassandra_url(f"cassandra://{HOST}:{port}/k"))


async def test_cancelled_opening_ends_and_leaves_nothing_behind(
    cassandra: LocalCassandra,
) -> None:
    """The driver itself would wait for ever."""
    location = parse_cassandra_url(cassandra.url)
    for steps in range(6):
        opening = asyncio.create_task(open_session(location, None))
        for _ in range(steps):
            await asyncio.sleep(0)
        opening.cancel()
        async with asyncio.timeout(SECONDS_MAX):
            await asyncio.wait([opening])
        assert opening.cancelled()
    assert asyncio.all_tasks() == {asyncio.current_task()}
