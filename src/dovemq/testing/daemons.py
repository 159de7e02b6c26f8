"""Starts a program as a process, waits for it, and ends it with all its children."""

import abc
import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

START_SECONDS_MAX: Final = 300.0
"""A machine with much other work takes minutes to start a database or a Kubernetes API server."""
STOP_SECONDS_MAX: Final = 30.0
LOOK_SECONDS: Final = 0.05
LOG_CHARACTERS_SHOWN: Final = 4_000


class DaemonFailed(RuntimeError):
    """A process did not start; the text ends with its log."""


class LocalService(abc.ABC):
    """A service on 127.0.0.1 that `with` starts and stops; its log is in the directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.daemon: Daemon | None = None

    def start(self) -> Self:
        self.directory.mkdir(parents=True, exist_ok=True)
        try:
            self.launch()
        except BaseException:
            self.stop()
            raise
        return self

    @abc.abstractmethod
    def launch(self) -> None:
        """Starts the daemon, and returns once it is ready."""

    def stop(self) -> None:
        if self.daemon is not None:
            self.daemon.ask_to_end()
            self.daemon.end()
            self.daemon = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()


class Daemon:
    """A process and its children, in a process group, started in the directory of its log.

    With `append` the log of earlier processes is kept.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        *,
        append: bool = False,
    ) -> None:
        self._log = log
        with log.open("ab" if append else "wb") as file:
            self.process = subprocess.Popen(
                command,
                env=environment,
                cwd=log.parent,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def await_line(self, pattern: re.Pattern[str]) -> re.Match[str]:
        until = time.monotonic() + START_SECONDS_MAX
        while (found := pattern.search(self.log_text())) is None:
            if not self.running or time.monotonic() > until:
                raise self.failure()
            time.sleep(LOOK_SECONDS)
        return found

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    def failure(self) -> DaemonFailed:
        tail = self.log_text()[-LOG_CHARACTERS_SHOWN:]
        return DaemonFailed(f"{self._log.stem} did not start:\n{tail}")

    def log_text(self) -> str:
        return self._log.read_text(errors="replace")

    def ask_to_end(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()

    def end(self) -> None:
        """Waits for a process that was asked to end, and kills what is left of its group."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(STOP_SECONDS_MAX)
        self.kill()

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
