"""The real service under load on this machine, with its lifecycle trace."""

import asyncio
import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from dovemq.core.locations import Location, parse_location
from dovemq.load.costs import tree_cpu_seconds
from dovemq.load.faults.process import ServerProcess
from dovemq.load.plan import Endpoint, LoadPlan, Phases
from dovemq.load.results import LoadResult
from dovemq.load.run import RECEIVING, Live, run
from dovemq.pipeline.calibration.periods import Traced

RAM_DISK: Final = Path("/dev/shm")
"""A shared disk may stall for seconds, which is in no model of the service."""
LOOK_SECONDS: Final = 0.05
IDLE_SHARE_MAX: Final = 0.1
"""The share of a processor that a server with nothing left to do uses at most."""
IDLE_LOOKS_MAX: Final = 600


class LoadFailed(RuntimeError):
    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"load {name} did not finish: {why}")


class LoadedService:
    """A server process with a trace, which can be read once the server has stopped."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._trace, self._seen = folder, folder / "trace", folder / "seen"
        # Signatures are no part of what is measured, and the server listens on loopback alone.
        args = ["--insecure-no-auth", "--trace", str(self._trace)]
        self._process = ServerProcess(folder / "data", args=args)

    def start(self) -> None:
        self._process.start()

    def stop(self) -> None:
        """Waits until the server is idle: work left over would be done after the next start."""
        self._wait_until_idle()
        self._process.stop()

    def end(self) -> None:
        """Stops the server without waiting, if it runs."""
        if self._process.running:
            self._process.stop()

    def load(self, name: str, **fields: Any) -> None:
        """Runs a whole plan of senders and receivers."""
        self._run(name, run, fields)

    def send(self, name: str, **fields: Any) -> None:
        """Runs the sends of a plan; its messages are removed with their queue."""
        self._run(name, _send_alone, {**fields, "phases": Phases.APART})

    def _run(
        self,
        name: str,
        act: Callable[..., Coroutine[Any, Any, LoadResult]],
        fields: Mapping[str, Any],
    ) -> None:
        self._wait_until_idle()
        plan = LoadPlan(endpoint=Endpoint(self._process.endpoint_url), name=name, **fields)
        with tempfile.TemporaryDirectory(dir=self._folder) as journals:
            traces = parse_location(str(self._seen / name))
            result = asyncio.run(act(plan, journals=Path(journals), traces=traces))
        if result.failed:
            raise LoadFailed(name, result.failure or "messages were lost or repeated")

    def _wait_until_idle(self) -> None:
        wait_until_idle(lambda: tree_cpu_seconds(self._process.pid), time.sleep)

    def traced(self, name: str) -> Traced:
        """The trace of a load's queue."""
        return Traced(self._trace, f"%/{name}-1-0", self._seen / name)


Service = TypeVar("Service", bound=LoadedService)


def wait_until_idle(cpu_seconds: Callable[[], float], sleep: Callable[[float], None]) -> None:
    """Returns when a process uses hardly any CPU, or after `IDLE_LOOKS_MAX` looks."""
    for _ in range(IDLE_LOOKS_MAX):
        before = cpu_seconds()
        sleep(LOOK_SECONDS)
        if cpu_seconds() - before <= IDLE_SHARE_MAX * LOOK_SECONDS:
            return


async def _send_alone(plan: LoadPlan, *, journals: Path, traces: Location) -> LoadResult:
    live, stop = Live(), asyncio.Event()
    doing = run(plan, live=live, stop=stop, journals=journals, traces=traces)
    running = asyncio.ensure_future(doing)
    while not running.done() and live.phase != RECEIVING:
        await asyncio.wait([running], timeout=LOOK_SECONDS)
    stop.set()
    return await running


@contextlib.contextmanager
def loaded_service(make: Callable[[Path], Service]) -> Iterator[Service]:
    """A service that is not started yet, with a temporary directory, in memory if possible."""
    place = RAM_DISK if os.access(RAM_DISK, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="dovemq-loop-", dir=place) as folder:
        service = make(Path(folder))
        try:
            yield service
        finally:
            service.end()
