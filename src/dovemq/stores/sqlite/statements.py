"""The SQL statements of the embedded store, read from `statements.sql`."""

from importlib import resources
from types import SimpleNamespace
from typing import Final

_MARK: Final = "-- name: "


class Statements(SimpleNamespace):
    """The statements, each under its name in `statements.sql`; a test compares names and uses."""


def load_statements() -> Statements:
    return Statements(**read_sections("statements.sql"))


def read_sections(*path: str) -> dict[str, str]:
    text = resources.files(__package__).joinpath(*path).read_text("utf-8")
    sections: dict[str, str] = {}
    for section in text.split(_MARK)[1:]:
        name, _, sql = section.partition("\n")
        sections[name.strip()] = sql.strip()
    return sections
