"""The schema's version and the steps that lead to it.

Step n is the file `migrations/000n_*.sql`. All missing steps and the new version number are one
transaction under an advisory lock: of several processes that start together one does the work.
"""

from importlib import resources
from typing import Final

import asyncpg
from msgspec import Struct

from dovemq.core.errors import StoreUnusable
from dovemq.stores.postgresql.location import PostgresqlLocation

SERVER_VERSION_MIN: Final = 12
ENCODING: Final = "UTF8"


class PostgresqlStatements(Struct, frozen=True):
    """The statements, each under its name in `statements.sql`."""

    lock_schema: str
    find_schema: str
    find_version: str
    set_version: str
    open_log: str
    append: str
    read: str
    scan: str
    trim: str
    bookmark: str
    set_bookmark: str
    remove_head: str
    get: str
    all: str
    create: str
    replace: str
    remove: str
    stamp: str
    ledger_get: str
    ledger_create: str
    ledger_replace: str
    ledger_remove: str
    ledger_page: str
    ledger_due: str


def load_statements() -> PostgresqlStatements:
    return PostgresqlStatements(**load_sections("statements.sql"))


def load_sections(file: str) -> dict[str, str]:
    """The statements of a file beside this module, by the names that it gives them."""
    text = resources.files(__package__).joinpath(file).read_text("utf-8")
    sections = (section.partition("\n") for section in text.split("-- name: ")[1:])
    return {name.strip(): sql.strip() for name, _, sql in sections}


def load_migrations() -> list[str]:
    folder = resources.files(__package__).joinpath("migrations")
    return [file.read_text("utf-8") for file in sorted(folder.iterdir(), key=lambda f: f.name)]


async def migrate(
    connection: asyncpg.Connection, location: PostgresqlLocation, statements: PostgresqlStatements
) -> None:
    """Bring the database to the newest version; refuses a server or a schema that it cannot use.

    The caller closes the connection, which ends the transaction if this fails.
    """
    check_server(connection, location)
    steps = load_migrations()
    await connection.execute("BEGIN")
    await connection.execute(statements.lock_schema, location.schema)
    version = await _find_version(connection, location.schema, statements)
    if version > len(steps):
        raise StoreUnusable(
            str(location),
            f"schema version {version}, this release knows {len(steps)}",
            "use the release that wrote it, or a newer one",
        )
    for step in steps[version:]:
        await connection.execute(step)
    if version < len(steps):
        await connection.execute(statements.set_version, len(steps))
    await connection.execute("COMMIT")


async def _find_version(
    connection: asyncpg.Connection, schema: str, statements: PostgresqlStatements
) -> int:
    """The version of the schema, 0 if there is none yet; a missing schema is created."""
    has_schema, has_tables = await connection.fetchrow(statements.find_schema, schema)
    if not has_schema:
        await connection.execute(f'CREATE SCHEMA "{schema}"')
    return int(await connection.fetchval(statements.find_version)) if has_tables else 0


def check_server(connection: asyncpg.Connection, location: PostgresqlLocation) -> None:
    """Refuse a server or a database that cannot be used."""
    version = connection.get_server_version().major
    if version < SERVER_VERSION_MIN:
        found = f"PostgreSQL {version}"
        raise StoreUnusable(str(location), found, f"use {SERVER_VERSION_MIN} or newer")
    encoding = connection.get_settings().server_encoding
    if encoding != ENCODING:
        found = f"the encoding of the database is {encoding}"
        raise StoreUnusable(str(location), found, f"use a database with ENCODING {ENCODING}")
