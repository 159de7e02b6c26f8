"""Jobs of a soak: submitted steadily, retried when they fail, and accounted for at the end."""

import asyncio
import functools
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from typing import Any, Final, TypeVar

from msgspec import Struct

from bench.soak.tasks import ATTEMPTS_MAX
from dovemq.client import SqsClient, WorkflowClient
from dovemq.client.errors import ClientError, Refused
from dovemq.client.retrying import is_transient
from dovemq.core.workflows.specification import dead_queue_name
from dovemq.load.plan import Endpoint

T = TypeVar("T")
Document = dict[str, Any]

TYPES: Final[dict[str, Document]] = {
    "path": {"path": ["A", "B", "D"]},
    "fork": {"flow": {"start": ["A"], "A": ["B", "C"], "B": ["D"], "C": ["D"]}, "joins": ["D"]},
}
TOPICS: Final = ("A", "B", "C", "D")
LEASE_SECONDS: Final = 5
PATIENCE_SECONDS: Final = 60
RETENTION_SECONDS: Final = 120
"""Jobs that have ended are kept so long. With all jobs of a run in it the database would grow, and
with it the part of it that the server holds in memory, which would look like a leak."""
SECOND_LOOK_SECONDS: Final = 30.0
"""An ended job is looked at once more after this time."""
CLOCK_SECONDS: Final = 10.0
"""More than the clocks of servers jump."""
LIST_SECONDS: Final = 15.0
LISTED_MAX: Final = 1_000
AGAIN_SECONDS: Final = 0.5
LOOK_SECONDS: Final = 60.0
END_SECONDS_MAX: Final = 900.0
"""A job without an end so long after the last submission counts as stuck."""
DRAIN_SECONDS: Final = 5.0
BATCH: Final = 10
FINDINGS_MAX: Final = 10
ENDED: Final = "ended"
FAILED: Final = "failed"


class JobServer(Struct, frozen=True):
    """Where one server takes messages, and where it takes jobs."""

    endpoint: Endpoint
    admin_url: str

    def jobs_client(self) -> WorkflowClient:
        return WorkflowClient(self.admin_url, self.endpoint.key, region=self.endpoint.region)

    def sqs_client(self) -> SqsClient:
        return SqsClient(self.endpoint.url, self.endpoint.key, region=self.endpoint.region)

    def variables(self) -> dict[str, str]:
        """The environment by which a worker finds the server."""
        assert self.endpoint.key is not None
        return {
            "AWS_ENDPOINT_URL_SQS": self.endpoint.url,
            "AWS_ENDPOINT_URL_DOVEMQ": self.admin_url,
            "AWS_ACCESS_KEY_ID": self.endpoint.key.key_id,
            "AWS_SECRET_ACCESS_KEY": self.endpoint.key.secret,
            "AWS_REGION": self.endpoint.region,
            "AWS_DEFAULT_REGION": self.endpoint.region,
        }


class JobAccount(Struct, frozen=True):
    """`seen_again` jobs were looked at once more after their end; `failures` were retried by hand;
    `dead` messages were taken from dead-letter topics."""

    submitted: int
    seen_again: int
    failures: int
    dead: int
    findings: tuple[str, ...]


class JobStream:
    """Jobs at the servers of one service, in turns drawn at random."""

    def __init__(self, servers: Sequence[JobServer], rng: random.Random) -> None:
        self._servers = servers
        self._rng = rng
        self._ended: dict[str, Document] = {}
        self._later: dict[str, Document] = {}
        self._listed: set[str] = set()
        self._failures = 0
        self._dead = 0
        self.submitted = 0

    async def prepare(self) -> None:
        for type_, content in TYPES.items():
            used = [name for name in TOPICS if name in str(content)]
            body = {
                **content,
                "topics": {name: {"lease_seconds": LEASE_SECONDS} for name in used},
                "attempts_max": ATTEMPTS_MAX,
                "patience_seconds": PATIENCE_SECONDS,
                "retention_seconds": RETENTION_SECONDS,
            }
            await self._asked(
                functools.partial(WorkflowClient.put_workflow, type_=type_, content=body)
            )

    async def run(self, seconds: float, rate: float) -> JobAccount:
        """Submits for that time, and waits for the end of all jobs."""
        beside = [asyncio.create_task(each()) for each in (self._drain, self._list)]
        try:
            jobs = await self._submitting(seconds, rate)
            done, stuck = await asyncio.wait(jobs, timeout=END_SECONDS_MAX) if jobs else ((), ())
            for each in stuck:
                each.cancel()
            for each in done:
                each.result()
            findings = [f"{len(stuck)} jobs have no end"] if stuck else []
        finally:
            for each in beside:
                each.cancel()
            await asyncio.wait(beside)
        for each in beside:
            if not each.cancelled():
                each.result()
        await self._drain_once()
        findings += judge(self._ended, self._later, self._listed)
        return JobAccount(
            submitted=self.submitted,
            seen_again=len(self._later),
            failures=self._failures,
            dead=self._dead,
            findings=tuple(findings[:FINDINGS_MAX]),
        )

    async def _submitting(self, seconds: float, rate: float) -> list[asyncio.Task[None]]:
        loop = asyncio.get_running_loop()
        ends, due = loop.time() + seconds, loop.time()
        jobs = []
        while (due := due + self._rng.expovariate(rate)) < ends:
            await asyncio.sleep(due - loop.time())
            self.submitted += 1
            type_ = list(TYPES)[self.submitted % len(TYPES)]
            jobs.append(asyncio.create_task(self._to_its_end(type_, self.submitted)))
        return jobs

    async def _to_its_end(self, type_: str, number: int) -> None:
        def submit(client: WorkflowClient) -> Awaitable[Document]:
            return client.submit(type_, number, key=f"job-{number}")

        job_id = (await self._asked(submit))["job_id"]
        while True:
            job = await self._asked(lambda client: client.finished(job_id, LOOK_SECONDS))
            if job["state"] == ENDED:
                break
            if job["state"] == FAILED:
                self._failures += 1
                await self._retry(job_id)
        job["timeline"] = await self._asked(lambda client: client.timeline(job_id))
        self._ended[job_id] = job
        await asyncio.sleep(SECOND_LOOK_SECONDS)
        await self._look_again(job_id)

    async def _look_again(self, job_id: str) -> None:
        """A job whose end was seen late, or after a long outage, may have been removed by then."""
        until = self._ended[job_id]["ended_ms"] / 1_000 + RETENTION_SECONDS - CLOCK_SECONDS
        try:
            self._later[job_id] = await self._asked(lambda client: client.job(job_id))
        except Refused as error:
            if time.time() < until:
                self._later[job_id] = {"state": error.code, "ended_ms": None}

    async def _retry(self, job_id: str) -> None:
        """A retry whose answer is lost may have been done; the next look at the job tells."""
        try:
            async with self._rng.choice(self._servers).jobs_client() as client:
                await client.retry(job_id)
        except ClientError as error:
            if not is_transient(error) and not isinstance(error, Refused):
                raise
            await asyncio.sleep(AGAIN_SECONDS)

    async def _list(self) -> None:
        """Notes all jobs that there are, also such as nobody submitted."""
        while True:
            await asyncio.sleep(LIST_SECONDS)
            newest = await self._asked(lambda client: client.jobs(count_max=LISTED_MAX))
            self._listed.update(job["job_id"] for job in newest)

    async def _asked(self, ask: Callable[[WorkflowClient], Awaitable[Any]]) -> Any:
        """Asks servers until one answers."""
        while True:
            try:
                async with self._rng.choice(self._servers).jobs_client() as client:
                    return await ask(client)
            except ClientError as error:
                if not is_transient(error):
                    raise
            await asyncio.sleep(AGAIN_SECONDS)

    async def _drain(self) -> None:
        """Empties the dead-letter topics, or their backlog would look like a leak of memory."""
        while True:
            await asyncio.sleep(DRAIN_SECONDS)
            await self._drain_once()

    async def _drain_once(self) -> None:
        for topic in TOPICS:
            try:
                async with self._rng.choice(self._servers).sqs_client() as client:
                    self._dead += await _emptied(client, dead_queue_name(topic))
            except ClientError as error:
                if not is_transient(error):
                    raise


async def _emptied(client: SqsClient, queue: str) -> int:
    count = 0
    while messages := await client.receive(queue, BATCH, wait_seconds=0):
        answer = await client.settle_batch(queue, [each.receipt_handle for each in messages])
        count += len(messages) - len(answer.failed)
    return count


def judge(
    ended: Mapping[str, Document], later: Mapping[str, Document], listed: Set[str]
) -> list[str]:
    """Compares jobs as they were when they had ended with a later look, and returns findings.

    `listed` are the ids of all jobs that there were.
    """
    findings = [finding for job in ended.values() for finding in _wrong_with(job)]
    if surplus := listed - ended.keys():
        findings.append(f"{len(surplus)} jobs more than were submitted and ended")
    for job_id, now in later.items():
        then = ended[job_id]
        if (then["state"], then["ended_ms"]) != (now["state"], now["ended_ms"]):
            findings.append(f"{job_id} had ended, and then was {now['state']}")
    return findings


def _wrong_with(job: Document) -> list[str]:
    """A task must have seen the one result that the job has of each task before it."""
    findings = []
    name = job["job_id"]
    events = [each["event"] for each in job["timeline"]]
    if events.count(f"job {ENDED}") != 1:
        findings.append(f"{name} has not ended once: {events}")
    if any(task["state"] != ENDED for task in job["tasks"].values()):
        findings.append(f"{name} ended before its tasks")
    for task, result in job["results"].items():
        for before, seen in result["before"].items():
            if seen["token"] != job["results"][before]["token"]:
                findings.append(f"{name}: {task} saw another result of {before}")
    if job["type"] == "fork" and set(job["results"]["D"]["before"]) != {"B", "C"}:
        findings.append(f"{name}: the join did not wait for both branches")
    return findings
