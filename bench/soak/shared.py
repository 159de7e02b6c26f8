"""Three front ends on three Cassandra nodes; the first front end lives for the whole run."""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from bench.shared_faults.front_ends import COUNT, FrontEnds
from bench.shared_faults.injecting import Scene
from bench.soak.jobs import JobServer
from bench.soak.loads import EXCHANGES
from bench.soak.stage import SoakService, SoakStage, StageOptions
from bench.soak.strikes import STEADY, STRIKES, SoakScene
from bench.soak.watch import Pids
from bench.soak.worker_kills import WORKERS
from dovemq.load.faults.decisions import CLIENT, NETWORK
from dovemq.load.faults.fault_log import FaultLog, FaultLogHeader
from dovemq.load.faults.shim import SkewedClock, build_shim
from dovemq.testing.local_cassandra import LocalCassandra

FAULTS: Final = (NETWORK, *STRIKES, CLIENT, WORKERS)
CONSISTENCY: Final = "&consistency=quorum"
AGAIN_SECONDS: Final = 12.0
"""A fault strikes again if so much is left of its turn."""
PAUSE_SECONDS: Final = 1.0


class SharedStage:
    """Implements `SoakStage`."""

    store = "cassandra"

    def __init__(
        self,
        options: StageOptions,
        store: LocalCassandra,
        front_ends: FrontEnds,
        clocks: Sequence[SkewedClock],
    ) -> None:
        self._options = options
        self._store, self._front_ends, self._clocks = store, front_ends, clocks
        self._rng = random.Random(options.seed)
        self._late_ends_s: list[float] = []
        self._fired: Counter[str] = Counter()
        self.services: list[SoakService] = []

    @classmethod
    @contextlib.asynccontextmanager
    async def started(cls, options: StageOptions) -> AsyncIterator[SoakStage]:
        place = options.place
        clocks = _skewed_clocks(place)
        store = LocalCassandra(place / "store")
        async with contextlib.AsyncExitStack() as ending:
            ending.push_async_callback(asyncio.to_thread, store.stop)
            await asyncio.to_thread(store.start)
            front_ends = FrontEnds(
                place, store.url + CONSISTENCY, [clock.environment() for clock in clocks]
            )
            await ending.enter_async_context(front_ends)
            heading = FaultLogHeader(EXCHANGES, options.seed)
            log = ending.enter_context(FaultLog(heading, place / "faults.log"))
            stage = cls(options, store, front_ends, clocks)
            stage.services.append(SoakService("cluster", stage._job_servers(), log))
            yield stage

    def pids(self) -> Pids:
        server = self._front_ends.servers[STEADY]
        return {"steady front end": lambda: server.pid if server.running else None}

    async def trouble(self) -> None:
        for turn in self._options.schedule.turns:
            await self._until(turn.begins_s)
            while (strike := STRIKES.get(turn.name)) and (
                self._now_s() < max(turn.begins_s + PAUSE_SECONDS, turn.ends_s - AGAIN_SECONDS)
            ):
                scene = Scene(self._store, self._front_ends, self._fired[turn.name])
                await strike(SoakScene(scene, self._clocks, self._rng))
                self._fired[turn.name] += 1
                await asyncio.sleep(PAUSE_SECONDS)
            self._late_ends_s.append(self._now_s())
            await self._until(turn.ends_s)

    def late_ends_s(self) -> Sequence[float]:
        return self._late_ends_s

    def fired(self) -> Mapping[str, int]:
        return self._fired

    async def findings(self) -> list[str]:
        down = [
            f"front end {number} has ended by itself"
            for number, server in enumerate(self._front_ends.servers)
            if not server.running
        ]
        return down + self._front_ends.tracebacks()

    def _job_servers(self) -> list[JobServer]:
        pairs = zip(self._front_ends.endpoints, self._front_ends.servers, strict=True)
        return [JobServer(endpoint, server.admin_url) for endpoint, server in pairs]

    def _now_s(self) -> float:
        return self._options.stopwatch.now_s()

    async def _until(self, at_s: float) -> None:
        await asyncio.sleep(max(0.0, at_s - self._now_s()))


def _skewed_clocks(place: Path) -> list[SkewedClock]:
    shim = build_shim(place)
    clocks = []
    for number in range(COUNT):
        folder = place / f"clock-{number}"
        folder.mkdir()
        clocks.append(SkewedClock(folder, shim))
    return clocks
