"""Four receivers on two executors of a real cluster, while executors, the driver and the sink are
killed: nothing is lost, nothing is doubled, and the queue ends empty."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from dovemq.client import ClientError
from dovemq.testing.local_server import LocalServer
from dovemq.testing.spark_cluster import SparkCluster
from tests.pipeline.source.queue_world import QueueWorld, processes_of
from tests.pipeline.source.stream_program import Settings

ROOT = Path(__file__).parents[3]
COUNT = int(os.environ.get("DOVETEST_STREAM", "3000"))
ROUNDS = 1 if COUNT < 10_000 else 3
LOOK_SECONDS = 0.2
LOOKS_MAX = 10_000

pytestmark = pytest.mark.timeout(1_500 + COUNT // 50)


class Program:
    """The driver: a process that is killed with all its children, and started again."""

    def __init__(self, settings: Settings, log: Path) -> None:
        self._settings = msgspec.json.encode(settings)
        self._log = log
        self._process = self._started()

    def breathe(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(LOOK_SECONDS)
            raise AssertionError(f"the driver ended with {code}: {self._log.read_text()[-10_000:]}")

    def kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def kill_and_start(self) -> None:
        self.kill()
        self._process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.pipeline.source.stream_program"],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        assert process.stdin is not None
        process.stdin.write(self._settings)
        process.stdin.close()
        return process


def _kill_executor() -> None:
    """Kills an executor; the master starts another one."""
    executors = processes_of(os.getpid(), b"CoarseGrainedExecutorBackend")
    assert executors, "no executor runs"
    os.kill(executors[-1], signal.SIGKILL)


@contextlib.contextmanager
def _world(folder: Path, name: str) -> Iterator[QueueWorld]:
    with LocalServer(folder / name) as server:
        world = QueueWorld(server)
        yield world
        world.close()


def _arrived(target: QueueWorld, queue: str) -> int:
    with contextlib.suppress(ClientError):
        return target.left(queue)
    return 0


def test_executors_the_driver_and_the_sink_are_killed(java: None, tmp_path: Path) -> None:
    with (
        _world(tmp_path, "source") as source,
        _world(tmp_path, "target") as target,
        SparkCluster(tmp_path / "cluster", workers=2, cores=2) as cluster,
    ):
        orders, done = source.new_queue(), target.new_queue(fifo=True)
        sent = source.fill(orders, COUNT)
        settings = Settings(
            cluster.master_url,
            source.options
            | {
                "queue": orders,
                "stagingLocation": str(tmp_path / "staging"),
                "receivers": "4",
                "maxMessagesPerBatch": str(COUNT // 15),
                "leaseSeconds": "10",
            },
            target.options | {"queue": done},
            str(tmp_path / "checkpoint"),
            {"spark.speculation": "true", "spark.speculation.quantile": "0.5"},
        )
        program = Program(settings, tmp_path / "driver.log")

        def kill_sink() -> None:
            target.server.kill()
            target.server.start()

        faults: list[Callable[[], None]] = [
            _kill_executor,
            program.kill_and_start,
            kill_sink,
        ] * ROUNDS
        marks = [COUNT * place // (len(faults) + 1) for place in range(1, len(faults) + 1)]
        for _ in range(LOOKS_MAX):
            program.breathe()
            if faults and _arrived(target, done) >= marks[0]:
                faults.pop(0)()
                marks.pop(0)
            if not source.left(orders):
                break
        program.kill()
        assert not faults
        assert source.left(orders) == 0
        assert sorted(target.bodies(done)) == sorted(f"new {body}" for body in sent)
