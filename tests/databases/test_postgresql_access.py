"""PostgreSQL with passwords and TLS."""

import os
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
import trustme

from dovemq.core.errors import StoreUnreachable, StoreUnusable
from dovemq.stores.postgresql import open_database
from dovemq.stores.postgresql.location import parse_postgresql_url
from dovemq.testing.local_postgres import LocalPostgres

SECRET = "hunter2"
ATTEMPTS_MAX = 1_000


@pytest.fixture
async def session(postgres_server: LocalPostgres) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(postgres_server.url, ssl="prefer")
    yield connection
    connection.terminate()


def _url(server: LocalPostgres, user: str, password: str = "", **parameters: str) -> str:
    given = {"schema": f"t_{uuid.uuid4().hex}"} | parameters
    text = "&".join(f"{name}={value}" for name, value in given.items())
    return f"postgresql://{user}:{password}@127.0.0.1:{server.ports[0]}/dovemq?{text}"


def _data(server: LocalPostgres) -> Path:
    return server.node_directory(0) / "data"


def _give(server: LocalPostgres, name: str, contents: bytes) -> None:
    """Write a file as the server's user."""
    path, owner = _data(server) / name, _data(server).stat()
    path.write_bytes(contents)
    path.chmod(0o600)
    os.chown(path, owner.st_uid, owner.st_gid)


async def _reload(session: asyncpg.Connection, setting: str, value: str) -> None:
    """Wait until new sessions have the setting."""
    await session.execute("SELECT pg_reload_conf()")
    for _ in range(ATTEMPTS_MAX):
        if await session.fetchval(f"SHOW {setting}") == value:
            return
    pytest.fail(f"{setting} is not {value}")


async def test_wrong_password_is_refused_and_not_shown(
    postgres_server: LocalPostgres, session: asyncpg.Connection
) -> None:
    role = f"r_{uuid.uuid4().hex}"
    await session.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{SECRET}'")
    await session.execute(f"GRANT CREATE ON DATABASE dovemq TO {role}")
    rules = (_data(postgres_server) / "pg_hba.conf").read_bytes()
    line = f"host all {role} 127.0.0.1/32 scram-sha-256\n".encode()
    _give(postgres_server, "pg_hba.conf", line + rules)
    postgres_server.restart(0)
    opened = await open_database(parse_postgresql_url(_url(postgres_server, role, SECRET)))
    assert await opened.records.stamp() == b"0"
    assert SECRET not in opened.name
    await opened.close()
    with pytest.raises(StoreUnusable, match="password authentication failed") as told:
        await open_database(parse_postgresql_url(_url(postgres_server, role, f"not-{SECRET}")))
    assert SECRET not in str(told.value)


async def test_tls_is_verified_as_the_url_asks(
    postgres_server: LocalPostgres, session: asyncpg.Connection, tmp_path: Path
) -> None:
    trusted, stranger = trustme.CA(), trustme.CA()
    trusted.cert_pem.write_to_path(tmp_path / "trusted.pem")
    stranger.cert_pem.write_to_path(tmp_path / "stranger.pem")
    issued = trusted.issue_cert("127.0.0.1")
    chain = b"".join(blob.bytes() for blob in issued.cert_chain_pems)

    async def uses_tls(**parameters: str) -> bool:
        location = parse_postgresql_url(_url(postgres_server, "dovemq", **parameters))
        opened = await open_database(location)
        await opened.records.stamp()
        found = await session.fetchval(
            "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)"
            " WHERE application_name = 'dovemq'"
        )
        await opened.close()
        return bool(found)

    with pytest.raises(StoreUnreachable, match="SSL"):
        await uses_tls(sslmode="require")
    _give(postgres_server, "server.crt", chain)
    _give(postgres_server, "server.key", issued.private_key_pem.bytes())
    await session.execute("ALTER SYSTEM SET ssl = on")
    await _reload(session, "ssl", "on")
    try:
        assert await uses_tls(sslmode="verify-full", sslrootcert=str(tmp_path / "trusted.pem"))
        assert await uses_tls(sslmode="require")
        assert await uses_tls()
        assert not await uses_tls(sslmode="disable")
        with pytest.raises(StoreUnusable, match=r"TLS failed: .*certificate verify failed"):
            await uses_tls(sslmode="verify-ca", sslrootcert=str(tmp_path / "stranger.pem"))
        with pytest.raises(StoreUnusable, match=r"TLS failed: .*correct sslmode and the files"):
            await uses_tls(sslmode="verify-full", sslrootcert=str(tmp_path / "absent.pem"))
    finally:
        await session.execute("ALTER SYSTEM RESET ssl")
        await _reload(session, "ssl", "off")
