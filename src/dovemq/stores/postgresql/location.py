"""The location of a PostgreSQL database, parsed from its URL.

    postgresql://user:password@host:port/database?sslmode=verify-full&sslrootcert=ca.pem

The port is 5432 if it is left out. Without a password, `PGPASSWORD` and `~/.pgpass` apply. Special
characters of user and password are percent-encoded. There is one host: where the primary can
change, name the address of the proxy, or the virtual address, that leads to it. A pooler such as
PgBouncer is of no use in between: DoveMQ keeps few connections and sets up their sessions.

    parameter     values                                             default
    sslmode       disable, prefer, require, verify-ca, verify-full   prefer
    sslrootcert   file with certificates of authorities              ~/.postgresql/root.crt
    sslcert       file with the certificate of this client           none
    sslkey        file with its private key                          none
    schema        schema of the tables: a-z, 0-9 and _               dovemq
    connections   largest number of connections of a process, 1-100  8
"""

import re
from typing import Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from msgspec import Struct

from dovemq.settings import SettingInvalid

SCHEME: Final = "postgresql"
EXAMPLE: Final = "postgresql://user:password@host:5432/database"
PORT: Final = 5432
SCHEMA: Final = "dovemq"
CONNECTIONS: Final = 8
CONNECTIONS_MAX: Final = 100
SSL_MODES: Final = ("disable", "prefer", "require", "verify-ca", "verify-full")
SSL_FILES: Final = ("sslrootcert", "sslcert", "sslkey")
PARAMETERS: Final = ("sslmode", *SSL_FILES, "schema", "connections")
_SCHEMA_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")


class PostgresqlLocation(Struct, frozen=True):
    """`tls` holds the parameters of TLS as they were given."""

    host: str
    port: int
    user: str
    password: str | None
    database: str
    tls: dict[str, str] = {}
    schema: str = SCHEMA
    connections: int = CONNECTIONS

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        schema = "" if self.schema == SCHEMA else f"?schema={self.schema}"
        return f"{SCHEME}://{self.user}@{host}:{self.port}/{self.database}{schema}"

    __repr__ = __str__


def parse_postgresql_url(url: str) -> PostgresqlLocation:
    """Read the URL. No text of an error repeats it, since it may hold a password."""
    try:
        parts = urlsplit(url)
        port = parts.port or PORT
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise _invalid("this is not a URL of PostgreSQL", f"write {EXAMPLE}") from None
    database = unquote(parts.path.removeprefix("/"))
    _check_parts(parts, database)
    given = dict(pairs)
    if len(given) < len(pairs):
        raise _invalid("a parameter is given twice", "give it once")
    _check_parameters(given)
    return PostgresqlLocation(
        host=parts.hostname or "",
        port=port,
        user=unquote(parts.username or ""),
        password=unquote(parts.password) if parts.password else None,
        database=database,
        tls={name: given[name] for name in given if name.startswith("ssl")},
        schema=given.get("schema", SCHEMA),
        connections=int(given.get("connections", CONNECTIONS)),
    )


def _check_parts(parts: SplitResult, database: str) -> None:
    needed = {"host": parts.hostname, "user": parts.username, "database": database}
    if missing := [name for name, found in needed.items() if not found]:
        raise _invalid(f"the URL names no {missing[0]}", f"write {EXAMPLE}")
    if parts.scheme != SCHEME or "/" in database or parts.fragment:
        raise _invalid("this is not a URL of PostgreSQL", f"write {EXAMPLE}")
    if "," in parts.netloc.rpartition("@")[2]:
        raise _invalid("the URL names several hosts", "name one that leads to the primary")


def _check_parameters(given: dict[str, str]) -> None:
    if unknown := [name for name in given if name not in PARAMETERS]:
        raise _invalid(f"unknown parameter {unknown[0]!r}", f"use {', '.join(PARAMETERS)}")
    if empty := [name for name in given if not given[name]]:
        raise _invalid(f"parameter {empty[0]!r} is empty", "give it a value or leave it out")
    if (mode := given.get("sslmode", SSL_MODES[0])) not in SSL_MODES:
        raise _invalid(f"sslmode={mode}", f"use {', '.join(SSL_MODES)}")
    if not _SCHEMA_NAME.fullmatch(schema := given.get("schema", SCHEMA)):
        raise _invalid(f"schema={schema}", "use at most 63 of a-z, 0-9 and _, no digit first")
    count = given.get("connections", f"{CONNECTIONS}")
    if not (count.isascii() and count.isdigit() and 1 <= int(count) <= CONNECTIONS_MAX):
        raise _invalid(f"connections={count}", f"use 1 to {CONNECTIONS_MAX}")


def _invalid(found: str, remedy: str) -> SettingInvalid:
    return SettingInvalid("store", found, remedy)
