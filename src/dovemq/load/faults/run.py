"""Runs a load while network, clients, server, disk and clock fail.

Starts a server and a proxy, injects faults from the creation of the queues until every message is
accounted for, and verifies the store afterwards.
"""

import asyncio
import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from dovemq.client import AdminClient, ClientError
from dovemq.core.access import AccessKey
from dovemq.core.errors import DoveError
from dovemq.core.locations import Location
from dovemq.load.checker import STRICT, Rules
from dovemq.load.faults.decisions import CLIENT, NETWORK, Courses, Decision, Fading
from dovemq.load.faults.fault_log import FaultLog
from dovemq.load.faults.process import Announcement
from dovemq.load.faults.proxy import Proxy
from dovemq.load.faults.server import TroubledServer
from dovemq.load.faults.spec import FaultSpec
from dovemq.load.journals import kept_id
from dovemq.load.judgement import Violation
from dovemq.load.plan import DRAIN_SPARE_MS, Endpoint, LoadPlan
from dovemq.load.receiver import Quits
from dovemq.load.results import LoadResult
from dovemq.load.run import RECEIVING, STARTING, Live
from dovemq.load.run import run as run_load

ANSWER_MS: Final = 5_000
"""An answer counts as lost after the longest wait of a receive and this time."""
OUTAGE_MS_MIN: Final = 60_000
STARTED_POLL_SECONDS: Final = 0.01
FADE_POLL_SECONDS: Final = 0.2
NAMED_ATTEMPTS_MAX: Final = 100
NAMED_AGAIN_SECONDS: Final = 0.2
EVIDENCE: Final = "damage/"
"""The start of a line of a verification about damage found at an earlier start."""


class FaultsImpossible(DoveError):
    """The faults need something that is not there; the text names it."""


class FaultRunResult(Struct, frozen=True):
    """The result of a run. `fired` counts the faults with an effect, `starts` those of our server.

    `findings` are those of a verification of the store afterwards.
    """

    endpoint_url: str
    result: LoadResult
    fired: Mapping[str, int]
    starts: int
    findings: tuple[str, ...]

    @property
    def failed(self) -> bool:
        return self.result.failed or bool(self.findings)


class Stage(Struct, frozen=True):
    """The server, log and journals of a run.

    `endpoint` is a server that exists; without one a server is started in `place`, and `key_of`
    reads its key. `rules` are relaxed for early ends of leases that the faults cause. The run is
    written as a lifecycle trace to `traces`.
    """

    place: Path
    key_of: Callable[[Announcement], AccessKey]
    log: FaultLog
    endpoint: Endpoint | None = None
    journals: Path | None = None
    rules: Rules = STRICT
    traces: Location | None = None


async def run(
    spec: FaultSpec,
    courses: Courses,
    plan: LoadPlan,
    stage: Stage,
    *,
    stop: asyncio.Event | None = None,
    live: Live | None = None,
) -> FaultRunResult:
    """Runs the load; the endpoint of `plan` is replaced by that of the stage.

    Its further endpoints are those of more front ends of the same service; the network fails
    towards all of them.
    """
    _check(spec, plan, stage)
    courses = Fading(courses)
    async with contextlib.AsyncExitStack() as ending:
        server: TroubledServer | None = None
        endpoint = stage.endpoint
        if endpoint is None:
            server = TroubledServer(stage.place, spec, courses, stage.log)
            ending.push_async_callback(server.close)
            await server.start()
            announced = server.process.announced
            key = stage.key_of(announced)
            endpoint = Endpoint(announced.endpoint_url, key, announced.region)
        reached = endpoint
        if spec.network.total:
            reached = await _troubled(endpoint, courses, stage.log, ending)
            others = [
                await _troubled(each, courses, stage.log, ending, f"{NETWORK}/{number}")
                for number, each in enumerate(plan.further_endpoints, 1)
            ]
            plan = replace(plan, further_endpoints=tuple(others))
        plan = _tolerant(plan, spec, reached, endpoint, ours=server is not None)
        loaded = _Loaded(spec, courses, plan, stage, stop or asyncio.Event(), live or Live())
        if server is None:
            return FaultRunResult(endpoint.url, await loaded.run(), _fired(stage.log), 0, ())
        admin = AdminClient(
            server.process.announced.admin_url, endpoint.key, region=endpoint.region
        )
        ending.push_async_callback(admin.close)
        result = await loaded.beside(server, admin)
        await server.calm()
        findings = await _findings(admin)
        return FaultRunResult(endpoint.url, result, _fired(stage.log), server.starts, findings)


class _Loaded(Struct, frozen=True):
    """The load, and the faults of its server beside it."""

    spec: FaultSpec
    courses: Fading
    plan: LoadPlan
    stage: Stage
    stop: asyncio.Event
    live: Live

    async def run(
        self, server: TroubledServer | None = None, admin: AdminClient | None = None
    ) -> LoadResult:
        named = None
        if admin is not None and self.spec.disk.flip_mttf_seconds:
            named = functools.partial(_named, admin)
        fading = asyncio.create_task(self._fade(server))
        try:
            return await run_load(
                self.plan,
                journals=self.stage.journals,
                traces=self.stage.traces,
                rules=_lenient(self.stage.rules, self.spec),
                quits=_quits(self.courses, self.stage.log) if self.spec.client.quit else None,
                named=named,
                stop=self.stop,
                live=self.live,
            )
        finally:
            fading.cancel()

    async def beside(self, server: TroubledServer, admin: AdminClient) -> LoadResult:
        trouble = asyncio.create_task(self._trouble(server))
        load = asyncio.create_task(self.run(server, admin))
        try:
            done, _ = await asyncio.wait((trouble, load), return_when=asyncio.FIRST_COMPLETED)
            if trouble in done and trouble.exception():
                # Without its server the load would only wait until it gives up.
                self.stop.set()
            result = await load
        finally:
            server.end_trouble()
            if self.live.phase == STARTING:
                trouble.cancel()
            load.cancel()
            ended = await asyncio.gather(trouble, load, return_exceptions=True)
        if isinstance(ended[0], Exception):
            raise ended[0]
        return result

    async def _fade(self, server: TroubledServer | None) -> None:
        """Ends the faults when no message arrives any more, so that missing messages can still
        come.

        Otherwise a run with a lost message would never end, because failing requests count as
        events.
        """
        now = asyncio.get_running_loop().time
        stalled_seconds = (2 * self.plan.lease_ms + self.spec.clock_ms_max) / 1_000
        settled, since = -1, now()
        while now() - since < stalled_seconds:
            await asyncio.sleep(FADE_POLL_SECONDS)
            if self.live.phase != RECEIVING or self.live.settled != settled:
                settled, since = self.live.settled, now()
        self.courses.end()
        if server is not None:
            server.end_trouble()

    async def _trouble(self, server: TroubledServer) -> None:
        while self.live.phase == STARTING:
            await asyncio.sleep(STARTED_POLL_SECONDS)
        await server.trouble()


def _check(spec: FaultSpec, plan: LoadPlan, stage: Stage) -> None:
    if stage.endpoint is not None and spec.needs_server:
        raise FaultsImpossible(
            "faults of [server], [disk] and [clock] need a server that this run starts: name none"
        )
    if plan.processes > 1 and spec.client.quit:
        raise FaultsImpossible("receivers that quit need --processes 1")
    if stage.endpoint is None or not spec.network.total:
        return
    if urlsplit(stage.endpoint.url).scheme != "http":
        raise FaultsImpossible("faults of [network] need an http:// address")


def _tolerant(
    plan: LoadPlan, spec: FaultSpec, reached: Endpoint, direct: Endpoint, *, ours: bool
) -> LoadPlan:
    """Returns the plan of clients that repeat requests and wait for the server."""
    answer_ms = min(plan.answer_ms_max, 1_000 * plan.wait_seconds + ANSWER_MS)
    patience_ms = spec.clock_ms_max + spec.downtime_ms_max + answer_ms
    drain_ms = 2 * plan.lease_ms + DRAIN_SPARE_MS + patience_ms
    return replace(
        plan,
        endpoint=reached,
        setup=direct,
        resend=True,
        keep_queues=plan.keep_queues or ours,
        answer_ms_max=answer_ms,
        outage_ms_max=max(plan.outage_ms_max, OUTAGE_MS_MIN),
        drain_ms_max=max(plan.drain_ms_max or 0, drain_ms),
    )


def _lenient(rules: Rules, spec: FaultSpec) -> Rules:
    """Allows lost leases of a server that dies, and reported losses of a damaged disk."""
    allowed = set(rules.allowed)
    if spec.needs_server:
        allowed.add(Violation.COLLIDED)
    if spec.disk.flip_mttf_seconds:
        allowed.add(Violation.NAMED)
    return replace(rules, allowed=frozenset(allowed))


def _quits(courses: Courses, log: FaultLog) -> Quits:
    started: dict[int, Iterator[tuple[int, Decision | None]]] = {}

    def quits(receiver: int) -> bool:
        name = f"{CLIENT}/{receiver}"
        if receiver not in started:
            started[receiver] = enumerate(courses.course(name))
        number, decision = next(started[receiver])
        if decision is not None:
            log.note(name, number, decision)
        return decision is not None

    return quits


async def _troubled(
    endpoint: Endpoint,
    courses: Courses,
    log: FaultLog,
    ending: contextlib.AsyncExitStack,
    course: str = NETWORK,
) -> Endpoint:
    """The endpoint behind a proxy, which is closed by `ending`."""
    parts = urlsplit(endpoint.url)
    proxy = Proxy(parts.hostname or "", parts.port or 80, courses.course(course), log, course)
    ending.push_async_callback(proxy.close)
    return replace(endpoint, url=await proxy.start())


async def _named(admin: AdminClient) -> frozenset[bytes]:
    """Returns the ids that the store reported as lost, once the server is back."""
    for attempt in range(NAMED_ATTEMPTS_MAX):
        try:
            document = await admin.damage()
            break
        except ClientError:
            if attempt + 1 == NAMED_ATTEMPTS_MAX:
                raise
            await asyncio.sleep(NAMED_AGAIN_SECONDS)
    return frozenset(
        kept_id(each["message_id"])
        for report in document["reports"]
        for each in (*report["lost"], *report["returned"])
        if each["message_id"]
    )


async def _findings(admin: AdminClient) -> tuple[str, ...]:
    """Verifies the store. Repaired damage is left out, because the checker judges its effect."""
    findings = (await admin.verify())["findings"]
    return tuple(each for each in findings if not each.startswith(EVIDENCE))


def _fired(log: FaultLog) -> dict[str, int]:
    return {str(mishap): count for mishap, count in sorted(log.fired.items()) if count}
