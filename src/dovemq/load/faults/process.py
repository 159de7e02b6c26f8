"""Runs `dovemq serve` as a child process that can be stopped, killed and started again."""

import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

import msgspec
from msgspec import Struct

START_SECONDS_MAX: Final = 300.0
"""A machine with much other work takes minutes to start a server on a shared store."""
STOP_SECONDS_MAX: Final = 60.0
LOG_CHARACTERS_SHOWN: Final = 4_000


class StartFailed(RuntimeError):
    """The server did not start to listen; the text ends with its log."""


class Announcement(Struct, frozen=True):
    """The line that `dovemq serve --json` prints once it listens."""

    endpoint_url: str
    admin_url: str
    data: str
    region: str
    account: str


class ServerProcess:
    """A server process. After the first start its ports stay the same."""

    def __init__(
        self,
        data: Path,
        *,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        log: Path | None = None,
        command: Sequence[str] = (sys.executable, "-m", "dovemq"),
        ports: tuple[int, int] = (0, 0),
    ) -> None:
        """`ports` are those of the SQS endpoint and the admin API; 0 is any free port."""
        self.data = data
        self.log = log or data.with_name(data.name + ".log")
        self._args = tuple(args)
        self._env = env or {}
        self._command = tuple(command)
        self._ports = (str(ports[0]), str(ports[1]))
        self._process: subprocess.Popen[bytes] | None = None
        self._announcement: Announcement | None = None

    def start(self) -> Self:
        assert self._process is None, "the server is running already"
        port, admin_port = self._ports
        ports = ["--port", port, "--admin-port", admin_port]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._command, "serve", "--json", "--data", self.data, *ports, *self._args],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._environment(),
            )
        line = self._first_line(self._process)
        if not line:
            self.kill()
            raise StartFailed(f"dovemq serve did not start:\n{self.log_tail()}")
        self._announcement = msgspec.json.decode(line, type=Announcement)
        self._ports = (self.endpoint_url.rpartition(":")[2], self.admin_url.rpartition(":")[2])
        return self

    def stop(self, seconds_max: float = STOP_SECONDS_MAX) -> int:
        """Sends SIGTERM and returns the exit code."""
        self.signal(signal.SIGTERM)
        return self.wait(seconds_max)

    def kill(self) -> None:
        """Sends SIGKILL, which has the effect of a crash."""
        if self._process is not None:
            self._process.kill()
            self.wait()

    def signal(self, number: int) -> None:
        assert self._process is not None, "the server is not running"
        self._process.send_signal(number)

    def wait(self, seconds_max: float = STOP_SECONDS_MAX) -> int:
        """Returns the exit code; a server that does not end in time is killed."""
        process = self._process
        assert process is not None, "the server is not running"
        try:
            return process.wait(seconds_max)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            if process.stdout:
                process.stdout.close()
            self._process = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server is not running"
        return self._process.pid

    @property
    def endpoint_url(self) -> str:
        return self.announced.endpoint_url

    @property
    def admin_url(self) -> str:
        return self.announced.admin_url

    @property
    def region(self) -> str:
        return self.announced.region

    def log_tail(self) -> str:
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return text[-LOG_CHARACTERS_SHOWN:]

    @property
    def announced(self) -> Announcement:
        assert self._announcement is not None, "the server was never started"
        return self._announcement

    def _environment(self) -> dict[str, str]:
        """Returns the caller's environment without settings for another server."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DOVEMQ_")}
        return {**kept, **self._env}

    @staticmethod
    def _first_line(process: subprocess.Popen[bytes]) -> bytes:
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(START_SECONDS_MAX):
                return b""
        # The line is written at once, so a readable stream has all of it or has ended.
        return process.stdout.readline()
