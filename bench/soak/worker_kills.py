"""The workers of a service: one lives for the whole run, others are killed in their turns."""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench.soak.stage import SoakService
from bench.soak.turns import Schedule
from bench.soak.workers import WorkerProcesses

WORKERS: Final = "workers"
TASKS: Final = "bench.soak.tasks"
CONCURRENCY: Final = 2
KILL_MTTF_SECONDS: Final = 5.0


class ServiceWorkers:
    """`with` starts the workers, and ends them; `codes` are the exit codes."""

    def __init__(self, service: SoakService, place: Path, rng: random.Random) -> None:
        self._service = service
        self._rng = rng
        variables = [server.variables() for server in service.servers]
        log = place / f"{service.name}-workers.log"
        self._steady = WorkerProcesses(variables, TASKS, log, CONCURRENCY)
        self._killed = WorkerProcesses(variables, TASKS, log, CONCURRENCY)
        self.kills = 0
        self.codes: list[int] = []

    def __enter__(self) -> "ServiceWorkers":
        self._steady.start()
        for _ in self._service.servers:
            self._killed.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.codes = [*self._steady.stop(), *self._killed.stop()]

    def steady_pid(self) -> int | None:
        return self._steady.oldest_pid

    async def trouble(self, schedule: Schedule, now_s: Callable[[], float]) -> None:
        while found := schedule.due(WORKERS, now_s(), self._rng.expovariate(1 / KILL_MTTF_SECONDS)):
            await asyncio.sleep(max(0.0, found[0] - now_s()))
            await asyncio.to_thread(self._killed.kill_oldest)
            self.kills += 1
