"""A contestant's server as a tree of processes: started, frozen, thawed and ended by process id.

Knows nothing about the server's kind; it is ready when its port accepts connections.
"""

import contextlib
import os
import pwd
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

START_SECONDS_MAX: Final = 60.0
STOP_SECONDS_MAX: Final = 20.0
LOG_CHARACTERS_SHOWN: Final = 1_500
_LOOK_SECONDS: Final = 0.05
LOOPBACK: Final = "127.0.0.1"


Command = Sequence[str | Path]


class NotStarted(RuntimeError):
    """The text ends with the server's log."""


class Access(Struct, frozen=True):
    """Credentials of the load client; most peers accept any key."""

    key_id: str = "bench"
    secret: str = "bench"
    region: str = "us-east-1"


class Running:
    """A listening server. `also` are processes beside it that end with it."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        port: int,
        access: Access | None = None,
        also: Sequence[subprocess.Popen[bytes]] = (),
    ) -> None:
        self.pid = process.pid
        self.address = f"{LOOPBACK}:{port}"
        self.access = access or Access()
        self._processes = (process, *also)

    def freeze(self) -> None:
        """Stops the processes, so that they take no CPU while another contestant is measured."""
        signal_tree(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        signal_tree(self.pid, signal.SIGCONT)

    def stop(self) -> None:
        self.thaw()
        for process in self._processes:
            end(process)


def free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def launch(
    command: Command,
    port: int,
    directory: Path,
    *,
    env: Mapping[str, str] | None = None,
    user: str | None = None,
    also: Sequence[subprocess.Popen[bytes]] = (),
) -> Running:
    """Starts a server in its directory, unprivileged if it must be, and waits for its port."""
    process = spawn(command, directory, env=env, user=user)
    try:
        _await_port(process, port, directory)
    except NotStarted:
        for each in (process, *also):
            end(each)
        raise
    return Running(process, port, also=also)


def spawn(
    command: Command,
    directory: Path,
    *,
    env: Mapping[str, str] | None = None,
    user: str | None = None,
) -> subprocess.Popen[bytes]:
    with (directory / "log").open("ab") as log:
        return subprocess.Popen(
            command,
            cwd=directory,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            user=user,
            group=pwd.getpwnam(user).pw_gid if user else None,
            extra_groups=[] if user else None,
            start_new_session=True,
        )


def unprivileged(user: str) -> str | None:
    """The user for a server that refuses to run as root."""
    return user if os.geteuid() == 0 else None


def end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    members = tree(process.pid)
    process.terminate()
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        for pid in members:
            _signal(pid, signal.SIGKILL)
        process.wait()


def tree(root: int) -> list[int]:
    """A process and its descendants; one that ends meanwhile is skipped."""
    found = [root]
    for pid in found:
        with contextlib.suppress(OSError):
            for path in Path(f"/proc/{pid}/task").glob("*/children"):
                found.extend(map(int, path.read_text().split()))
    return found


def signal_tree(root: int, number: signal.Signals) -> None:
    for pid in tree(root):
        _signal(pid, number)


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _await_port(process: subprocess.Popen[bytes], port: int, directory: Path) -> None:
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, port), 1):
            return
        time.sleep(_LOOK_SECONDS)
    log = (directory / "log").read_text(errors="replace")
    raise NotStarted(f"did not listen:\n{log[-LOG_CHARACTERS_SHOWN:]}")
