"""The case study of elastic on this machine: a server, worker processes, and jobs that arrive.

Each consumer is a process of its own. Times are scaled: a minute of the paper takes `minute_s`
seconds here, and results are in seconds of the paper again.
"""

import asyncio
import contextlib
import heapq
import itertools
import os
import random
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from dovemq.client import SqsClient, WorkflowClient
from dovemq.client.errors import Refused
from dovemq.experiments import elastic_tasks
from dovemq.experiments.elastic import case_study
from dovemq.experiments.figure import Tell
from dovemq.experiments.service_runs import RAM_DISK
from dovemq.load.faults.process import ServerProcess
from dovemq.models.estimates import Estimate
from dovemq.system.clock import SystemClock
from dovemq.workflows.sizing.allocators.local import LocalAllocator
from dovemq.workflows.sizing.allocators.worker_record import WorkerRecord
from dovemq.workflows.sizing.observed import RUNNING, ObservedJob
from dovemq.workflows.sizing.source import JobSource

MINUTE_S: Final = 1.0
PAPER_MINUTE_S: Final = 60.0
PATHS: Final[Mapping[str, tuple[str, ...]]] = {
    "1": ("A", "B", "D"),
    "2": ("A", "D", "D"),
    "3": ("C", "D"),
}
TOPICS: Final = tuple("ABCD")
READY_SECONDS_MAX: Final = 120.0
LOOK_SECONDS: Final = 0.25
BATCHES: Final = 10
_TASKS: Final = f"{elastic_tasks.__name__}:tasks"
_READY: Final = " serves "


class Arrival(NamedTuple):
    at_s: float
    type: str


class WorkersNotReady(RuntimeError):
    def __init__(self, found: int, wanted: int, log: str) -> None:
        super().__init__(f"{found} of {wanted} workers are ready; their output ends with:\n{log}")


def arrivals_of(rates: Sequence[float], seconds: float, seed: int) -> list[Arrival]:
    """Arrivals with the paper's variability; rates are a minute of the paper, times real."""
    streams = [
        _renewals(name, rate / MINUTE_S, job.arrival_scv, seconds, random.Random(f"{seed}/{name}"))
        for name, rate, job in zip(PATHS, rates, case_study().jobs, strict=True)
    ]
    return list(heapq.merge(*streams))


def counted_arrivals(rates: Sequence[float], each: int, seed: int) -> list[Arrival]:
    """The first so many arrivals of every type."""
    streams = [
        itertools.islice(
            _renewals(
                name,
                rate / MINUTE_S,
                job.arrival_scv,
                float("inf"),
                random.Random(f"{seed}/{name}"),
            ),
            each,
        )
        for name, rate, job in zip(PATHS, rates, case_study().jobs, strict=True)
    ]
    return list(heapq.merge(*streams))


def _renewals(
    name: str, rate: float, scv: float, seconds: float, rng: random.Random
) -> Iterator[Arrival]:
    now = rng.gammavariate(1.0 / scv, scv / rate) * rng.random()
    while now < seconds:
        yield Arrival(now, name)
        now += rng.gammavariate(1.0 / scv, scv / rate)


class ElasticService:
    """A running server with its workers. `jobs` reads what became of jobs that were submitted."""

    def __init__(
        self, folder: Path, sqs: SqsClient, client: WorkflowClient, server: ServerProcess
    ) -> None:
        self.client = client
        self.source = JobSource(client)
        self.clock = SystemClock()
        self._log = folder / "workers.log"
        command = [sys.executable, "-m", "dovemq", "workflow", "worker", _TASKS]
        command += ["--endpoint-url", server.endpoint_url, "--admin-url", server.admin_url]
        self.allocator = LocalAllocator(
            lambda topic, _: [*command, "--topic", topic],
            WorkerRecord(folder / "workers.json"),
            log=self._log,
        )
        self._started = 0
        self._late_s: list[float] = []
        self._numbers = itertools.count()

    async def allocate(self, consumers: Sequence[int]) -> None:
        """Sets the consumers of all topics, and waits until new ones are ready."""
        wanted = dict(zip(TOPICS, consumers, strict=True))
        present = await self.allocator.consumers(TOPICS)
        self._started += sum(max(wanted[name] - present[name], 0) for name in TOPICS)
        await self.allocator.allocate(wanted)
        for _ in range(round(READY_SECONDS_MAX / LOOK_SECONDS)):
            if (ready := self._ready()) >= self._started:
                return
            await asyncio.sleep(LOOK_SECONDS)
        raise WorkersNotReady(ready, self._started, self._log.read_text()[-2_000:])

    @property
    def busyness(self) -> str:
        """Says how late the machine was with timers, as a reading of a figure."""
        late = sorted(self._late_s) or [0.0]
        mean, most = sum(late) / len(late), late[-1]
        return (
            f"Submissions were {1_000 * mean:.1f} ms late on average and {1_000 * most:.0f} ms at "
            f"most: a sleep of a task, {1_000 * MINUTE_S / 5:.0f} ms, is prolonged as much. A busy "
            "machine spoils these figures."
        )

    def _ready(self) -> int:
        return self._log.read_text().count(_READY) if self._log.exists() else 0

    def note_ready(self) -> None:
        """Takes the workers that another one has started as known."""
        self._started = self._ready()

    async def submit(self, arrivals: Sequence[Arrival], seed: int, tell: Tell) -> list[str]:
        """Submits jobs at their times; the answer has their ids in this order."""
        loop = asyncio.get_running_loop()
        begun, sending = loop.time(), []
        for number, arrival in enumerate(arrivals):
            await asyncio.sleep(max(begun + arrival.at_s - loop.time(), 0.0))
            self._late_s.append(loop.time() - begun - arrival.at_s)
            tell(f"{number + 1} of {len(arrivals)} jobs submitted")
            body = {"minute_s": MINUTE_S, "seed": seed, "number": next(self._numbers)}
            sending.append(asyncio.ensure_future(self.client.submit(arrival.type, body)))
        return [each["job_id"] for each in await asyncio.gather(*sending)]

    async def jobs(
        self, ids: Sequence[str], seconds_max: float, since_ms: int
    ) -> list[ObservedJob]:
        """The jobs, once all have ended or this time has passed."""
        wanted, until = set(ids), asyncio.get_running_loop().time() + seconds_max
        while True:
            now_ms = self.clock.now_ms()
            found = await self.source.jobs(now_ms, max(now_ms - since_ms, 1))
            mine = [each for each in found if each.job_id in wanted]
            over = asyncio.get_running_loop().time() >= until
            if over or all(each.state != RUNNING for each in mine):
                return sorted(mine, key=lambda each: each.created_ms)
            await asyncio.sleep(LOOK_SECONDS)

    async def cancel(self, jobs: Sequence[ObservedJob]) -> None:
        """Cancels those that still run, so that they are no load for what follows."""
        for job in jobs:
            if job.state == RUNNING:
                with contextlib.suppress(Refused):
                    await self.client.cancel(job.job_id)


@contextlib.asynccontextmanager
async def elastic_service() -> AsyncIterator[ElasticService]:
    place = RAM_DISK if os.access(RAM_DISK, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="dovemq-elastic-", dir=place) as name:
        folder = Path(name)
        # Signatures are no part of what is measured, and the server listens on loopback alone.
        server = ServerProcess(folder / "data", args=["--insecure-no-auth"]).start()
        try:
            async with (
                SqsClient(server.endpoint_url, None) as sqs,
                WorkflowClient(server.admin_url, None) as client,
            ):
                for type_, path in PATHS.items():
                    await client.put_workflow(type_, {"path": list(path)})
                service = ElasticService(folder, sqs, client, server)
                try:
                    yield service
                finally:
                    await service.allocator.close()
        finally:
            server.stop()


def paper_seconds(time_ms: float) -> float:
    return time_ms / 1_000.0 / MINUTE_S * PAPER_MINUTE_S


def response_s(job: ObservedJob, now_ms: int) -> float:
    """The response time in seconds of the paper; a job that still runs counts with its age."""
    end_ms = now_ms if job.ended_ms is None else job.ended_ms
    return paper_seconds(end_ms - job.created_ms)


def mean_response(jobs: Sequence[ObservedJob], now_ms: int, type_: str | None = None) -> Estimate:
    """The mean by batches of jobs in the order of their arrival, without the first tenth."""
    kept = [each for each in jobs[len(jobs) // 10 :] if type_ in (None, each.type)]
    size = max(len(kept) // BATCHES, 1)
    values = []
    for first in range(0, size * min(BATCHES, len(kept)), size):
        batch = kept[first : first + size]
        values.append(sum(response_s(each, now_ms) for each in batch) / len(batch))
    return Estimate(tuple(values), by="batches")
