"""Finds secrets where none may be: in logs, traces, records, processes and answers."""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import pyarrow.parquet

KEPT = ("root-key.json", "dovemq.db")
"""Files that hold secrets by their purpose, closed to other users."""


class Search:
    """`secrets` by a name that a finding can tell without showing the secret itself."""

    def __init__(self, secrets: Mapping[str, str | bytes]) -> None:
        self._forms = {name: tuple(_forms(secret)) for name, secret in secrets.items()}

    def found(self, place: str, contents: bytes) -> list[str]:
        return [
            f"{name} in {place}"
            for name, forms in self._forms.items()
            if any(form in contents for form in forms)
        ]

    def in_file(self, path: Path) -> list[str]:
        contents = path.read_bytes()
        if path.suffix == ".parquet":
            # Compressed, so looked into by its rows.
            rows = pyarrow.parquet.read_table(path).to_pylist()
            contents += json.dumps(rows, default=str, ensure_ascii=False).encode()
        return self.found(str(path), contents)

    def in_directory(self, directory: Path) -> list[str]:
        """All files except those whose purpose is to hold secrets."""
        found = []
        for path in sorted(directory.rglob("*")):
            if path.is_file() and not path.name.startswith(KEPT):
                found += self.in_file(path)
        return found

    def in_processes(self, pid: int) -> list[str]:
        found = []
        for each in family(pid):
            for name in ("cmdline", "environ"):
                path = Path(f"/proc/{each}/{name}")
                found += self.found(str(path), path.read_bytes())
        return found


def family(pid: int) -> list[int]:
    """The ids of a process and of all its descendants."""
    children: dict[int, list[int]] = {}
    for each, parent in _parents():
        children.setdefault(parent, []).append(each)
    found = [pid]
    for each in found:
        found += children.get(each, [])
    return found


def _parents() -> Iterator[tuple[int, int]]:
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            text = (folder / "stat").read_text()
        except OSError:
            continue
        # The name, in brackets, may hold anything; what follows it may not.
        yield int(folder.name), int(text.rpartition(")")[2].split()[1])


def _forms(secret: str | bytes) -> Iterable[bytes]:
    """The secret in every form in which it may appear in a document, a URL or a dump."""
    raw = secret if isinstance(secret, bytes) else secret.encode()
    yield raw
    yield raw.hex().encode()
    yield base64.b64encode(raw).rstrip(b"=")[:-1]
    yield base64.urlsafe_b64encode(raw).rstrip(b"=")[:-1]
    yield quote(raw, safe="").encode()
    yield repr(raw)[2:-1].encode()
    if isinstance(secret, str):
        yield json.dumps(secret)[1:-1].encode()
