"""A manager with its workers as processes, which a test kills."""

import os
import random
import secrets
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from dovemq.system.process_ids import ProcessId, process_id
from dovemq.testing.local_server import LocalServer
from dovemq.workflows.sizing.allocators.worker_record import RecordedWorkers, read_record

TASKS = "tests.faults.workflow_tasks"
CONSUMERS_MAX = 2
"""Most consumers of a topic that the manager may start."""
END_SECONDS_MAX = 150.0
"""A worker that was started just before its manager was killed ends after a minute."""
LOOK_SECONDS = 0.1
MARK = "DOVETEST_WORKERS"


class ManagedWorkers:
    """A manager with its workers; `most` is the largest number that a topic had in its record."""

    def __init__(self, servers: Sequence[LocalServer], folder: Path, rng: random.Random) -> None:
        self._servers, self._folder, self._rng = servers, folder, rng
        self._mark = secrets.token_hex(8)
        self._log = (folder / "manager.log").open("ab")
        self._manager: subprocess.Popen[bytes] | None = None
        self.managers = 0
        self.most = 0

    def start(self) -> None:
        server = self._servers[self.managers % len(self._servers)]
        self.managers += 1
        command = [sys.executable, "-m", "dovemq", "workflow", "manager", TASKS]
        command += ["--allocator", "local", "--budget", "2", "--threshold", "3s", "--every", "1s"]
        command += ["--window", "20s", "--cool-down", "2s", "--calm", "5s"]
        command += ["--bounds-of-others", f"1:{CONSUMERS_MAX}"]
        command += ["--workers", str(self._folder / "workers.json")]
        command += ["--workers-log", str(self._folder / "managed.log")]
        environment = {**os.environ, **server.env, MARK: self._mark}
        self._manager = subprocess.Popen(
            command, env=environment, stdout=self._log, stderr=self._log
        )

    def await_workers(self) -> None:
        until = time.monotonic() + END_SECONDS_MAX
        while not self.record().workers:
            assert time.monotonic() < until
            time.sleep(LOOK_SECONDS)

    def kill_manager(self) -> None:
        assert self._manager is not None
        self._manager.kill()
        self._manager.wait()
        self.start()

    def kill_worker(self) -> None:
        """Kills one of the workers, if there are any yet; the manager replaces it."""
        if workers := self.record().workers:
            self._rng.choice(workers).process.kill()

    def record(self) -> RecordedWorkers:
        record = read_record(self._folder / "workers.json")
        topics = [each.topic for each in record.workers]
        self.most = max([self.most, *(topics.count(each) for each in topics)])
        return record

    def stop(self) -> int:
        """The exit code of the manager, which ends its workers."""
        assert self._manager is not None
        self._manager.terminate()
        code = self._manager.wait(END_SECONDS_MAX)
        self._log.close()
        return code

    def left(self) -> list[ProcessId]:
        """Processes of all managers that still run after the time that they have."""
        until = time.monotonic() + END_SECONDS_MAX
        while (found := _marked(self._mark)) and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
        return found


def _marked(mark: str) -> list[ProcessId]:
    """Processes whose environment has this mark, in whatever record they are or are not."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            marked = mark.encode() in path.read_bytes()
        except OSError:
            continue
        if marked:
            found.append(process_id(int(path.parent.name)))
    return [each for each in found if each.running]
