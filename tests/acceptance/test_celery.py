"""A Celery worker on kombu's SQS transport: every task is done, though the worker is killed."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dovemq.testing.local_server import LocalServer
from tests.acceptance.documents import blocks
from tests.acceptance.programs import OUR_PROGRAMS, ROOT, clean_environment, program, run
from tests.acceptance.test_boto3 import counts

TASKS = 1_000
VISIBILITY_SECONDS = 10
DONE_BEFORE_KILL = TASKS // 4
WAIT_SECONDS_MAX = 100
LOOK_SECONDS = 0.1
PAGE = "docs/how-to/run-celery.md"

SENDER = """
import time
from tests.acceptance.celery_app import note
with note.app.producer_pool.acquire(block=True) as producer:
    for number in range({tasks}):
        countdown = 2 if number % 10 == 1 else 0
        arguments = (number, 1 if number % 10 == 2 else 0, time.time() + countdown)
        note.apply_async(arguments, countdown=countdown or None, producer=producer)
"""


class Worker:
    """A worker with its pool; both go when it is killed."""

    def __init__(self, env: dict[str, str], log: Path) -> None:
        celery = [str(OUR_PROGRAMS / "celery"), "-A", "tests.acceptance.celery_app", "worker"]
        options = ["--concurrency=2", "--loglevel=WARNING", "--without-gossip", "--without-mingle"]
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [*celery, *options, "--without-heartbeat"],
                env=env,
                cwd=ROOT,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@pytest.fixture
def env(server: LocalServer, tmp_path: Path) -> dict[str, str]:
    program("celery")
    return clean_environment(
        tmp_path,
        **server.env,
        CELERY_BROKER=server.endpoint_url.replace("http://", "sqs://"),
        CELERY_NOTES=str(tmp_path / "notes"),
        CELERY_VISIBILITY_SECONDS=str(VISIBILITY_SECONDS),
    )


@pytest.fixture
def start_worker(env: dict[str, str], tmp_path: Path) -> Iterator[Callable[[], Worker]]:
    with contextlib.ExitStack() as started:

        def start() -> Worker:
            worker = Worker(env, tmp_path / "worker.log")
            started.callback(worker.kill)
            return worker

        yield start


def _wait_until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(LOOK_SECONDS)


def test_thousand_tasks_with_retries_and_etas_are_done_though_the_worker_is_killed(
    sqs: Any, env: dict[str, str], start_worker: Callable[[], Worker]
) -> None:
    notes = Path(env["CELERY_NOTES"])

    def noted() -> list[list[str]]:
        return [line.split() for line in notes.read_text().splitlines()] if notes.exists() else []

    def numbers_done() -> set[int]:
        return {int(number) for number, _ in noted()}

    run([sys.executable, "-c", SENDER.format(tasks=TASKS)], env=env)
    worker = start_worker()
    _wait_until(lambda: len(numbers_done()) >= DONE_BEFORE_KILL, "the worker does nothing")
    worker.kill()
    assert len(numbers_done()) < TASKS
    start_worker()
    _wait_until(lambda: len(numbers_done()) == TASKS, "tasks of the killed worker are missing")
    url = sqs.get_queue_url(QueueName="celery-acceptance")["QueueUrl"]
    _wait_until(lambda: counts(sqs, url) == (0, 0, 0), "messages are left in the queue")
    assert numbers_done() == set(range(TASKS))
    assert {state for _, state in noted()} == {"done"}


def test_task_of_the_page_is_done_as_written(server: LocalServer, tmp_path: Path) -> None:
    program("celery")
    install, application, worker, sender = (text for _, text in blocks(PAGE))
    assert install == 'pip install "celery[sqs]"\n'
    port = server.endpoint_url.rpartition(":")[2]
    (tmp_path / "jobs.py").write_text(application.replace("9324", port))
    env = clean_environment(tmp_path, **server.env, DOVEMQ_DATA=str(server.data))
    log = tmp_path / "worker.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", worker],
            env=env,
            cwd=tmp_path,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        run(["bash", "-euo", "pipefail", "-c", sender], env=env, cwd=tmp_path)
        _wait_until(lambda: "succeeded" in log.read_text(), "the task is not done")
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
