"""One soak: loads, jobs and workers on a stage, faults in turn, and the account of everything."""

import asyncio
import contextlib
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct
from prometheus_client.parser import text_string_to_metric_families

from bench.soak.jobs import JobAccount, JobStream
from bench.soak.loads import EXCHANGES, Clients, Loads, MessageAccount, all_started
from bench.soak.stage import SoakService, SoakStage, StageOptions
from bench.soak.trends import Sample
from bench.soak.turns import Schedule, TurnedCourses
from bench.soak.watch import ProcessWatch
from bench.soak.worker_kills import ServiceWorkers
from dovemq.client import AdminClient
from dovemq.load.faults.decisions import Courses, Drawn

REPORT_SECONDS: Final = 30.0
GRACEFUL: Final = frozenset((0, -15))
"""Exit codes of workers: one that has no handler of signals yet ends by SIGTERM itself."""
JOBS_METRIC: Final = "dovemq_workflow_jobs"

Tell = Callable[[str], None]


class SoakLength(Struct, frozen=True):
    """How long a soak and its turns are, and how much its clients do."""

    seconds: float
    turn_s: float
    quiet_s: float
    pause_ms: int
    """The pause of each sender between two messages."""
    job_rate: float

    def schedule(self, names: Sequence[str]) -> Schedule:
        return Schedule.of(names, self.turn_s, self.quiet_s, self.seconds)

    @property
    def clients(self) -> Clients:
        # A wave is as long as a turn and its quiet spell, so that each quiet spell meets the same
        # part of a wave, and its connections do not look like a trend.
        return Clients(self.seconds, self.pause_ms, self.turn_s + self.quiet_s)


class ServiceAccount(Struct, frozen=True):
    name: str
    messages: MessageAccount
    jobs: JobAccount
    fired: Mapping[str, int]
    findings: tuple[str, ...]


class SoakAccount(Struct, frozen=True):
    """Everything that a soak has seen. `lived` are the processes that were never restarted."""

    store: str
    seconds: float
    seed: int
    services: tuple[ServiceAccount, ...]
    fired: Mapping[str, int]
    findings: tuple[str, ...]
    samples: tuple[Sample, ...]
    loads: tuple[float, ...]
    lived: tuple[str, ...]
    spells: tuple[tuple[float, float], ...]


class _Part:
    """One service of the stage, with its clients, jobs and workers."""

    def __init__(self, service: SoakService, length: SoakLength, options: StageOptions) -> None:
        self.service, self._length, self._options = service, length, options
        rng = random.Random(f"{options.seed}/{service.name}")
        endpoints = [server.endpoint for server in service.servers]
        self.loads = Loads(service.name, endpoints, length.clients, options.seed)
        self.stream = JobStream(service.servers, rng)
        self.workers = ServiceWorkers(service, options.place, rng)

    async def messages(self) -> MessageAccount:
        journals = self._options.place / f"{self.service.name}-journals"
        return await self.loads.run(self._courses, self.service.log, journals)

    async def jobs(self) -> JobAccount:
        return await self.stream.run(self._length.seconds, self._length.job_rate)

    async def trouble(self) -> None:
        await self.workers.trouble(self._options.schedule, self._options.stopwatch.now_s)

    def account(
        self, messages: MessageAccount, jobs: JobAccount, findings: Sequence[str]
    ) -> ServiceAccount:
        fired = {str(mishap): count for mishap, count in self.service.log.fired.items() if count}
        codes = sorted(set(self.workers.codes) - GRACEFUL)
        wrong = [f"a worker ended with {code}" for code in codes]
        fired["worker killed"] = self.workers.kills
        return ServiceAccount(self.service.name, messages, jobs, fired, (*findings, *wrong))

    async def ends_counted(self) -> int:
        """How many jobs have ended by the counters of the servers, since they were started."""
        total = 0
        for server in self.service.servers:
            async with AdminClient(server.admin_url, server.endpoint.key) as admin:
                text = (await admin.metrics()).decode()
            total += sum(
                int(sample.value)
                for family in text_string_to_metric_families(text)
                for sample in family.samples
                if family.name == JOBS_METRIC and sample.labels["outcome"] == "ended"
            )
        return total

    def _courses(self, kind: str) -> Courses:
        options = self._options
        drawn = Drawn(EXCHANGES, hash_of(options.seed, self.service.name, kind))
        return TurnedCourses(drawn, options.schedule, options.stopwatch.now_s)


def hash_of(*parts: object) -> int:
    """A seed that differs between parts, and is the same in each run."""
    return random.Random("/".join(map(str, parts))).getrandbits(32)


async def soak(
    starting: contextlib.AbstractAsyncContextManager[SoakStage],
    length: SoakLength,
    options: StageOptions,
    tell: Tell,
) -> SoakAccount:
    async with starting as stage:
        parts = [_Part(service, length, options) for service in stage.services]
        for part in parts:
            await part.stream.prepare()
        with contextlib.ExitStack() as working:
            for part in parts:
                working.enter_context(part.workers)
            steady = {f"{part.service.name} worker": part.workers.steady_pid for part in parts}
            watch = ProcessWatch({**stage.pids(), **steady}, options.stopwatch.now_s)
            seen = await _loaded(stage, parts, watch, options, tell)
        found = [
            await _counted(part, jobs, watch) for part, (_, jobs) in zip(parts, seen, strict=True)
        ]
        findings = await stage.findings()
    services = [
        part.account(messages, jobs, wrong)
        for part, (messages, jobs), wrong in zip(parts, seen, found, strict=True)
    ]
    return SoakAccount(
        store=stage.store,
        seconds=length.seconds,
        seed=options.seed,
        services=tuple(services),
        fired=dict(stage.fired()),
        findings=tuple(findings),
        samples=tuple(watch.samples),
        loads=tuple(watch.loads),
        lived=tuple(watch.lived()),
        spells=tuple(options.schedule.quiet(stage.late_ends_s())),
    )


async def _loaded(
    stage: SoakStage,
    parts: Sequence[_Part],
    watch: ProcessWatch,
    options: StageOptions,
    tell: Tell,
) -> list[tuple[MessageAccount, JobAccount]]:
    async with asyncio.TaskGroup() as group:
        messages = [group.create_task(part.messages()) for part in parts]
        await all_started([part.loads for part in parts], messages)
        options.stopwatch.begin()
        beside = [
            group.create_task(watch.run(options.schedule.seconds)),
            group.create_task(_report(parts, options, tell)),
        ]
        troubles = [group.create_task(stage.trouble())]
        troubles += [group.create_task(part.trouble()) for part in parts]
        jobs = [group.create_task(part.jobs()) for part in parts]
        await asyncio.wait([*messages, *jobs, *troubles])
        for task in beside:
            task.cancel()
    pairs = zip(messages, jobs, strict=True)
    return [(message.result(), job.result()) for message, job in pairs]


async def _counted(part: _Part, jobs: JobAccount, watch: ProcessWatch) -> list[str]:
    """A server that was never restarted has counted each end of a job."""
    if not watch.is_steady(f"{part.service.name} server"):
        return []
    counted = await part.ends_counted()
    if counted == jobs.submitted:
        return []
    return [f"{counted} ends of {jobs.submitted} jobs were counted"]


async def _report(parts: Sequence[_Part], options: StageOptions, tell: Tell) -> None:
    while True:
        await asyncio.sleep(REPORT_SECONDS)
        state = "; ".join(f"{part.loads}, {part.stream.submitted} jobs" for part in parts)
        tell(f"{options.stopwatch.now_s():.0f} s: {state}")
