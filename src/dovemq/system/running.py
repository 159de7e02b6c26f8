"""A file in the data directory that shows local commands where its server listens.

The server writes it once it listens and removes it when it stops. After a crash the file stays
behind; readers detect that by the process id.
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


class RunningServer(Struct, frozen=True):
    """The addresses of a running server as this machine reaches them, and its process id."""

    endpoint_url: str
    admin_url: str | None
    public_url: str | None
    region: str
    pid: int


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
            # Front ends that share the directory write it too: the last one stays.
            if find_running(directory) == server:
                path.unlink()


def find_running(directory: Path) -> RunningServer | None:
    """The server that runs on this data directory, or None."""
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
