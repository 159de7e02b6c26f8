"""Jobs of several types while workers, their manager and front ends are killed.

Each ends exactly once.
"""

import asyncio
import os
import random
import secrets
import signal
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from bench.shared_faults.front_ends import started_again
from bench.soak.workers import WorkerProcesses
from dovemq.client import WorkflowClient
from dovemq.client.errors import ClientError
from dovemq.client.retrying import is_transient
from dovemq.testing.local_redis import LocalRedisCluster
from dovemq.testing.local_server import LocalServer
from tests.acceptance.deployments import front_ends
from tests.faults.worker_processes import CONSUMERS_MAX, TASKS, ManagedWorkers
from tests.workflows.sample_jobs import TYPES

JOBS = int(os.environ.get("DOVETEST_JOBS", "8"))
"""Jobs of each type."""
WORKERS = 2
CONCURRENCY = 2
JOBS_PER_KILL = 8
KILLS_MIN = 4
KILLS_MAX = 120
LEASE_SECONDS = 3
SECONDS_MAX = 600 + 5 * JOBS
CALLS = 8
"""Requests of the test at a time."""


class ManyJobs:
    """Submits jobs, kills meanwhile, and waits for the end of all."""

    def __init__(
        self,
        servers: Sequence[LocalServer],
        workers: WorkerProcesses,
        managed: ManagedWorkers,
        rng: random.Random,
    ) -> None:
        self._servers = servers
        self._workers, self._managed = workers, managed
        self._rng = rng
        self._places = asyncio.Semaphore(CALLS)
        self.servers_killed = 0

    async def run(self) -> list[dict[str, Any]]:
        leases = {"lease_seconds": LEASE_SECONDS}
        for type_, content in TYPES.items():
            topics = dict.fromkeys(_topics(content), leases)
            body = {**content, "topics": topics, "attempts_max": 20, "patience_seconds": 60}
            await self._asked(lambda client, t=type_, b=body: client.put_workflow(t, b))
        for _ in range(WORKERS):
            self._workers.start()
        await asyncio.to_thread(self._managed.start)
        await asyncio.to_thread(self._managed.await_workers)
        numbers = [(type_, number) for number in range(JOBS) for type_ in TYPES]
        async with asyncio.TaskGroup() as group:
            group.create_task(self._kill())
            submitting = [group.create_task(self._submitted(*each)) for each in numbers]
        jobs = await asyncio.gather(*(self._finished(task.result()) for task in submitting))
        return list(jobs)

    async def _kill(self) -> None:
        """Kills in turn: a worker, the service, a worker of the manager, and the manager."""
        kills = min(KILLS_MAX, max(KILLS_MIN, JOBS * len(TYPES) // JOBS_PER_KILL))
        victims = (
            self._workers.kill_oldest,
            self._kill_server,
            self._managed.kill_worker,
            self._managed.kill_manager,
        )
        for number in range(kills):
            await asyncio.sleep(self._rng.uniform(0.2, 1.0))
            await asyncio.to_thread(victims[number % len(victims)])

    def _kill_server(self) -> None:
        self._servers[-1].kill()
        started_again(self._servers[-1])
        self.servers_killed += 1

    async def _submitted(self, type_: str, number: int) -> str:
        key = f"{type_}-{number}"
        job = await self._asked(lambda client: client.submit(type_, number, key=key))
        return str(job["job_id"])

    async def _finished(self, job_id: str) -> dict[str, Any]:
        job: dict[str, Any] = await self._asked(lambda c: c.finished(job_id, SECONDS_MAX))
        return job

    async def _asked(self, ask: Any) -> Any:
        """Ask servers in turn until one answers."""
        async with self._places:
            while True:
                server = self._rng.choice(self._servers)
                client = WorkflowClient(server.admin_url, server.access_key)
                try:
                    async with client:
                        return await ask(client)
                except ClientError as error:
                    if not is_transient(error):
                        raise
                await asyncio.sleep(0.3)


def _topics(content: dict[str, Any]) -> set[str]:
    return set(content["path"]) if "path" in content else set("ABCD")


def _judge(jobs: list[dict[str, Any]]) -> None:
    assert len({job["job_id"] for job in jobs}) == JOBS * len(TYPES)
    for job in jobs:
        assert job["state"] == "ended", job
        assert {task["state"] for task in job["tasks"].values()} == {"ended"}
        for name, result in job["results"].items():
            # A task has seen the one result that its job has of each task before it.
            for before, seen in result["before"].items():
                assert seen["token"] == job["results"][before]["token"], (job["job_id"], name)
        if job["type"] == "fork":
            assert set(job["results"]["D"]["before"]) == {"B", "C"}


def _end_exactly_once(servers: Sequence[LocalServer], folder: Path) -> None:
    rng = random.Random(JOBS)
    variables = [server.env for server in servers]
    workers = WorkerProcesses(variables, TASKS, folder / "workers.log", CONCURRENCY)
    managed = ManagedWorkers(servers, folder, rng)
    many = ManyJobs(servers, workers, managed, rng)
    try:
        jobs = asyncio.run(many.run())
        managed.record()
    finally:
        codes = workers.stop()
        code = managed.stop()
        left = managed.left()
    _judge(jobs)
    assert many.servers_killed
    # One that was stopped before it served has no handler of signals yet.
    assert {*codes, code} <= {0, -signal.SIGTERM}
    assert managed.managers > 1
    assert managed.most <= CONSUMERS_MAX
    assert left == []


@pytest.mark.timeout(2 * SECONDS_MAX + 300)
def test_jobs_end_once_while_workers_their_manager_and_the_service_are_killed(
    tmp_path: Path,
) -> None:
    with LocalServer(tmp_path / "data", log=tmp_path / "server.log") as server:
        _end_exactly_once([server], tmp_path)


@pytest.mark.timeout(2 * SECONDS_MAX + 300)
def test_jobs_end_once_while_one_of_two_front_ends_is_killed(
    tmp_path: Path, redis_cluster: LocalRedisCluster
) -> None:
    url = f"{redis_cluster.url}?prefix=jobs_{secrets.token_hex(4)}"
    with ExitStack() as ending:
        servers = [ending.enter_context(each) for each in front_ends(url, 2, tmp_path)]
        _end_exactly_once(servers, tmp_path)
