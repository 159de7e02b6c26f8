"""The schema's version and the steps that lead to it.

Step n is the file `migrations/000n_*.sql` and leads from version n - 1 to n, in one transaction
with the new version number: a crash leaves the one or the other.
"""

from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Final

import apsw

from dovemq.core.errors import StoreUnusable

APPLICATION_ID: Final = 1146050117
"""The letters DOVE; marks a database as ours."""


def load_steps() -> list[str]:
    files = resources.files(__package__).joinpath("migrations").iterdir()
    found = sorted((file for file in files if file.name.endswith(".sql")), key=lambda f: f.name)
    return [file.read_text("utf-8") for file in found]


def check_version(connection: apsw.Connection, path: Path, known: int) -> int:
    """The version of the file; refuses other databases and newer versions. Reads only."""
    version = int(connection.pragma("user_version"))
    application = int(connection.pragma("application_id"))
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
    if application != APPLICATION_ID and (application or version or tables):
        raise StoreUnusable(str(path), "not a DoveMQ database", "choose another directory")
    if version > known:
        raise StoreUnusable(
            str(path),
            f"schema version {version}, this release knows {known}",
            "use the release that wrote it, or a newer one",
        )
    return version


def migrate(connection: apsw.Connection, steps: Sequence[str]) -> None:
    """Bring the database to the newest version."""
    found = int(connection.pragma("user_version"))
    for version, step in enumerate(steps[found:], start=found + 1):
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.execute(step)
            connection.pragma("user_version", version)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
