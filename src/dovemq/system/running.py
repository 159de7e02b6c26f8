"""A file in the data directory that shows local commands where its server listens.

The server writes it once it listens and removes it when it stops. After a crash the file stays
behind; readers detect that by the process id. Front ends that share a data directory have a
directory of their own in it, for this file and others.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from dovemq.system.private_files import new_private_file

RUNNING_FILE: Final = "server.json"
RUNNING_FILE_BYTES_MAX: Final = 4_096
FRONT_ENDS_MAX: Final = 1_000
"""Directories of front ends that are looked at."""
_FRONT_END: Final = "front-end-"


class RunningServer(Struct, frozen=True):
    """The addresses of a running server as this machine reaches them, and its process id."""

    endpoint_url: str
    admin_url: str | None
    public_url: str | None
    region: str
    pid: int


def front_end_directory(data: Path, port: int | str) -> Path:
    """The directory of a front end for files that others of the same data must not share."""
    return data / f"{_FRONT_END}{port}"


@contextlib.contextmanager
def announced(directory: Path, server: RunningServer) -> Iterator[None]:
    """Keep the file in `directory` while the block runs.

    A directory that cannot be written is no reason not to serve: `memory://` needs none.
    """
    path = directory / RUNNING_FILE
    with contextlib.suppress(OSError), new_private_file(path, replace=True) as file:
        file.write(msgspec.json.encode(server))
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            # Another server that was started here meanwhile stays announced.
            if _read_running(directory) == server:
                path.unlink()


def find_running(data: Path) -> RunningServer | None:
    """The server that runs on this data directory, or one of several; None if there is none."""
    front_ends = sorted(data.glob(f"{_FRONT_END}*"))[:FRONT_ENDS_MAX]
    found = (_read_running(directory) for directory in (data, *front_ends))
    return next((server for server in found if server is not None), None)


def _read_running(directory: Path) -> RunningServer | None:
    try:
        with (directory / RUNNING_FILE).open("rb") as file:
            server = msgspec.json.decode(file.read(RUNNING_FILE_BYTES_MAX), type=RunningServer)
    except (OSError, msgspec.DecodeError):
        return None
    return server if _is_alive(server.pid) else None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        # The process is there, and belongs to another user.
        return True
    except (OSError, OverflowError):
        return False
    return True
