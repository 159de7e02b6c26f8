"""A real `dovemq serve` process on free ports, for tests that need one.

Owns the process alone: its data directory is given and stays. Readiness is the line of JSON that
the server prints once it listens; nothing sleeps.
"""

import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from dovemq.core.access import AccessKey
from dovemq.server.access import key_path, read_key

START_SECONDS_MAX: Final = 60.0
STOP_SECONDS_MAX: Final = 60.0
LOG_CHARACTERS_SHOWN: Final = 4_000


class StartFailed(RuntimeError):
    """The server did not get as far as listening; the text ends with its log."""


class Announcement(Struct, frozen=True):
    """The line that `dovemq serve --json` prints once it listens."""

    endpoint_url: str
    admin_url: str
    data: str
    region: str
    account: str


class LocalServer:
    """`with LocalServer(directory) as server:` or `start` and `stop`; may be started again.

    After the first start the ports stay the same over a restart, as clients expect of a server.
    """

    def __init__(
        self,
        data: Path,
        *,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        log: Path | None = None,
        command: Sequence[str] = (sys.executable, "-m", "dovemq"),
    ) -> None:
        self.data = data
        self.log = log or data.with_name(data.name + ".log")
        self._args = tuple(args)
        self._env = env or {}
        self._command = tuple(command)
        self._ports = ("0", "0")
        self._process: subprocess.Popen[bytes] | None = None
        self._announcement: Announcement | None = None

    def start(self) -> "LocalServer":
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
        self._ports = (
            self.endpoint_url.rpartition(":")[2],
            self.admin_url.rpartition(":")[2],
        )
        return self

    def stop(self, seconds_max: float = STOP_SECONDS_MAX) -> int:
        """SIGTERM, then the exit code once it has drained."""
        self.signal(signal.SIGTERM)
        return self.wait(seconds_max)

    def kill(self) -> None:
        """SIGKILL: as a crash of the process would."""
        if self._process is not None:
            self._process.kill()
            self.wait()

    def signal(self, number: int) -> None:
        assert self._process is not None, "the server is not running"
        self._process.send_signal(number)

    def wait(self, seconds_max: float = STOP_SECONDS_MAX) -> int:
        """The exit code; a server that does not end in time is killed."""
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
        return self._announced.endpoint_url

    @property
    def admin_url(self) -> str:
        return self._announced.admin_url

    @property
    def region(self) -> str:
        return self._announced.region

    @property
    def access_key(self) -> AccessKey:
        """The root key of its data directory."""
        return read_key(key_path(self.data), self._announced.account)

    @property
    def boto3_kwargs(self) -> dict[str, Any]:
        """`boto3.client("sqs", **server.boto3_kwargs)`."""
        key = self.access_key
        return {
            "endpoint_url": self.endpoint_url,
            "region_name": self.region,
            "aws_access_key_id": key.key_id,
            "aws_secret_access_key": key.secret,
        }

    @property
    def env(self) -> dict[str, str]:
        """What `dovemq env` exports, and the admin API, which here is not on the next port."""
        key = self.access_key
        return {
            "AWS_ENDPOINT_URL_DOVEMQ": self.admin_url,
            "AWS_ENDPOINT_URL_SQS": self.endpoint_url,
            "AWS_ACCESS_KEY_ID": key.key_id,
            "AWS_SECRET_ACCESS_KEY": key.secret,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
        }

    def log_tail(self) -> str:
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return text[-LOG_CHARACTERS_SHOWN:]

    def __enter__(self) -> "LocalServer":
        return self.start()

    def __exit__(self, *error: object) -> None:
        if self._process is not None:
            self.stop()

    @property
    def _announced(self) -> Announcement:
        assert self._announcement is not None, "the server was never started"
        return self._announcement

    def _environment(self) -> dict[str, str]:
        """The caller's, without settings that were meant for another server."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DOVEMQ_")}
        return {**kept, **self._env}

    @staticmethod
    def _first_line(process: subprocess.Popen[bytes]) -> bytes:
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(START_SECONDS_MAX):
                return b""
        # The line is written at once, so a readable stream holds all of it or has ended.
        return process.stdout.readline()
