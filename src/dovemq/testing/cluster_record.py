"""The record of a cluster in its directory, by which any program finds the cluster and ends it."""

from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from dovemq.core.errors import DoveError
from dovemq.system.process_ids import ProcessId, end_all

STOP_SECONDS_MAX: Final = 60.0
_RECORD: Final = "cluster.json"


class ClusterUnfit(DoveError):
    """The directory cannot be used as asked."""

    def __init__(self, directory: Path, found: str, remedy: str) -> None:
        super().__init__(f"{directory} {found}: {remedy}")


class ClusterRecord(Struct, frozen=True):
    """The file that describes the cluster of a directory, also while it does not run.

    `processes` holds those of the last start by node; `stop_signal` asks them to end. `ready` is
    set when a client can use the cluster.
    """

    kind: str
    url: str
    nodes: int
    ports: tuple[int, ...]
    stop_signal: int
    processes: dict[int, ProcessId] = {}
    ready: bool = False

    @property
    def running(self) -> bool:
        return any(process.running for process in self.processes.values())


def read_record(directory: Path) -> ClusterRecord | None:
    try:
        return msgspec.json.decode((directory / _RECORD).read_bytes(), type=ClusterRecord)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except msgspec.DecodeError as error:
        raise ClusterUnfit(
            directory, f"has a damaged {_RECORD} ({error})", "name another directory"
        ) from None


def end_cluster(directory: Path) -> bool:
    """Ends the cluster of a directory, whoever started it. Returns whether one was running."""
    record = read_record(directory)
    if record is None or not record.running:
        return False
    processes = list(record.processes.values())
    write_record(directory, msgspec.structs.replace(record, processes={}, ready=False))
    end_all(processes, record.stop_signal, STOP_SECONDS_MAX)
    return True


def write_record(directory: Path, record: ClusterRecord) -> None:
    """Replaces the record at once, so that a reader never finds half of it."""
    partial = directory / f"{_RECORD}.partial"
    partial.write_bytes(msgspec.json.encode(record))
    partial.replace(directory / _RECORD)
