"""URLs of PostgreSQL databases: what they say, what is refused, and what is never shown."""

import sys

import pytest

from dovemq.settings import SettingInvalid
from dovemq.stores.postgresql import open_database
from dovemq.stores.postgresql.location import PostgresqlLocation, parse_postgresql_url

SECRET = "hunter2"


def test_plain_url_has_defaults() -> None:
    found = parse_postgresql_url("postgresql://dove@db.example/queues")
    assert found == PostgresqlLocation("db.example", 5432, "dove", None, "queues")
    assert (found.schema, found.connections, found.tls) == ("dovemq", 8, {})


def test_every_part_of_the_url_is_read() -> None:
    found = parse_postgresql_url(
        "postgresql://do%40ve:hun%3Ater%2F2@[::1]:6000/my%20queues"
        "?sslmode=verify-full&sslrootcert=/etc/ca.pem&sslcert=me.pem&sslkey=me.key"
        "&schema=dove_2&connections=100"
    )
    assert (found.host, found.port) == ("::1", 6000)
    assert (found.user, found.password, found.database) == ("do@ve", "hun:ter/2", "my queues")
    assert found.tls == {
        "sslmode": "verify-full",
        "sslrootcert": "/etc/ca.pem",
        "sslcert": "me.pem",
        "sslkey": "me.key",
    }
    assert (found.schema, found.connections) == ("dove_2", 100)


def test_text_of_a_location_has_no_password() -> None:
    found = parse_postgresql_url(f"postgresql://dove:{SECRET}@[::1]/queues?schema=other")
    assert str(found) == "postgresql://dove@[::1]:5432/queues?schema=other"
    assert SECRET not in repr(found)


@pytest.mark.parametrize(
    ("url", "found"),
    [
        (f"postgres://dove:{SECRET}@host/queues", "not a URL of PostgreSQL"),
        (f"postgresql://dove:{SECRET}@host:port/queues", "not a URL of PostgreSQL"),
        (f"postgresql://dove:{SECRET}@host:99999/queues", "not a URL of PostgreSQL"),
        (f"postgresql://dove:{SECRET}@[::1/queues", "not a URL of PostgreSQL"),
        (f"postgresql://dove:{SECRET}@host/queues/more", "not a URL of PostgreSQL"),
        (f"postgresql://dove:{SECRET}@host/queues#more", "not a URL of PostgreSQL"),
        (f"postgresql://dove:{SECRET}@host/queues?schema", "not a URL of PostgreSQL"),
        (f"postgresql://dove:{SECRET}@host", "names no database"),
        (f"postgresql://dove:{SECRET}@host/", "names no database"),
        (f"postgresql://:{SECRET}@host/queues", "names no user"),
        ("postgresql://host/queues", "names no user"),
        (f"postgresql://dove:{SECRET}@/queues", "names no host"),
        (f"postgresql://dove:{SECRET}@one,two/queues", "several hosts"),
        (f"postgresql://dove:{SECRET}@host/queues?ssl_mode=require", "'ssl_mode'"),
        (f"postgresql://dove:{SECRET}@host/queues?password={SECRET}", "'password'"),
        (f"postgresql://dove:{SECRET}@host/queues?sslmode=", "'sslmode' is empty"),
        (f"postgresql://dove:{SECRET}@host/queues?sslmode=on", "sslmode=on"),
        (f"postgresql://dove:{SECRET}@host/queues?schema=Dove", "schema=Dove"),
        (f'postgresql://dove:{SECRET}@host/queues?schema=a"b', "schema="),
        (f"postgresql://dove:{SECRET}@host/queues?schema={'x' * 64}", "schema="),
        (f"postgresql://dove:{SECRET}@host/queues?connections=0", "connections=0"),
        (f"postgresql://dove:{SECRET}@host/queues?connections=101", "connections=101"),
        (f"postgresql://dove:{SECRET}@host/queues?connections=٣", "connections="),
        (f"postgresql://dove:{SECRET}@host/queues?connections=4&connections=5", "twice"),
    ],
)
def test_wrong_url_is_refused_without_its_password(url: str, found: str) -> None:
    with pytest.raises(SettingInvalid) as refused:
        parse_postgresql_url(url)
    assert found in str(refused.value)
    assert SECRET not in str(refused.value)


async def test_missing_driver_is_named_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in sys.modules if name.startswith("dovemq.stores.postgresql.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    with pytest.raises(SettingInvalid, match=r"asyncpg is not installed; .*EXTRAS=postgresql"):
        await open_database(parse_postgresql_url("postgresql://dove@db.example/queues"))
