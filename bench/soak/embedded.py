"""Two embedded servers: one that lives for the whole run, and one that dies again and again.

The *steady* one is paused, its disk is full at times and its clock jumps. The *stormy* one is also
killed, loses power, and has syncs that fail.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

from bench.faults import key_of
from bench.shared_faults.front_ends import TRACEBACK
from bench.soak.jobs import JobServer
from bench.soak.stage import SoakService, SoakStage, StageOptions
from bench.soak.turns import PLAIN_KILL, POWER_CUT, TOGETHER, TurnedCourses
from bench.soak.watch import Pids
from bench.soak.worker_kills import WORKERS
from dovemq.client import AdminClient
from dovemq.load.faults.decisions import CLIENT, NETWORK, Drawn, Mishap
from dovemq.load.faults.fault_log import FaultLog, FaultLogHeader
from dovemq.load.faults.run import EVIDENCE
from dovemq.load.faults.server import TroubledServer
from dovemq.load.faults.spec import parse_spec
from dovemq.load.plan import Endpoint

FAULTS: Final = (
    NETWORK,
    CLIENT,
    WORKERS,
    str(Mishap.PAUSE),
    PLAIN_KILL,
    str(Mishap.FULL),
    str(Mishap.FAIL_SYNC),
    POWER_CUT,
    str(Mishap.JUMP),
    TOGETHER,
)
STEADY: Final = "steady"
_SURVIVED: Final[dict[str, dict[str, Any]]] = {
    "server": {"pause_mttf_seconds": 5, "pause_ms": 1_500},
    "disk": {"full_mttf_seconds": 5, "full_ms": 1_000},
    "clock": {"jump_mttf_seconds": 5, "jump_ms": 2_000},
}
SPECS: Final[Mapping[str, Mapping[str, Any]]] = {
    STEADY: _SURVIVED,
    "stormy": {
        "server": {**_SURVIVED["server"], "kill_mttf_seconds": 6, "kill_mttr_ms": 500},
        "disk": {**_SURVIVED["disk"], "power_cut": True, "fail_sync_mttf_seconds": 6},
        "clock": _SURVIVED["clock"],
    },
}
"""Means within the turns of a fault; there is none beside them."""


class EmbeddedStage:
    """Implements `SoakStage`."""

    store = "embedded"

    def __init__(self) -> None:
        self._servers: dict[str, TroubledServer] = {}
        self.services: list[SoakService] = []

    @classmethod
    @contextlib.asynccontextmanager
    async def started(cls, options: StageOptions) -> AsyncIterator[SoakStage]:
        stage = cls()
        async with contextlib.AsyncExitStack() as ending:
            for name, document in SPECS.items():
                place, spec = options.place / name, parse_spec(document, name)
                place.mkdir(parents=True)
                heading = FaultLogHeader(spec, options.seed)
                log = ending.enter_context(FaultLog(heading, place / "faults.log"))
                drawn = Drawn(spec, options.seed)
                courses = TurnedCourses(drawn, options.schedule, options.stopwatch.now_s)
                server = stage._servers[name] = TroubledServer(place, spec, courses, log)
                ending.push_async_callback(server.close)
                await server.start()
                stage.services.append(SoakService(name, [_job_server(server)], log))
            yield stage

    def pids(self) -> Pids:
        def pid_of(server: TroubledServer) -> int | None:
            return server.process.pid if server.process.running else None

        return {
            f"{name} server": lambda server=server: pid_of(server)  # type: ignore[misc]
            for name, server in self._servers.items()
        }

    async def trouble(self) -> None:
        await asyncio.gather(*(server.trouble() for server in self._servers.values()))

    def late_ends_s(self) -> Sequence[float]:
        return ()

    def fired(self) -> Mapping[str, int]:
        return {}

    async def findings(self) -> list[str]:
        found = []
        for name, server in self._servers.items():
            text = server.process.log.read_text(errors="replace")
            if TRACEBACK in text:
                found.append(f"{name}: {text[text.rfind(TRACEBACK) :][:500]}")
            await server.calm()
            reached = _job_server(server)
            async with AdminClient(reached.admin_url, reached.endpoint.key) as admin:
                lines = (await admin.verify())["findings"]
            found += [f"{name}: {line}" for line in lines if not line.startswith(EVIDENCE)]
        return found


def _job_server(server: TroubledServer) -> JobServer:
    announced = server.process.announced
    endpoint = Endpoint(announced.endpoint_url, key_of(announced), announced.region)
    return JobServer(endpoint, announced.admin_url)
