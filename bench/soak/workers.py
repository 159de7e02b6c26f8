"""`dovemq workflow worker` as processes of a test or bench, which it may kill."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

STOP_SECONDS_MAX: Final = 60


class WorkerProcesses:
    """Workers with the tasks of a module, at servers in turn.

    `servers` are the variables by which a worker finds each server and its key.
    """

    def __init__(
        self, servers: Sequence[Mapping[str, str]], tasks: str, log: Path, concurrency: int
    ) -> None:
        self._servers, self._tasks, self._concurrency = servers, tasks, concurrency
        self._log = log.open("ab")
        self._started = 0
        self._alive: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        server = self._servers[self._started % len(self._servers)]
        self._started += 1
        command = [sys.executable, "-m", "dovemq", "workflow", "worker", self._tasks]
        command += ["--concurrency", str(self._concurrency)]
        environment = {**os.environ, **server}
        self._alive.append(
            subprocess.Popen(command, env=environment, stdout=self._log, stderr=self._log)
        )

    @property
    def oldest_pid(self) -> int | None:
        return next((each.pid for each in self._alive if each.poll() is None), None)

    def kill_oldest(self) -> None:
        oldest = self._alive.pop(0)
        oldest.kill()
        oldest.wait()
        self.start()

    def stop(self) -> list[int]:
        """The exit codes of the workers that were not killed."""
        for each in self._alive:
            each.terminate()
        codes = [each.wait(STOP_SECONDS_MAX) for each in self._alive]
        self._log.close()
        return codes
