"""The folder of a sweep: its definition, and the finished replications.

    manifest.json           the definition of the sweep; another sweep is refused
    parts/*.parquet         finished replications, in the order they finished
    replications.parquet    all of them in order, once the sweep has ended, instead of the parts
    results.parquet, .csv   the figures of each configuration

A file has its name only when it is complete and on disk. A process that is killed loses only the
replications that were not saved yet.
"""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
from pyarrow import csv, parquet

from dovemq.pipeline.durable import PARTIAL, locked, write_durably
from dovemq.pipeline.errors import FolderUnfit, PipelineError


class LedgerUnreadable(PipelineError):
    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} cannot be read ({reason}): remove it to run its rows again")


class ReplicationFailed(PipelineError):
    def __init__(self, reason: str) -> None:
        super().__init__(f"a replication failed; finished ones are kept. {reason}")


FORMAT: Final = 1
ROWS: Final = pa.schema(
    [
        pa.field("configuration", pa.int32(), nullable=False),
        pa.field("replication", pa.int32(), nullable=False),
        pa.field("values", pa.list_(pa.float64()), nullable=False),
    ]
)
_ORDER: Final = [("configuration", "ascending"), ("replication", "ascending")]


class SweepLedger:
    """Made by `opened_ledger`; used by one thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._parts = folder / "parts"
        self._all = folder / "replications.parquet"
        self._parts.mkdir(exist_ok=True)
        for left in [*folder.glob(f"*{PARTIAL}"), *self._parts.glob(f"*{PARTIAL}")]:
            left.unlink()
        self._kept = len(self._part_files())

    def rows(self) -> pa.Table:
        """Returns all saved rows in order."""
        files = [self._all] if self._all.exists() else self._part_files()
        tables = [_read(file) for file in files]
        return pa.concat_tables([ROWS.empty_table(), *tables]).sort_by(_ORDER)

    def keep(self, rows: pa.Table) -> None:
        self._kept += 1
        path = self._parts / f"{self._kept:06d}.parquet"
        write_durably(path, lambda to: parquet.write_table(rows.cast(ROWS), to))

    def publish(self, results: pa.Table) -> list[Path]:
        """Writes the result files, replacing older ones."""
        rows = self.rows()
        paths = [self.folder / "results.parquet", self.folder / "results.csv", self._all]
        write_durably(paths[0], lambda to: parquet.write_table(results, to))
        write_durably(paths[1], lambda to: csv.write_csv(results, to))
        write_durably(paths[2], lambda to: parquet.write_table(rows, to))
        for part in self._part_files():
            part.unlink()
        return paths

    def _part_files(self) -> list[Path]:
        return sorted(self._parts.glob("*.parquet"))


@contextlib.contextmanager
def opened_ledger(folder: Path, identity: Mapping[str, Any]) -> Iterator[SweepLedger]:
    """Opens or continues a sweep, and locks its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        _check_manifest(folder, {"format": FORMAT, **identity})
        yield SweepLedger(folder)


def _check_manifest(folder: Path, identity: Mapping[str, Any]) -> None:
    path = folder / "manifest.json"
    text = msgspec.json.encode(identity)
    if not path.exists():
        write_durably(path, lambda to: to.write_bytes(msgspec.json.format(text)))
        return
    asked = msgspec.json.decode(text)
    try:
        found = msgspec.json.decode(path.read_bytes())
    except msgspec.DecodeError as error:
        raise LedgerUnreadable(path, str(error)) from None
    names = [*asked, *(found if isinstance(found, dict) else ())]
    for name in names:
        if not isinstance(found, dict) or found.get(name) != asked.get(name):
            raise FolderUnfit(folder, f"it holds another sweep ({name} differs)")


def _read(path: Path) -> pa.Table:
    try:
        return parquet.read_table(path, schema=ROWS)
    except (pa.ArrowException, OSError) as error:
        raise LedgerUnreadable(path, str(error).partition("\n")[0]) from None
