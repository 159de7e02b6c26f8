"""Packs this package as an archive, for executors that have not installed it.

Their Python needs the libraries of the extra. Executors unpack the archive, because data files and
compiled kernels need real files.
"""

import zipfile
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

PACKAGE: Final = "dovemq"
UNPACKED: Final = "dovemq-sent"
"""The folder in the working directory of an executor."""
_MADE_BY_INTERPRETER: Final = "__pycache__"


def pack(folder: Path) -> Path:
    """Works for an installed package, for sources, and for a package inside an archive."""
    archive = folder / "dovemq.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for name, file in _files(resources.files(PACKAGE), PACKAGE):
            packed.writestr(name, file.read_bytes())
    return archive


def _files(folder: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        path = f"{name}/{entry.name}"
        if entry.is_file():
            yield path, entry
        elif entry.name != _MADE_BY_INTERPRETER:
            yield from _files(entry, path)
