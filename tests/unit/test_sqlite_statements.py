"""The SQL statements of the embedded store."""

import re
from pathlib import Path

from dovemq.stores import sqlite
from dovemq.stores.sqlite.statements import load_statements

USE = re.compile(r"(?<![a-z])sql\.([a-z_]+)")


def test_code_uses_exactly_the_statements_of_the_file() -> None:
    [folder] = map(Path, sqlite.__path__)
    paths = (path for path in folder.rglob("*.py") if path.name != "statements.py")
    sources = [path.read_text() for path in paths]
    used = {name for source in sources for name in USE.findall(source)}
    assert used == set(vars(load_statements()))
